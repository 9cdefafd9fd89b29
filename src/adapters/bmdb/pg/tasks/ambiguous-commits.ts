import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { isRetryable, Unreachable } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import { isReferenceViolation } from '../errors.ts';
import type { ClaimName, TakenClaim } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { readMachines } from '../reading/rows.ts';
import { REPEAT_FOR_MS } from '../repeat.ts';
import { named, statement } from '../statement.ts';

/** State of a claim: still held, ended in one of three ways, or never taken. */
export type ClaimStatus = 'held' | 'Finished' | 'Failed' | 'Canceled' | 'unknown';

const PAUSE_MS = 250;

export const statements = named('claim-status', {
  /**
   * Waits for a first claim that the server is still processing, which would be invisible
   * otherwise. A deleted machine has no leases.
   */
  awaitLeases: statement({
    params: { claims: { machineId: 'uuid', exclusionGroup: 'text' } },
    text: ({ claims }) =>
      `INSERT INTO work (machine_id, exclusion_group)
       SELECT machine_id, exclusion_group FROM ${claims}
       WHERE (SELECT true FROM machines m WHERE m.machine_id = claims.machine_id) ORDER BY 1, 2
       ON CONFLICT DO NOTHING`,
  }),
  /** Waits for locks on the leases. */
  heldClaims: statement({
    params: { claims: { machineId: 'uuid', exclusionGroup: 'text', epoch: 'int8' } },
    columns: { epoch: 'int8', held: 'bool' },
    text: ({ claims }) =>
      `SELECT claims.epoch, w.epoch = claims.epoch AND w.session_id IS NOT NULL AS held
       FROM ${claims} JOIN work w
         ON w.machine_id = claims.machine_id AND w.exclusion_group = claims.exclusion_group
       ORDER BY w.machine_id, w.exclusion_group FOR UPDATE OF w`,
  }),
  /** Like `heldClaims`, for leases with unknown epochs: returns our leases with newer ones. */
  newClaims: statement({
    params: {
      ...{ machines: 'uuid[]', group: 'text', session: 'uuid' },
      ...{ process: 'process', newest: 'int8' },
    },
    columns: { machine_id: 'uuid', epoch: 'int8', ours: 'bool' },
    text: ({ machines, group, session, process, newest }) =>
      `SELECT w.machine_id, w.epoch,
         coalesce(w.session_id = ${session} AND w.process = ${process}, false)
           AND w.epoch > ${newest} AS ours
       FROM work w WHERE w.machine_id = ANY (${machines}) AND w.exclusion_group = ${group}
       ORDER BY w.machine_id FOR UPDATE`,
  }),
  endedClaims: statement({
    params: { claims: { machineId: 'uuid', epoch: 'int8' } },
    columns: { epoch: 'int8', event: 'work_history_event' },
    text: ({ claims }) =>
      `SELECT h.epoch, h.event
       FROM ${claims} JOIN work_history h
         ON h.machine_id = claims.machine_id AND h.epoch = claims.epoch
       WHERE h.event <> 'Started'`,
  }),
});

/**
 * Finds out the result of a commit whose answer was lost, as long as the session lives and the
 * database is not away for long. The server may still be busy with the commit; locking the leases
 * waits for that.
 * @returns states by epoch; missing claims were never taken.
 * @throws the error of the lost commit, if the result cannot be found out in time.
 * @throws {Unreachable} the database is away.
 */
export async function claimStatusesOf(
  session: LiveSession,
  claims: readonly ClaimName[],
  lost: unknown,
): Promise<Map<string, ClaimStatus>> {
  return resolved(session, claims.length, lost, (q) => readClaimStatuses(q, claims));
}

/** Machines that one process claimed in a statement whose answer was lost. */
export interface LostClaims {
  readonly process: Process;
  readonly machines: readonly MachineId[];
  /** Newest epoch known to the session when the statement was sent. */
  readonly newest: bigint;
}

/**
 * Finds out which claims were taken although their epochs were in the lost answer. If the statement
 * reaches the server even later, it finds the machine claimed again, or takes a lease that nobody
 * here holds; `createOrphanWatch` releases that.
 * @returns the claims that were taken.
 */
export const claimsTaken = (
  session: LiveSession,
  claims: LostClaims,
  lost: unknown,
): Promise<Map<string, TakenClaim>> =>
  resolved(session, claims.machines.length, lost, (q) => readTaken(q, session, claims));

async function resolved<T>(
  session: LiveSession,
  count: number,
  lost: unknown,
  read: (q: Queries) => Promise<T>,
): Promise<T> {
  const doing = `find the result of ${count} claims`;
  const { db, deadlineMs, signal, clock } = session;
  const options = { doing, deadlineMs, signal, isolation: 'READ COMMITTED' } as const;
  const givenUpMs = clock.monotonic() + REPEAT_FOR_MS;
  for (;;) {
    try {
      return await db.transact(options, read);
    } catch (error) {
      const inTime = clock.monotonic() + PAUSE_MS < deadlineMs() && !signal.aborted;
      const isPassing = isReferenceViolation(error) || isRetryable(error);
      if (!isPassing || !inTime) throw lost;
      if (error instanceof Unreachable && clock.monotonic() >= givenUpMs) throw error;
      session.log.debug(
        { err: error, session: session.sessionId },
        'the outcome of a commit is not known yet',
      );
      await sleep(clock, PAUSE_MS, signal);
    }
  }
}

async function readClaimStatuses(
  q: Queries,
  claims: readonly ClaimName[],
): Promise<Map<string, ClaimStatus>> {
  const those = claims.map((claim) => ({
    ...claim,
    exclusionGroup: exclusionGroup(claim.process),
  }));
  await q.run(statements.awaitLeases, { claims: those });
  const leases = await q.rows(statements.heldClaims, { claims: those });
  const ended = await q.rows(statements.endedClaims, { claims });
  const held = leases.filter((lease) => lease.held);
  return new Map<string, ClaimStatus>([
    ...held.map(({ epoch }): [string, ClaimStatus] => [epoch, 'held']),
    ...ended.map(({ epoch, event }): [string, ClaimStatus] => [epoch, event as ClaimStatus]),
  ]);
}

async function readTaken(
  q: Queries,
  { sessionId: session }: LiveSession,
  { process, machines, newest }: LostClaims,
): Promise<Map<string, TakenClaim>> {
  const group = exclusionGroup(process);
  const claims = machines.map((machineId) => ({ machineId, exclusionGroup: group }));
  await q.run(statements.awaitLeases, { claims });
  const args = { machines, group, session, process, newest };
  const leases = await q.rows(statements.newClaims, args);
  const epochs = new Map(leases.flatMap((row) => (row.ours ? [[row.machine_id, row.epoch]] : [])));
  const rows = await readMachines(q, [...epochs.keys()]);
  return new Map(rows.map((row) => [row.machineId, { row, epoch: epochs.get(row.machineId)! }]));
}
