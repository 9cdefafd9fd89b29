import type { Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Begin } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** What is known to be wrong with the machine, and what follows. Nothing is shown if nothing is. */
export function Conditions({ machine: { conditionRows } }: { readonly machine: Machine }) {
  const { conditions, conditionColumns, effect: effects, suspicious: seems } = texts.machine;
  if (conditionRows.length === 0) return null;
  return (
    <Panel title={conditions} className="conditions">
      <Table label={conditions} columns={conditionColumns}>
        {conditionRows.map(
          ({ type, status, source, sinceMs, fromMs, effect, suspicious, reason, detail }) => (
            <tr key={`${type} ${source}`} data-condition={type}>
              <th scope="row">{type}</th>
              <td>
                <span className="chip" data-alarm={status === 'True' ? '' : undefined}>
                  {status}
                </span>
              </td>
              <td className="why" title={detail === '' ? undefined : detail}>
                {reason}
              </td>
              <td>
                {fromMs !== null && <Begin atMs={fromMs} />}
                {suspicious ? seems : effects[effect]}
              </td>
              <td>{source}</td>
              <td>
                <Ago atMs={sinceMs} />
              </td>
            </tr>
          ),
        )}
      </Table>
    </Panel>
  );
}
