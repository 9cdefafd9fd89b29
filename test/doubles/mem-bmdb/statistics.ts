import {
  ineligibility,
  installState,
  isHeartbeating,
  lastAttemptMs,
  refusal,
} from '../../../src/domain/eligibility.ts';
import type { Circumstances } from '../../../src/domain/eligibility.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { MachineRow, Process } from '../../../src/domain/machine.ts';
import {
  byProcess,
  type Counts,
  type Statistics,
  type Wanted,
} from '../../../src/domain/statistics.ts';

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
  // A machine without hardware is in none of these conditions.
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

/**
 * Machines that the process may be started on now: those never tried first, then by the oldest
 * attempt, then by machine id.
 */
export function candidatesOf(
  rows: readonly MachineRow[],
  { process, provider, limit }: Wanted,
  now: Circumstances,
): MachineId[] {
  const triedAt = (row: MachineRow) => lastAttemptMs(process, row) ?? Number.NEGATIVE_INFINITY;
  return rows
    .filter((row) => provider === undefined || row.provided?.provider === provider)
    .filter((row) => refusal(process, row, now) === null)
    .toSorted((a, b) => compare(triedAt(a), triedAt(b)) || compare(a.machineId, b.machineId))
    .slice(0, limit)
    .map((row) => row.machineId);
}

const compare = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
