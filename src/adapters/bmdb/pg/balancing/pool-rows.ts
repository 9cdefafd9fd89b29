import type { DrainEnd, MemberRow, MemberState } from '../../../../domain/balancing/members.ts';
import { machineId } from '../../../../domain/ids.ts';
import type { PoolRow } from '../../../../domain/balancing/pool-row.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** A member as JSON, over a row of `pool_members g`: what `FlatMember` says. */
export const MEMBER = `jsonb_build_object('pool', g.pool, 'balancer', g.balancer,
  'state', g.state, 'since', ${ms('g.since')}, 'deadline', ${ms('g.deadline')}, 'how', g.how,
  'waived', g.waived, 'refused', g.refused, 'note', g.note, 'sessions', g.sessions)`;
/** All of them, always in one order, so that equal ones are told to be equal; null: none. */
export const MEMBER_LIST = `jsonb_agg(${MEMBER} ORDER BY g.pool, g.balancer)`;

export interface FlatMember {
  readonly pool: string;
  readonly balancer: string;
  readonly state: string;
  readonly since: number;
  readonly deadline: number | null;
  readonly how: string | null;
  readonly waived: boolean;
  readonly refused: boolean;
  readonly note: string | null;
  readonly sessions: number | null;
}

/** A state that this program does not know is one that may serve: only `drained` does not. */
export const toMember = (machine: string, row: FlatMember): MemberRow => ({
  pool: row.pool,
  balancer: row.balancer,
  machineId: machineId(machine),
  state: row.state as MemberState,
  sinceMs: row.since,
  deadlineMs: row.deadline,
  how: row.how as DrainEnd | null,
  waived: row.waived,
  refused: row.refused,
  note: row.note,
  sessions: row.sessions,
});

/** Columns of a pool, for SELECT; the table must be called `o`. */
const POOL = `o.pool, o.balancer, o.state, o.made_as, o.generation, o.failures,
  ${ms('o.retry_at')} AS retry_at, o.reason, ${ms('o.settled_at')} AS settled_at,
  ${ms('o.observed_at')} AS observed_at, ${ms('o.frozen_at')} AS frozen_at, o.frozen_reason,
  o.frozen_snapshot, ${ms('o.accepted_at')} AS accepted_at, o.accepted_by,
  ${ms('o.paused_at')} AS paused_at, o.paused_by, o.pause_reason,
  ${ms('o.torn_down_at')} AS torn_down_at, o.torn_down_by, o.tear_down_reason`;
const COLUMNS = {
  pool: 'text',
  balancer: 'text',
  state: 'text',
  made_as: 'text?',
  generation: 'int8',
  failures: 'int8',
  retry_at: 'float8?',
  reason: 'text?',
  settled_at: 'float8?',
  observed_at: 'float8?',
  frozen_at: 'float8?',
  frozen_reason: 'text?',
  frozen_snapshot: 'text?',
  accepted_at: 'float8?',
  accepted_by: 'text?',
  paused_at: 'float8?',
  paused_by: 'text?',
  pause_reason: 'text?',
  torn_down_at: 'float8?',
  torn_down_by: 'text?',
  tear_down_reason: 'text?',
} as const;

export const statements = {
  read: statement({
    name: 'pools-read',
    params: {},
    columns: COLUMNS,
    text: () => `SELECT ${POOL} FROM pools o ORDER BY o.pool, o.balancer`,
  }),
  /** Of one pool, at one balancer or all, for whoever changes them next. */
  lock: statement({
    name: 'pools-lock',
    params: { pool: 'text', balancer: 'text?' },
    columns: COLUMNS,
    text: ({ pool, balancer }) =>
      `SELECT ${POOL} FROM pools o
       WHERE o.pool = ${pool} AND o.balancer = coalesce(${balancer}, o.balancer)
       ORDER BY o.balancer FOR NO KEY UPDATE`,
  }),
  ask: statement({
    name: 'pools-ask',
    params: {
      pool: 'text',
      balancer: 'text',
      acceptedAt: 'float8?',
      acceptedBy: 'text?',
      pausedAt: 'float8?',
      pausedBy: 'text?',
      pauseReason: 'text?',
      tornDownAt: 'float8?',
      tornDownBy: 'text?',
      tearDownReason: 'text?',
    },
    columns: {},
    text: (of) =>
      `UPDATE pools SET
         accepted_at = to_timestamp(${of.acceptedAt} / 1000), accepted_by = ${of.acceptedBy},
         paused_at = to_timestamp(${of.pausedAt} / 1000), paused_by = ${of.pausedBy},
         pause_reason = ${of.pauseReason},
         torn_down_at = to_timestamp(${of.tornDownAt} / 1000), torn_down_by = ${of.tornDownBy},
         tear_down_reason = ${of.tearDownReason}
       WHERE pool = ${of.pool} AND balancer = ${of.balancer}`,
  }),
};

/** Writes what operators asked of a pool. Its row is locked. */
export async function writeAsked(q: Queries, { pool, balancer, ...row }: PoolRow): Promise<void> {
  await q.run(statements.ask, {
    ...{ pool, balancer },
    acceptedAt: row.accepted?.atMs ?? null,
    acceptedBy: row.accepted?.by ?? null,
    pausedAt: row.paused?.atMs ?? null,
    pausedBy: row.paused?.by ?? null,
    pauseReason: row.paused?.reason ?? null,
    tornDownAt: row.tornDown?.atMs ?? null,
    tornDownBy: row.tornDown?.by ?? null,
    tearDownReason: row.tornDown?.reason ?? null,
  });
}

export const toPool = (row: RowOf<typeof COLUMNS>): PoolRow => ({
  pool: row.pool,
  balancer: row.balancer,
  state: row.state,
  madeAs: row.made_as,
  generation: Number(row.generation),
  failures: Number(row.failures),
  retryAtMs: row.retry_at,
  reason: row.reason,
  settledAtMs: row.settled_at,
  observedAtMs: row.observed_at,
  frozen:
    row.frozen_at === null
      ? null
      : { atMs: row.frozen_at, reason: row.frozen_reason!, snapshot: row.frozen_snapshot! },
  accepted: row.accepted_at === null ? null : { atMs: row.accepted_at, by: row.accepted_by! },
  paused:
    row.paused_at === null
      ? null
      : { atMs: row.paused_at, by: row.paused_by!, reason: row.pause_reason! },
  tornDown:
    row.torn_down_at === null
      ? null
      : { atMs: row.torn_down_at, by: row.torn_down_by!, reason: row.tear_down_reason! },
});
