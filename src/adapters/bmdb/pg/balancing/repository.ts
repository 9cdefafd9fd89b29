import type { PoolName } from '../../../../domain/balancing/pool-row.ts';
import { exclusionGroup } from '../../../../domain/eligibility.ts';
import {
  type BalancingRepository,
  forgottenText,
  type MemberChange,
  type MemberVerdict,
  type PoolPatch,
} from '../../balancing-port.ts';
import type { Lease } from '../../port.ts';
import { requireChanges } from '../../preconditions.ts';
import { cancelDead } from '../claims/cancel.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { commitAsHolder, FENCE, FENCE_TOLD, FENCED, fenceSql } from '../fence.ts';
import { repeatedOnce } from '../repeat.ts';
import { named, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import { statements as members } from './member-writes.ts';

const NAME = { pool: 'text', balancer: 'text' } as const;

/** Null is a valid value of these columns, so a flag says whether to write each of them. */
const given = (flag: string, value: string, before: string) =>
  `CASE WHEN ${flag} THEN ${value} ELSE ${before} END`;

export const statements = named('pools', {
  /** The first note inserts default values and updates them like any other note. */
  note: statement({
    params: {
      ...FENCE,
      ...NAME,
      ...{ state: 'text?', madeAs: 'text?', generation: 'int8?', failures: 'int8?' },
      ...{ retrying: 'bool', retryInMs: 'float8?', reasoned: 'bool', reason: 'text?' },
      ...{ settled: 'bool', observed: 'bool' },
      ...{ freezing: 'bool', frozenReason: 'text?', snapshot: 'raw?' },
    },
    columns: FENCED,
    text: (of) => `
      WITH ${fenceSql(of)}, noted AS (
        INSERT INTO pools AS o (pool, balancer, state, made_as, generation, failures, retry_at, reason,
          settled_at, observed_at, frozen_at, frozen_reason, frozen_snapshot)
        SELECT ${of.pool}, ${of.balancer}, coalesce(${of.state}, 'retrieving'), ${of.madeAs},
          coalesce(${of.generation}, 0), coalesce(${of.failures}, 0),
          now() + ${of.retryInMs} * interval '1 millisecond', ${of.reason},
          CASE WHEN ${of.settled} THEN now() END, CASE WHEN ${of.observed} THEN now() END,
          CASE WHEN ${of.frozenReason} IS NOT NULL THEN now() END, ${of.frozenReason},
          ${of.snapshot}
        FROM lease
        ON CONFLICT (pool, balancer) DO UPDATE SET
          state = coalesce(${of.state}, o.state),
          made_as = coalesce(${of.madeAs}, o.made_as),
          generation = coalesce(${of.generation}, o.generation),
          failures = coalesce(${of.failures}, o.failures),
          retry_at = ${given(of.retrying, 'excluded.retry_at', 'o.retry_at')},
          reason = ${given(of.reasoned, 'excluded.reason', 'o.reason')},
          settled_at = coalesce(excluded.settled_at, o.settled_at),
          observed_at = coalesce(excluded.observed_at, o.observed_at),
          frozen_at = ${given(
            of.freezing,
            'CASE WHEN excluded.frozen_at IS NOT NULL THEN coalesce(o.frozen_at, now()) END',
            'o.frozen_at',
          )},
          frozen_reason = ${given(of.freezing, 'excluded.frozen_reason', 'o.frozen_reason')},
          frozen_snapshot = ${given(of.freezing, 'excluded.frozen_snapshot', 'o.frozen_snapshot')},
          accepted_at = CASE WHEN NOT ${of.freezing}
            OR excluded.frozen_snapshot IS NOT DISTINCT FROM o.frozen_snapshot
            THEN o.accepted_at END,
          accepted_by = CASE WHEN NOT ${of.freezing}
            OR excluded.frozen_snapshot IS NOT DISTINCT FROM o.frozen_snapshot
            THEN o.accepted_by END
      )
      SELECT ${FENCE_TOLD}`,
  }),
  forget: statement({
    params: { ...FENCE, ...NAME, actor: 'text', reason: 'text' },
    columns: FENCED,
    text: (of) => `
      WITH ${fenceSql(of)}, members AS (
        DELETE FROM pool_members g WHERE g.pool = ${of.pool} AND g.balancer = ${of.balancer}
          AND EXISTS (SELECT 1 FROM lease)
        RETURNING g.machine_id
      ), told AS (
        INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
        SELECT p.provider, coalesce(p.provider_reservation_id, p.provider_id), p.machine_id,
          'requestDone', ${of.actor}, ${of.reason}, ${of.session}
        FROM members JOIN machine_provided p USING (machine_id)
      ), pool AS (
        DELETE FROM pools o WHERE o.pool = ${of.pool} AND o.balancer = ${of.balancer}
          AND EXISTS (SELECT 1 FROM lease)
      )
      SELECT ${FENCE_TOLD}`,
  }),
});

/** See `BalancingRepository`. Each call is one idempotent statement. */
export const createBalancingRepository = (session: LiveSession): BalancingRepository => ({
  write: (lease, pool, changes) => repeatedOnce(() => write(session, lease, pool, changes)),
  note: (lease, pool, patch) => note(session, lease, pool, patch),
  forget: async (lease, pool, who) => {
    const doing = `forget pool ${pool.pool} at ${pool.balancer}`;
    const told = { ...nameOf(pool), actor: who.by, reason: forgottenText(pool, who) };
    await commitAsHolder(session, lease, doing, [statements.forget, told]);
  },
});

async function write(
  session: LiveSession,
  lease: Lease,
  pool: PoolName,
  changes: readonly MemberChange[],
): Promise<readonly MemberVerdict[]> {
  requireChanges(changes);
  if (changes.length === 0) return [];
  const rows = await writeOnce(session, lease, pool, changes);
  const verdicts = new Map(rows.map((row) => [row.machine_id, row]));
  // Work of a dead session must not keep a member from serving. It is cancelled here, as a claim
  // would.
  const held = rows.filter(({ result, dead }) => result === 'busy' && dead);
  if (held.length > 0) {
    const ids = held.map((row) => row.machine_id);
    await transactLive(session, { doing: doingTo(pool), isolation: 'READ COMMITTED' }, (q) =>
      cancelDead(q, ids, exclusionGroup('ShepherdRecovery')),
    );
    const again = changes.filter((change) => ids.includes(change.machineId));
    for (const row of await writeOnce(session, lease, pool, again)) {
      verdicts.set(row.machine_id, row);
    }
  }
  return changes.map(({ machineId }) => {
    const { result, member: row } = verdicts.get(machineId)!;
    return { machineId, result, row };
  });
}

type WrittenRow = RowOf<(typeof members.write)['columns']>;
const doingTo = ({ pool, balancer }: PoolName): string =>
  `write members of pool ${pool} at ${balancer}`;

async function writeOnce(
  session: LiveSession,
  lease: Lease,
  pool: PoolName,
  changes: readonly MemberChange[],
): Promise<WrittenRow[]> {
  const args = {
    ...nameOf(pool),
    changes: changes.map((change) => ({
      ...change,
      anew: change.newDeadline ?? false,
      noted: change.note !== undefined,
      counted: change.sessions !== undefined,
    })),
  };
  return commitAsHolder(session, lease, doingTo(pool), [members.write, args]);
}

async function note(
  session: LiveSession,
  lease: Lease,
  pool: PoolName,
  patch: PoolPatch,
): Promise<void> {
  const doing = `record the state of pool ${pool.pool} at ${pool.balancer}`;
  const { frozen, settled = false, observed = false, ...rest } = patch;
  const args = {
    ...{ ...rest, settled, observed },
    retrying: patch.retryInMs !== undefined,
    reasoned: patch.reason !== undefined,
    freezing: frozen !== undefined,
    frozenReason: frozen?.reason,
    snapshot: frozen?.snapshot,
    ...nameOf(pool),
  };
  await commitAsHolder(session, lease, doing, [statements.note, args]);
}

const nameOf = ({ pool, balancer }: PoolName) => ({ pool, balancer });
