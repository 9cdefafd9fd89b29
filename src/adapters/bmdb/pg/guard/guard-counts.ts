import { PERMIT_RETURNED_AFTER } from '../../../../domain/policy.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import {
  earliestNewlyLostMs,
  RETRIED_WITHIN,
  sumOfScopes,
} from '../../../../domain/recovery/guard-rules.ts';
import { FLEET } from '../../../../domain/recovery/guard-judgement.ts';
import type {
  GuardCounts,
  GuardPolicy,
  Ingest,
  QuietCounts,
} from '../../../../domain/recovery/guard-judgement.ts';
import { DONE, isBarredSql, lostAtSql, PENDING } from '../eligibility.ts';
import { time } from './guard-rows.ts';
import type { PgContext } from '../live.ts';
import type { Queries } from '../pool.ts';
import { madeOnce, named, statement } from '../statement.ts';

const interval = (durationMs: number) => `${durationMs} * interval '1 millisecond'`;
const count = (which: string) => `count(*) FILTER (WHERE ${which})::int4`;

interface Counting {
  readonly loss: LossPolicy;
  readonly policy: GuardPolicy;
  /** FROM clause of the machines, with their hardware as `p`. */
  readonly from: string;
  /** See `Ingest`; epoch milliseconds or NULL. */
  readonly up: string;
  readonly lost: string;
}

/** CTE `judged`: each machine as the guard sees it. */
const judged = ({ loss, policy, from, up, lost }: Counting) => `
  fleet AS MATERIALIZED (
    SELECT f.frozen_at, f.thawed_at FROM fleet_guard f WHERE f.scope = '${FLEET}'
  ), seen AS (
    SELECT p.provider,
      coalesce(h.agent_heartbeat_at >= a.agent_started_at AND h.agent_heartbeat_at BETWEEN
        l.asked_at - ${interval(2 * loss.periodMs)} AND l.asked_at + ${interval(2 * loss.heartbeatMs)},
        false) AS ordered, a.agent_started_at, h.unbroken_since,
      CASE WHEN b.machine_id IS NOT NULL AND a.machine_id IS NULL
          AND NOT ${isBarredSql('ShepherdAgentStart', loss)}
        THEN b.unreachable_since END AS unreachable_since,
      a.machine_id IS NOT NULL AND now() > ${lostAtSql(loss)} AS lost, ${lostAtSql(loss)} AS lost_at,
      h.agent_heartbeat_at >= a.agent_started_at
        AND h.unbroken_count < ${PERMIT_RETURNED_AFTER} AS shaky,
      h.agent_heartbeat_at >= a.agent_started_at
        AND now() > h.agent_heartbeat_at + ${interval(2 * loss.periodMs)}
        AND (${PENDING} AND r.handed_out_at + ${interval(loss.handOutMs)} >= now()) IS NOT TRUE
        AS late
    FROM ${from}
      LEFT JOIN machine_agent_started a ON a.machine_id = p.machine_id
      LEFT JOIN machine_agent_heartbeat h ON h.machine_id = p.machine_id
      LEFT JOIN machine_recovery l ON l.machine_id = p.machine_id AND l.order_key IS NOT NULL
      LEFT JOIN machine_os_installation_request r ON r.machine_id = p.machine_id
      LEFT JOIN machine_os_installation_report o ON o.machine_id = p.machine_id
      LEFT JOIN machine_quarantined q ON q.machine_id = p.machine_id
        AND (q.until IS NULL OR q.until > now())
      LEFT JOIN machine_deprovision_request d ON d.machine_id = p.machine_id
      LEFT JOIN work_backoff b ON b.machine_id = p.machine_id
        AND b.process = 'ShepherdAgentStart' AND b.unreachable_since IS NOT NULL
        AND now() <= b.until
          + ${RETRIED_WITHIN} * coalesce(b.last_interval_seconds, 0) * interval '1 second'
    WHERE q.machine_id IS NULL AND NOT ${DONE}
  ), judged AS (
    SELECT s.provider, s.agent_started_at IS NOT NULL AS started, s.lost,
      s.unreachable_since IS NOT NULL AND (s.unreachable_since
        <= greatest((SELECT thawed_at FROM fleet), g.thawed_at)) IS NOT TRUE AS unreachable,
      s.shaky AND s.agent_started_at <= g.frozen_at AND s.unbroken_since > g.frozen_at AS back,
      s.shaky AND s.agent_started_at <= (SELECT frozen_at FROM fleet)
        AND s.unbroken_since > (SELECT frozen_at FROM fleet) AS back_of_fleet,
      s.late AND NOT s.lost AND NOT s.ordered AS late,
      s.lost AND NOT s.ordered
        AND (s.lost_at <= greatest((SELECT thawed_at FROM fleet), g.thawed_at)) IS NOT TRUE
        AND (CASE WHEN s.lost_at <= ${time(lost)} THEN s.lost_at WHEN ${time(up)} IS NOT NULL
          THEN greatest(s.lost_at, ${time(up)} + ${interval(loss.heartbeatMs)}) END)
          BETWEEN now() - ${interval(policy.newForMs)} AND now() AS fresh
    FROM seen s LEFT JOIN fleet_guard g ON g.scope = s.provider
  )`;

/**
 * Counts for the guard in one pass over the tables: per provider, and its part of the fleet's
 * count. The in-memory database counts row by row; a property test compares the two.
 */
const countStatement = (loss: LossPolicy, policy: GuardPolicy) =>
  statement({
    name: 'guard-counts',
    params: { up: 'float8?', lost: 'float8?' },
    columns: {
      scope: 'text',
      machines: 'int4',
      started: 'int4',
      silent: 'int4',
      silent_of_fleet: 'int4',
      newly_silent: 'int4',
      quiet: 'int4',
      unreachable: 'int4',
    },
    text: ({ up, lost }) => `
      WITH ${judged({ loss, policy, from: 'machine_provided p', up, lost })}
      SELECT provider AS scope, count(*)::int4 AS machines, ${count('started')} AS started,
        ${count('lost OR back')} AS silent, ${count('lost OR back_of_fleet')} AS silent_of_fleet,
        ${count('fresh')} AS newly_silent, ${count('fresh OR late')} AS quiet,
        ${count('unreachable')} AS unreachable
      FROM judged GROUP BY provider`,
  });

/**
 * Counts quiet machines only; of all others just two columns are read, one table after the other. A
 * machine is quiet if its last heartbeat is old. It is also quiet if it has sent none since a start
 * or hand-out long enough ago.
 *
 * @param since see `earliestNewlyLostMs`.
 */
const quietStatement = (loss: LossPolicy, policy: GuardPolicy) => {
  const unheardMs = Math.min(2 * loss.periodMs, loss.heartbeatMs);
  const from = 'suspects u JOIN machine_provided p ON p.machine_id = u.machine_id';
  return statement({
    name: 'guard-quiet',
    params: { up: 'float8?', lost: 'float8?', since: 'float8' },
    columns: { scope: 'text', quiet: 'int4' },
    text: ({ up, lost, since }) => `
      WITH suspects AS MATERIALIZED (
        SELECT h.machine_id FROM machine_agent_heartbeat h
          WHERE h.agent_heartbeat_at < now() - ${interval(unheardMs)}
        UNION SELECT a.machine_id FROM machine_agent_started a
          WHERE a.agent_started_at < now() - ${interval(loss.firstHeartbeatMs)}
            AND a.agent_started_at >= ${time(since)} - ${interval(loss.firstHeartbeatMs)}
        UNION SELECT r.machine_id FROM machine_os_installation_request r
          WHERE r.handed_out_at < now() - ${interval(loss.handOutMs)}
            AND r.handed_out_at >= ${time(since)} - ${interval(loss.handOutMs)}
      ), ${judged({ loss, policy, from, up, lost })}
      SELECT provider AS scope, count(*)::int4 AS quiet FROM judged WHERE fresh OR late
      GROUP BY provider`,
  });
};

const byLoss = madeOnce((loss: LossPolicy) =>
  madeOnce((policy: GuardPolicy) => ({
    count: countStatement(loss, policy),
    quiet: quietStatement(loss, policy),
  })),
);
export const statementsFor = (loss: LossPolicy, policy: GuardPolicy) => byLoss(loss)(policy);
type Policies = Pick<PgContext, 'loss' | 'guard'>;

export const statements = named('guard', {
  /**
   * Claims are planned with look-ups by keys. This turns that off for an assessment of the whole
   * fleet, and on again afterwards.
   */
  plan: statement({
    params: { by_keys: 'bool' },
    columns: { value: 'text?' },
    text: ({ by_keys: byKeys }) =>
      `SELECT set_config('enable_' || e.node, CASE WHEN ${byKeys} THEN 'off' ELSE 'on' END, true)
         AS value
       FROM unnest(ARRAY['seqscan', 'hashjoin']) AS e (node)`,
  }),
});

/** Counts for the fleet, and for each provider with machines, at the time of the statement. */
export async function countGuard(
  q: Queries,
  { loss, guard }: Policies,
  { upSinceMs: up, lostAtMs: lost }: Ingest,
): Promise<readonly GuardCounts[]> {
  const rows = await q.rows(statementsFor(loss, guard).count, { up, lost });
  return sumOfScopes(
    rows.map(({ newly_silent: newlySilent, silent_of_fleet: silentOfFleet, ...row }) => ({
      ...row,
      newlySilent,
      silentOfFleet,
    })),
  );
}

/** `now()` is the time at which the transaction began; this margin covers the difference. */
const MARGIN_MS = 60_000;

/** Result of the last assessment of the fleet. */
export interface LastAssessment {
  readonly nowMs: number;
  readonly ingest: Ingest;
  readonly counts: readonly GuardCounts[];
}

/**
 * Counts the machines that are quiet right now, for a claim. The number of started machines changes
 * slowly, so it comes from the last assessment; without an assessment, everything is counted.
 */
export async function countQuiet(
  q: Queries,
  { loss, guard }: Policies,
  { nowMs, ingest, counts }: LastAssessment,
): Promise<(scope: string) => QuietCounts> {
  await q.rows(statements.plan, { by_keys: false });
  const since = earliestNewlyLostMs(ingest, guard, { nowMs, loss }) - MARGIN_MS;
  const { upSinceMs: up, lostAtMs: lost } = ingest;
  const quiet =
    counts.length === 0 ? [] : await q.rows(statementsFor(loss, guard).quiet, { up, lost, since });
  const all = counts.length === 0 ? await countGuard(q, { loss, guard }, ingest) : null;
  await q.rows(statements.plan, { by_keys: true });
  return (scope) => {
    const found = all?.find((each) => each.scope === scope);
    if (found) return found;
    const here = quiet.filter((each) => scope === FLEET || each.scope === scope);
    const started = counts.find((each) => each.scope === scope)?.started ?? 0;
    return { scope, started, quiet: here.reduce((sum, each) => sum + each.quiet, 0) };
  };
}
