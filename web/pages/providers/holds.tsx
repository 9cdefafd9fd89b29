import { AskButton } from '../../acts/at-large.tsx';
import type { Provider } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Holds that limit calls to a provider. Clearing ends all holds of one kind. */
export const Holds = ({ provider, holds }: Pick<Provider, 'provider' | 'holds'>) => (
  <Panel title={texts.providers.holds}>
    {holds.length === 0 ? (
      <p className="quiet">{texts.providers.noHolds}</p>
    ) : (
      <Table label={texts.providers.holds} columns={texts.providers.holdColumns} figures={[2]}>
        {holds.map(({ kind, key, untilMs, level, amount, cause }) => (
          <tr key={`${kind} ${key}`}>
            <th scope="row">{texts.providers.hold(kind, key, amount)}</th>
            <td>
              <Until atMs={untilMs} />
            </td>
            <td className="number">{texts.figure(level)}</td>
            <td className="why">{cause}</td>
            <td>
              <AskButton
                label={texts.providers.clear}
                subject={`${texts.providers.clearAll(kind)} ${provider}`}
                wish={{ verb: 'clear-provider', provider, hold: kind }}
                provider={provider}
              />
            </td>
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);
