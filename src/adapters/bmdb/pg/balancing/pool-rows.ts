import type { PoolRow } from '../../../../domain/balancing/pool-row.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';

/**
 * A `MemberRow` as JSON, over a row of `pool_members g`. A member in an unknown state may serve;
 * only `drained` members do not.
 */
export const MEMBER = `jsonb_build_object('pool', g.pool, 'balancer', g.balancer,
  'machineId', g.machine_id, 'state', g.state, 'sinceMs', ${ms('g.since')},
  'deadlineMs', ${ms('g.deadline')}, 'how', g.how, 'waived', g.waived, 'refused', g.refused,
  'note', g.note, 'sessions', g.sessions)`;
/** All members in a fixed order, so that equal lists compare as equal; null if there are none. */
export const MEMBER_LIST = `jsonb_agg(${MEMBER} ORDER BY g.pool, g.balancer)`;

/** An operator's request about a pool, as JSON; null if there is none. */
const askedSql = (at: string, more: Readonly<Record<string, string>>) => {
  const fields = Object.entries(more).map(([name, column]) => `, '${name}', o.${column}`);
  return `CASE WHEN o.${at} IS NOT NULL
    THEN jsonb_build_object('atMs', ${ms(`o.${at}`)}${fields.join('')}) END`;
};

type JsonColumn<Name extends keyof PoolRow> = As<'jsonb?', PoolRow[Name]>;
const POOL = selection({
  pool: ['text', 'o.pool'],
  balancer: ['text', 'o.balancer'],
  state: ['text', 'o.state'],
  madeAs: ['text?', 'o.made_as'],
  generation: ['float8', 'o.generation::float8'],
  failures: ['float8', 'o.failures::float8'],
  retryAtMs: ['float8?', ms('o.retry_at')],
  reason: ['text?', 'o.reason'],
  settledAtMs: ['float8?', ms('o.settled_at')],
  observedAtMs: ['float8?', ms('o.observed_at')],
  frozen: [
    'jsonb?' as JsonColumn<'frozen'>,
    askedSql('frozen_at', { reason: 'frozen_reason', snapshot: 'frozen_snapshot' }),
  ],
  accepted: ['jsonb?' as JsonColumn<'accepted'>, askedSql('accepted_at', { by: 'accepted_by' })],
  paused: [
    'jsonb?' as JsonColumn<'paused'>,
    askedSql('paused_at', { by: 'paused_by', reason: 'pause_reason' }),
  ],
  tornDown: [
    'jsonb?' as JsonColumn<'tornDown'>,
    askedSql('torn_down_at', { by: 'torn_down_by', reason: 'tear_down_reason' }),
  ],
});

export const statements = named('pools', {
  read: statement({
    columns: POOL.columns,
    text: () => `SELECT ${POOL.sql} FROM pools o ORDER BY o.pool, o.balancer`,
  }),
  /** Locks a pool at one or all balancers, for a change that follows. */
  lock: statement({
    params: { pool: 'text', balancer: 'text?' },
    columns: POOL.columns,
    text: ({ pool, balancer }) =>
      `SELECT ${POOL.sql} FROM pools o
       WHERE o.pool = ${pool} AND o.balancer = coalesce(${balancer}, o.balancer)
       ORDER BY o.balancer FOR NO KEY UPDATE`,
  }),
  ask: statement({
    params: {
      ...{ pool: 'text', balancer: 'text', acceptedAt: 'float8?', acceptedBy: 'text?' },
      ...{ pausedAt: 'float8?', pausedBy: 'text?', pauseReason: 'text?' },
      ...{ tornDownAt: 'float8?', tornDownBy: 'text?', tearDownReason: 'text?' },
    },
    text: (of) =>
      `UPDATE pools SET
         accepted_at = to_timestamp(${of.acceptedAt} / 1000), accepted_by = ${of.acceptedBy},
         paused_at = to_timestamp(${of.pausedAt} / 1000), paused_by = ${of.pausedBy},
         pause_reason = ${of.pauseReason},
         torn_down_at = to_timestamp(${of.tornDownAt} / 1000), torn_down_by = ${of.tornDownBy},
         tear_down_reason = ${of.tearDownReason}
       WHERE pool = ${of.pool} AND balancer = ${of.balancer}`,
  }),
});

/** Writes what operators requested of a pool. Its row must be locked. */
export async function writeAsked(q: Queries, { pool, balancer, ...row }: PoolRow): Promise<void> {
  const { accepted, paused, tornDown } = row;
  await q.run(statements.ask, {
    ...{ pool, balancer, acceptedAt: accepted?.atMs, acceptedBy: accepted?.by },
    ...{ pausedAt: paused?.atMs, pausedBy: paused?.by, pauseReason: paused?.reason },
    ...{ tornDownAt: tornDown?.atMs, tornDownBy: tornDown?.by, tearDownReason: tornDown?.reason },
  });
}
