import type { GuardInFull } from '../../api/resources.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';

export interface WaitingProps extends Pick<GuardInFull, 'waiting'> {
  /** The number of all. Only the first are listed. */
  readonly total: number;
}

/** Machines that wait for a permit, in the order of the queue. */
export const Waiting = ({ waiting, total }: WaitingProps) => (
  <Panel
    title={texts.guard.waiting}
    aside={<span className="quiet">{texts.figure(total)}</span>}
    className="waiting-machines"
  >
    {waiting.length === 0 ? (
      <p className="quiet">{texts.guard.nobodyWaits}</p>
    ) : (
      <Table label={texts.guard.waiting} columns={texts.guard.waitingColumns}>
        {waiting.map(({ slot, queue, bar }) => (
          <tr key={slot} data-slot={slot}>
            <th scope="row">
              <MachineLink slot={slot} />
            </th>
            <td>
              {queue === null ? texts.none : texts.guard.place(queue.place, queue.of, queue.scope)}
            </td>
            <td className="why">{bar ?? texts.none}</td>
          </tr>
        ))}
      </Table>
    )}
    {total > waiting.length && (
      <p className="quiet">{texts.providers.more(total - waiting.length)}</p>
    )}
  </Panel>
);
