import { useQuery } from '@tanstack/react-query';
import { acceptance as query } from '../../api/machine.ts';
import type { Machine } from '../../api/types.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';

interface AcceptanceProps {
  readonly slot: readonly [string, string];
  readonly machine: Machine;
}

/** What its acceptance expected and found. Nothing is shown if none was requested. */
export const Acceptance = ({ slot, machine: { acceptance } }: AcceptanceProps) =>
  acceptance && <Checks slot={slot} state={acceptance.state} />;

function Checks({
  slot,
  state,
}: {
  readonly slot: AcceptanceProps['slot'];
  readonly state: string;
}) {
  const { acceptance: title, checkColumns } = texts.machine;
  return (
    <Panel title={`${title}: ${state}`} className="acceptance">
      <Loaded query={useQuery(query(slot, state))}>
        {({ checks }) =>
          checks.length > 0 && (
            <Table label={title} columns={checkColumns}>
              {checks.map(({ name, status, expected, found }) => (
                <tr key={name} data-check={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <span className="chip" data-alarm={status === 'failed' ? '' : undefined}>
                      {status}
                    </span>
                  </td>
                  <td>{expected}</td>
                  <td className="why">{found}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Panel>
  );
}
