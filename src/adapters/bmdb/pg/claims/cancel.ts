import type { MachineId } from '../../../../domain/ids.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { named, statement } from '../statement.ts';
import type { ArgsOf, RowOf } from '../statement.ts';

const COLUMNS = { machine_id: 'uuid', session_id: 'uuid', released: 'bool' } as const;

interface Which {
  /** A condition over `work w`. */
  readonly leases: string;
  /** CTEs to read before leases are locked. */
  readonly before?: string;
  /** A condition on `seen` and the CTEs of `before`; restricts the leases. */
  readonly only?: string;
  /** Whether to wait for a locked lease; false: skip it. */
  readonly wait?: boolean;
}

/**
 * Releases leases in machine order, each with a Canceled line in the history. A lease that changed
 * since the statement began is left alone: its new holder may have a session that this snapshot
 * cannot see. Reports for each lease whether it was released.
 */
const cancelSql = (cause: string, { leases, before = '', only = 'true', wait = false }: Which) => `
  WITH seen AS MATERIALIZED (
    SELECT w.machine_id, w.exclusion_group, w.session_id, w.epoch FROM work w WHERE ${leases}
  ), ${before} held AS MATERIALIZED (
    SELECT w.machine_id, w.exclusion_group, w.process, w.session_id, w.epoch
    FROM seen JOIN work w
      ON w.machine_id = seen.machine_id AND w.exclusion_group = seen.exclusion_group
    WHERE w.epoch = seen.epoch AND w.session_id = seen.session_id AND ${only}
    ORDER BY w.machine_id, w.exclusion_group FOR UPDATE OF w ${wait ? '' : 'SKIP LOCKED'}
  ), released AS (
    UPDATE work w SET session_id = NULL, process = NULL, work_started_at = NULL FROM held h
    WHERE w.machine_id = h.machine_id AND w.exclusion_group = h.exclusion_group
    RETURNING h.machine_id, h.exclusion_group, h.process, h.session_id, h.epoch
  ), written AS (
    INSERT INTO work_history
      (machine_id, process, event, failed_cause, session_id, component, epoch)
    SELECT r.machine_id, r.process, 'Canceled', ${cause}, r.session_id, s.session_component_name,
      r.epoch
    FROM released r LEFT JOIN sessions s USING (session_id)
  )
  SELECT seen.machine_id, seen.session_id, r.epoch IS NOT NULL AS released
  FROM seen LEFT JOIN released r USING (machine_id, exclusion_group)`;

const GONE = 'NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = seen.session_id)';

export const statements = named('work', {
  /**
   * Releases leases whose session is dead or gone, and skips locked leases. Dead sessions are
   * locked first; a session that is being extended at this moment is skipped.
   */
  cancelDead: statement({
    params: { machines: 'uuid[]', group: 'text' },
    columns: COLUMNS,
    text: ({ machines, group }) =>
      cancelSql(`'session expired'`, {
        leases: `w.machine_id = ANY (${machines}) AND w.exclusion_group = ${group}
          AND w.session_id IS NOT NULL`,
        before: `dead AS MATERIALIZED (
          SELECT s.session_id FROM sessions s
          WHERE s.session_id IN (SELECT seen.session_id FROM seen) AND NOT ${LIVE}
          ORDER BY s.session_id FOR NO KEY UPDATE SKIP LOCKED
        ),`,
        only: `(seen.session_id IN (SELECT d.session_id FROM dead d) OR ${GONE})`,
      }),
  }),
  /** The sessions must be locked. Locked leases are skipped. */
  cancelOfSessions: statement({
    params: { sessions: 'uuid[]', cause: 'text' },
    columns: COLUMNS,
    text: ({ sessions, cause }) => cancelSql(cause, { leases: `w.session_id = ANY (${sessions})` }),
  }),
  /** Leases whose session row was deleted. */
  cancelOrphaned: statement({
    params: { limit: 'int8' },
    columns: COLUMNS,
    text: ({ limit }) =>
      cancelSql(`'session expired'`, {
        leases: `w.session_id IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = w.session_id)
          LIMIT ${limit}`,
      }),
  }),
  cancelOnMachine: statement({
    params: { machine: 'uuid', session: 'uuid', epoch: 'int8?', cause: 'text' },
    columns: COLUMNS,
    text: ({ machine, session, epoch, cause }) =>
      cancelSql(cause, {
        leases: `w.machine_id = ${machine} AND w.session_id = ${session}
          AND w.epoch = coalesce(${epoch}, w.epoch)`,
        wait: true,
      }),
  }),
  /** The machines must be locked, so that nobody takes such a lease meanwhile. */
  cancelOnMachines: statement({
    params: { machines: 'uuid[]', cause: 'text' },
    columns: COLUMNS,
    text: ({ machines, cause }) =>
      cancelSql(cause, {
        leases: `w.machine_id = ANY (${machines}) AND w.session_id IS NOT NULL`,
        wait: true,
      }),
  }),
  // A permit counts as used once a provider received a request after the permit was granted.
  returnUnusedPermits: statement({
    name: 'permits-return-unused',
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `DELETE FROM recovery_permits e WHERE e.machine_id = ANY (${machines}) AND NOT EXISTS (
         SELECT 1 FROM machine_recovery l
         WHERE l.machine_id = e.machine_id AND l.asked_at >= e.granted_at
       )`,
  }),
});

/** Cancels dead work on these machines and returns its unused permits. */
export async function cancelDead(
  q: Queries,
  machines: readonly MachineId[],
  group: string,
): Promise<void> {
  await returnPermitsOf(q, await q.rows(statements.cancelDead, { machines, group }));
}

interface Cancelled {
  /** Number of cancelled works. */
  readonly work: number;
  /** Sessions with work that another transaction had locked; that work remains. */
  readonly left: ReadonlySet<string>;
}

/** Cancels all work of these sessions, which the transaction has locked. */
export async function cancelOfSessions(
  q: Queries,
  sessions: readonly string[],
  cause: string,
): Promise<Cancelled> {
  const seen = await q.rows(statements.cancelOfSessions, { sessions, cause });
  const work = await returnPermitsOf(q, seen);
  const left = seen.filter(({ released }) => !released);
  return { work, left: new Set(left.map((row) => row.session_id)) };
}

/** Cancels at most `limit` works whose sessions no longer exist. @returns how many. */
export const cancelOrphaned = async (q: Queries, limit: number): Promise<number> =>
  returnPermitsOf(q, await q.rows(statements.cancelOrphaned, { limit }));

/** Cancels all work of a session on one machine; if `epoch` is not null, only that claim. */
export async function cancelOnMachine(
  q: Queries,
  which: ArgsOf<(typeof statements)['cancelOnMachine']['params']>,
): Promise<void> {
  await returnPermitsOf(q, await q.rows(statements.cancelOnMachine, which));
}

/** Cancels all work on these machines, whichever session holds it. */
export async function cancelOnMachines(
  q: Queries,
  machines: readonly string[],
  cause: string,
): Promise<void> {
  await q.rows(statements.cancelOnMachines, { machines, cause });
}

/** @returns how many leases were released. */
async function returnPermitsOf(
  q: Queries,
  seen: readonly RowOf<typeof COLUMNS>[],
): Promise<number> {
  const released = seen.filter((row) => row.released);
  await returnUnusedPermits(q, released);
  return released.length;
}

/** Returns permits that were not used for any request to a provider yet. */
export async function returnUnusedPermits(
  q: Queries,
  cancelled: readonly { readonly machine_id: string }[],
): Promise<void> {
  if (cancelled.length === 0) return;
  const machines = cancelled.map((row) => row.machine_id);
  await q.run(statements.returnUnusedPermits, { machines });
}
