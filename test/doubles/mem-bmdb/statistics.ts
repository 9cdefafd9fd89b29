import { ineligibility, installState, isHeartbeating } from '../../../src/domain/eligibility.ts';
import type { Circumstances } from '../../../src/domain/eligibility.ts';
import type { MachineRow, Process } from '../../../src/domain/machine.ts';
import { byProcess, type Counts, type Statistics } from '../../../src/domain/statistics.ts';

/** Counts the fleet and each provider's part of it. */
export function statisticsOf(rows: readonly MachineRow[], now: Circumstances): Statistics {
  const provided = rows.filter((row) => row.provided !== null);
  const groups = Map.groupBy(provided, (row) => row.provided!.provider);
  return {
    fleet: countsOf(rows, now),
    providers: new Map([...groups].map(([name, group]) => [name, countsOf(group, now)])),
  };
}

function countsOf(rows: readonly MachineRow[], now: Circumstances): Counts {
  const count = (which: (row: MachineRow) => boolean) => rows.filter(which).length;
  // A machine without hardware is in none of these states.
  const provided = rows.filter((row) => row.provided !== null);
  const inState = (state: string) => provided.filter((row) => installState(row) === state).length;
  const pending = (process: Process) =>
    provided.filter((row) => ineligibility(process, row, now) === null).length;
  const waits = (row: MachineRow, process: Process) =>
    row.backoffs.some((each) => each.process === process && each.untilMs > now.nowMs);
  return {
    machines: rows.length,
    provided: provided.length,
    heartbeating: provided.filter((row) => isHeartbeating(row, now.nowMs, now.loss)).length,
    installationPending: inState('PENDING'),
    installed: inState('DONE'),
    installationFailed: inState('FAILED'),
    pendingAgentStart: pending('ShepherdAgentStart'),
    pendingRecovery: pending('ShepherdRecovery'),
    activeWork: byProcess((process) =>
      count((row) => row.work.some((each) => each.process === process)),
    ),
    activeBackoffs: byProcess((process) => count((row) => waits(row, process))),
  };
}
