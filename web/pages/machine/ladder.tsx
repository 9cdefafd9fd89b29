import { useQuery } from '@tanstack/react-query';
import { ladder, type LadderStatus } from '../../api/machine.ts';
import type { Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { span } from '../../parts/span.ts';
import { Table } from '../../parts/table.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { WorkUnderWay } from './work.tsx';

export interface LadderProps {
  readonly slot: readonly [string, string];
  readonly machine: Machine;
}

/** The ladder of recovery, the work under way, and what it waits for. */
export function Ladder({ slot, machine }: LadderProps) {
  const { ladder: row, permit, work, shelf, state, atMs } = machine;
  // A pause that is over says nothing, and nothing is tried while a person is needed.
  const isTried = state !== 'Quarantined';
  const backoffs = machine.backoffs.filter(({ untilMs }) => isTried && untilMs > atMs);
  const { data } = useQuery({ ...ladder(slot), enabled: machine.machineId !== null });
  const isQuiet = row === null && backoffs.length + work.length === 0 && shelf === null;
  return (
    <Panel title={texts.machine.work} className="ladder">
      {isQuiet && <p className="quiet">{texts.machine.noWork}</p>}
      {row !== null && (
        <p>
          {texts.machine.stands(row.rung, row.attempts)}.{' '}
          {permit ? texts.machine.permit : texts.machine.noPermit}.
          {row.askedAtMs !== null && row.askedRung !== null && (
            <>
              {' '}
              {texts.machine.asked(row.askedRung)} <Ago atMs={row.askedAtMs} />.
            </>
          )}
        </p>
      )}
      {data !== undefined && machine.substate !== 'retired' && <LadderSteps {...data} />}
      <ul>
        <WorkUnderWay work={work} />
        {backoffs.map(({ process, untilMs, cause }) => (
          <li key={`${process} backoff`}>
            <span className="chip">{texts.machine.backoff(process)}</span> <Until atMs={untilMs} />
            <p className="why">{cause}</p>
          </li>
        ))}
        {shelf !== null && (
          <li>
            <span className="chip">{texts.machine.shelf}</span> <Until atMs={shelf.untilMs} />
            <p className="why">{shelf.cause}</p>
          </li>
        )}
      </ul>
    </Panel>
  );
}

/** A rung. Times count down, and the current rung is marked by a word and by its position. */
function LadderSteps({ rungs, next, queue, patienceEndsAtMs, coolsUntilMs }: LadderStatus) {
  return (
    <>
      <p>
        {next.rung === null ? next.end : texts.machine.nextRung(next.rung, next.attempt ?? 1)}
        {patienceEndsAtMs !== null && (
          <>
            ; {texts.machine.patience} <Until atMs={patienceEndsAtMs} />
          </>
        )}
        {coolsUntilMs !== null && (
          <>
            ; {texts.machine.notBefore} <Until atMs={coolsUntilMs} />
          </>
        )}
        {queue !== null && <>; {texts.guard.place(queue.place, queue.of, queue.scope)}</>}.
      </p>
      <Table label={texts.machine.rungs} columns={texts.machine.rungColumns} figures={[2, 3]}>
        {rungs.map(({ rung, place, attempts, attemptsMax, patienceMs, bar }) => (
          <tr key={rung} data-rung={rung} aria-current={place === 'here' ? 'step' : undefined}>
            <th scope="row">{rung}</th>
            <td>{texts.machine.places[place]}</td>
            <td className="number">
              {place === 'here'
                ? texts.guard.permitsOf(attempts, attemptsMax)
                : texts.figure(attemptsMax)}
            </td>
            <td className="number">{span(patienceMs)}</td>
            <td className="why">{bar ?? texts.none}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
