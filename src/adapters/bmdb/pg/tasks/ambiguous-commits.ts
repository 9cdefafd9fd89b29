import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { isRetryable } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import { isReferenceViolation } from '../errors.ts';
import type { ClaimName } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

/** What became of a claim: still held, ended in one of three ways, or never taken. */
export type ClaimStatus = 'held' | 'Finished' | 'Failed' | 'Canceled' | 'unknown';

const PAUSE_MS = 250;

export const statements = {
  /**
   * Waits for a first claim that the server is still busy with: it would not be seen otherwise. A
   * machine that is gone has no leases.
   */
  awaitLeases: statement({
    name: 'claim-status-await-leases',
    params: { machines: 'uuid[]', groups: 'text[]' },
    columns: {},
    text: ({ machines, groups }) =>
      `INSERT INTO work (machine_id, exclusion_group)
       SELECT c.* FROM unnest(${machines}, ${groups}) AS c (machine_id, exclusion_group)
       WHERE (SELECT true FROM machines m WHERE m.machine_id = c.machine_id) ORDER BY 1, 2
       ON CONFLICT DO NOTHING`,
  }),
  /** Waits for whoever has locked the leases. */
  heldClaims: statement({
    name: 'claim-status-held-claims',
    params: { machines: 'uuid[]', groups: 'text[]', epochs: 'int8[]' },
    columns: { epoch: 'int8', held: 'bool' },
    text: ({ machines, groups, epochs }) =>
      `SELECT c.epoch, w.epoch = c.epoch AND w.session_id IS NOT NULL AS held
       FROM unnest(${machines}, ${groups}, ${epochs}) AS c (machine_id, exclusion_group, epoch)
         JOIN work w ON w.machine_id = c.machine_id AND w.exclusion_group = c.exclusion_group
       ORDER BY w.machine_id, w.exclusion_group FOR UPDATE OF w`,
  }),
  endedClaims: statement({
    name: 'claim-status-ended-claims',
    params: { machines: 'uuid[]', epochs: 'int8[]' },
    columns: { epoch: 'int8', event: 'work_history_event' },
    text: ({ machines, epochs }) =>
      `SELECT h.epoch, h.event
       FROM unnest(${machines}, ${epochs}) AS c (machine_id, epoch)
         JOIN work_history h ON h.machine_id = c.machine_id AND h.epoch = c.epoch
       WHERE h.event <> 'Started'`,
  }),
};

/**
 * Finds out what became of a commit whose answer was lost, for as long as the session lives. The
 * server may still be busy with it: locking the leases waits for that.
 * @returns by epoch; those that are missing were never taken.
 * @throws the error of the lost commit, when it cannot be found out in time.
 */
export async function claimStatusesOf(
  session: LiveSession,
  claims: readonly ClaimName[],
  lost: unknown,
): Promise<Map<string, ClaimStatus>> {
  const doing = `find out what became of ${claims.length} claims`;
  const { db, deadlineMs, signal, clock } = session;
  for (;;) {
    try {
      return await db.transact({ doing, deadlineMs, signal, isolation: 'READ COMMITTED' }, (q) =>
        readClaimStatuses(q, claims),
      );
    } catch (error) {
      const inTime = clock.monotonic() + PAUSE_MS < deadlineMs() && !signal.aborted;
      const isPassing = isReferenceViolation(error) || isRetryable(error);
      if (!isPassing || !inTime) throw lost;
      session.log.debug({ err: error, session: session.sessionId }, 'outcome not known yet');
      await sleep(clock, PAUSE_MS, signal);
    }
  }
}

async function readClaimStatuses(
  q: Queries,
  claims: readonly ClaimName[],
): Promise<Map<string, ClaimStatus>> {
  const machines = claims.map((claim) => claim.machineId);
  const groups = claims.map((claim) => exclusionGroup(claim.process));
  const epochs = claims.map((claim) => claim.epoch);
  await q.run(statements.awaitLeases, { machines, groups });
  const leases = await q.rows(statements.heldClaims, { machines, groups, epochs });
  const ended = await q.rows(statements.endedClaims, { machines, epochs });
  const held = leases.filter((lease) => lease.held);
  return new Map<string, ClaimStatus>([
    ...held.map(({ epoch }): [string, ClaimStatus] => [epoch, 'held']),
    ...ended.map(({ epoch, event }): [string, ClaimStatus] => [epoch, event as ClaimStatus]),
  ]);
}
