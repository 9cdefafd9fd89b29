import { useQuery } from '@tanstack/react-query';
import { whoami, enableWebhook, testWebhook, webhooks, type Webhook } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Act } from './act.tsx';
import { FailedDeliveries } from './failed-deliveries.tsx';

/** Webhooks: their state, and their failed deliveries. */
export function Webhooks() {
  const mayAct = useQuery(whoami).data?.rights.includes('administer') === true;
  const query = useQuery(webhooks);
  const failing = query.data?.filter(({ waiting, dead }) => waiting + dead > 0) ?? [];
  return (
    <>
      <Panel title={texts.webhooks.title} className="webhooks">
        <Loaded query={query}>
          {(all) =>
            all.length === 0 ? (
              <p className="quiet">{texts.webhooks.none}</p>
            ) : (
              <Table label={texts.webhooks.title} columns={texts.webhooks.columns} figures={[5]}>
                {all.map((each) => (
                  <Row key={each.name} webhook={each} mayAct={mayAct} />
                ))}
              </Table>
            )
          }
        </Loaded>
      </Panel>
      {failing.map(({ name }) => (
        <FailedDeliveries key={name} name={name} mayAct={mayAct} />
      ))}
    </>
  );
}

interface WebhookRowProps {
  readonly webhook: Webhook;
  readonly mayAct: boolean;
}

function Row({ webhook, mayAct }: WebhookRowProps) {
  const { name, host, types, deliveredAtMs, disabledAtMs, waiting, waitingSinceMs, dead } = webhook;
  return (
    <tr data-webhook={name}>
      <th scope="row">
        {name} <div className="mono quiet">{host}</div>
      </th>
      <td>{host !== null && (types?.join(', ') ?? texts.webhooks.everything)}</td>
      <td>
        <WebhookState {...webhook} />
      </td>
      <td>{deliveredAtMs === null ? texts.access.never : <Ago atMs={deliveredAtMs} />}</td>
      <td>
        {texts.figure(waiting)}
        {waitingSinceMs !== null && (
          <span className="quiet">
            {' '}
            {texts.webhooks.first} <Ago atMs={waitingSinceMs} />
          </span>
        )}
      </td>
      <td className="number">{texts.figure(dead)}</td>
      <td>
        {mayAct && host !== null && (
          <Act
            label={texts.webhooks.test}
            title={texts.webhooks.testOf(name)}
            done={texts.webhooks.tested}
            act={() => testWebhook(name)}
          />
        )}
        {mayAct && disabledAtMs !== null && (
          <Act
            label={texts.webhooks.enable}
            title={texts.webhooks.enableOf(name)}
            act={() => enableWebhook(name)}
          />
        )}
      </td>
    </tr>
  );
}

function WebhookState({ host, disabledAtMs, disabledReason }: Webhook) {
  if (disabledAtMs !== null) {
    return (
      <>
        <span className="chip" data-alarm>
          {texts.webhooks.disabled}
        </span>{' '}
        <Ago atMs={disabledAtMs} /> <span className="why">{disabledReason}</span>
      </>
    );
  }
  return host === null ? texts.webhooks.unknown : texts.webhooks.on;
}
