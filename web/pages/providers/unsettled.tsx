import type { ProviderInFull } from '../../api/types.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { moreOf } from './shelf.tsx';

/** Creations that began and are not settled. */
export const Unsettled = ({
  unsettled: { total, creations },
}: Pick<ProviderInFull, 'unsettled'>) => (
  <Panel title={texts.providers.unsettled} aside={moreOf(total, creations.length)}>
    {total === 0 ? (
      <p className="quiet">{texts.providers.noUnsettled}</p>
    ) : (
      <Table
        label={texts.providers.unsettled}
        columns={texts.providers.unsettledColumns}
        figures={[3]}
      >
        {creations.map((each) => (
          <tr key={each.machineId}>
            <th scope="row">
              <MachineLink slot={each.slot} />
            </th>
            <td>{texts.providers.creation(each.state, each.ambiguous)}</td>
            <td>
              <Ago atMs={each.startedAtMs} />
            </td>
            <td className="number">{texts.figure(each.attempts)}</td>
            <td className="mono">{texts.providers.sessionOf(each.sessionId, each.sessionAlive)}</td>
            <td className="why">{each.lastError}</td>
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);
