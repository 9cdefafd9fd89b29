import { useInfiniteQuery } from '@tanstack/react-query';
import { failedDeliveries, replayDelivery, type Delivery } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { More } from '../../parts/more.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Act } from './act.tsx';

export interface FailedDeliveriesProps {
  readonly name: string;
  readonly mayAct: boolean;
}

/** Failed deliveries of a webhook: those that are retried, and dead letters. */
export function FailedDeliveries({ name, mayAct }: FailedDeliveriesProps) {
  const query = useInfiniteQuery(failedDeliveries(name));
  const title = texts.webhooks.failed(name);
  return (
    <Panel title={title} className="deliveries">
      <Loaded query={query}>
        {({ pages }) => {
          const all = pages.flatMap(({ deliveries }) => deliveries);
          return (
            <>
              <LastFailure all={all} />
              <Table label={title} columns={texts.webhooks.failedColumns} figures={[1]}>
                {all.map((each) => (
                  <Row key={each.id} name={name} delivery={each} mayAct={mayAct} />
                ))}
              </Table>
            </>
          );
        }}
      </Loaded>
      <More query={query} text={texts.audit.more} />
    </Panel>
  );
}

function LastFailure({ all }: { readonly all: readonly Delivery[] }) {
  const [last] = all.toSorted((a, b) => b.lastAtMs - a.lastAtMs);
  if (!last) return null;
  return (
    <p>
      {texts.webhooks.lastFailure} <Ago atMs={last.lastAtMs} />:{' '}
      <span className="why">{last.cause}</span>
    </p>
  );
}

interface RowProps {
  readonly name: string;
  readonly delivery: Delivery;
  readonly mayAct: boolean;
}

const Row = ({ name, mayAct, delivery }: RowProps) => (
  <tr data-delivery={delivery.id} data-dead={delivery.nextAtMs === null || undefined}>
    <th scope="row">
      {delivery.type} <div className="mono quiet">{delivery.id}</div>
    </th>
    <td className="number">{texts.figure(delivery.attempts)}</td>
    <td>
      <Ago atMs={delivery.firstAtMs} />
    </td>
    <td>
      <Ago atMs={delivery.lastAtMs} />
    </td>
    <td>
      {delivery.nextAtMs === null ? (
        <span className="chip" data-alarm>
          {texts.webhooks.deadLetter}
        </span>
      ) : (
        <Until atMs={delivery.nextAtMs} />
      )}
    </td>
    <td className="why">{delivery.cause}</td>
    <td>
      {mayAct && (
        <Act
          label={texts.webhooks.replay}
          title={texts.webhooks.replayOf(delivery.id, name)}
          act={() => replayDelivery(name, delivery.id)}
        />
      )}
    </td>
  </tr>
);
