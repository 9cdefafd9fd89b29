import type { WorkPlan } from '../../api/resources.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StateMark } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Machines with the same kind of next work: the step, its time, and its blockers. */
export const WorkPlanPanel = ({ work, count, machines }: WorkPlan) => (
  <Panel
    title={texts.plan.work[work]}
    aside={<span className="quiet">{texts.machineCount(count)}</span>}
    className="work-plan"
  >
    {count === 0 ? (
      <p className="quiet">{texts.plan.noWork}</p>
    ) : (
      <Table label={texts.plan.work[work]} columns={texts.plan.workColumns}>
        {machines.map(({ slot, state, substate, next, blockedBy }) => (
          <tr key={slot} data-slot={slot}>
            <th scope="row">
              <MachineLink slot={slot} />
            </th>
            <td>
              <StateMark state={state} substate={substate} />
            </td>
            <td>
              {next.text}
              {next.atMs !== null && (
                <>
                  {' '}
                  <Until atMs={next.atMs} />
                </>
              )}
            </td>
            <td className="why">
              {blockedBy.map(({ text }) => text).join('; ') || texts.plan.nothingInTheWay}
            </td>
          </tr>
        ))}
      </Table>
    )}
    {count > machines.length && (
      <p className="quiet">{texts.providers.more(count - machines.length)}</p>
    )}
  </Panel>
);
