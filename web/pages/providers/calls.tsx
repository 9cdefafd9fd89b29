import type { Provider } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Number, failures and durations of the calls of this daemon. */
export const Calls = ({ calls }: Pick<Provider, 'calls'>) => (
  <Panel title={texts.providers.calls}>
    {calls.length === 0 ? (
      <p className="quiet">{texts.providers.noCalls}</p>
    ) : (
      <Table
        label={texts.providers.calls}
        columns={texts.providers.callColumns}
        figures={[1, 2, 3, 4]}
      >
        {calls.map(({ operation, calls: count, failed, p50Ms, p95Ms, lastAtMs }) => (
          <tr key={operation}>
            <th scope="row">{operation}</th>
            <td className="number">{texts.figure(count)}</td>
            <td className={failed > 0 ? 'number calls' : 'number'}>{texts.figure(failed)}</td>
            <td className="number">{texts.providers.ms(p50Ms)}</td>
            <td className="number">{texts.providers.ms(p95Ms)}</td>
            <td>
              <Ago atMs={lastAtMs} />
            </td>
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);
