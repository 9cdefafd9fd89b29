import { z } from 'zod';
import { NoPermit } from '../../../../domain/errors.ts';
import { sameData } from '../../../../lib/data.ts';
import {
  FLEET,
  freezeRefusal,
  graceRefusal,
  isNear,
  judgeGuard,
  markIngest,
} from '../../../../domain/recovery/guard-judgement.ts';
import type {
  GuardCounts,
  GuardPolicy,
  Ingest,
} from '../../../../domain/recovery/guard-judgement.ts';
import type { GuardRow } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { changeEvent } from '../../../../domain/events/fleet-event.ts';
import { writeFleetEvents } from '../events/write.ts';
import { countGuard } from './guard-counts.ts';
import type { LastAssessment } from './guard-counts.ts';
import { lockGuard, readGuardRows, time, writeGuardRow } from './guard-rows.ts';
import type { PgContext } from '../live.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { selection, named, statement } from '../statement.ts';
import type { GuardAssessment, GuardRepository } from '../../port.ts';

// Time of the statement, because the transaction may have waited for the lock.
const PULSE = selection({
  nowMs: ['float8', ms('clock_timestamp()')],
  upSinceMs: ['float8?', ms('f.ingest_up_since')],
  seenAtMs: ['float8?', ms('u.ingest_seen_at')],
  lostAtMs: ['float8?', ms('u.ingest_lost_at')],
  assessedAtMs: ['float8?', ms('u.assessed_at')],
  counts: ['jsonb?', 'u.counts'],
  /** True if a freeze has passed its end. */
  freezeOver: [
    'bool',
    'EXISTS (SELECT FROM fleet_guard e WHERE e.frozen_until <= clock_timestamp())',
  ],
  /** False if the row was never written. */
  isThere: ['bool', 'u.single IS NOT NULL'],
});

export const statements = named('guard', {
  /** One daemon at a time assesses the fleet; the others skip it without waiting. */
  lockPulse: statement({
    columns: { single: 'bool' },
    text: () => `SELECT single FROM guard_pulse FOR UPDATE SKIP LOCKED`,
  }),
  addPulse: statement({
    text: () => `INSERT INTO guard_pulse DEFAULT VALUES ON CONFLICT DO NOTHING`,
  }),
  pulse: statement({
    columns: PULSE.columns,
    text: () => `
      SELECT ${PULSE.sql}
      FROM (SELECT 1) one LEFT JOIN fleet_guard f ON f.scope = '${FLEET}'
        LEFT JOIN guard_pulse u ON true`,
  }),
  writePulse: statement({
    params: { seen: 'float8?', lost: 'float8?', assessed: 'float8?', counts: 'jsonb' },
    text: ({ seen, lost, assessed, counts }) =>
      `UPDATE guard_pulse SET ingest_seen_at = ${time(seen)}, ingest_lost_at = ${time(lost)},
         assessed_at = ${time(assessed)}, counts = ${counts}`,
  }),
});

async function readPulse(q: Queries) {
  const [row] = await q.rows(statements.pulse, {});
  const { counts, nowMs, isThere, assessedAtMs, freezeOver, ...ingest } = row!;
  return { nowMs, isThere, assessedAtMs, freezeOver, ingest, counts: readCounts(counts) };
}
/** The stored state of the guard, and when it was read. */
type Pulse = Awaited<ReturnType<typeof readPulse>>;

const COUNTS = z.array(
  z.object({
    scope: z.string(),
    machines: z.number(),
    started: z.number(),
    silent: z.number(),
    newlySilent: z.number(),
    quiet: z.number(),
    unreachable: z.number(),
  }),
);

/** Counts that another version wrote in another form are dropped, as if there were none. */
function readCounts(stored: unknown): readonly GuardCounts[] {
  const counts = COUNTS.safeParse(stored);
  return counts.success ? counts.data : [];
}

/** See `GuardRepository`. */
export function createGuardRepository(context: PgContext): GuardRepository {
  const { db, loss, guard } = context;
  const options = { doing: 'assess the whole fleet', isolation: 'READ COMMITTED' } as const;
  return {
    assess: ({ ingestUp: up }) => db.transact(options, (q) => assess(q, { up, guard, loss })),
  };
}

interface AssessOptions {
  readonly up: boolean;
  readonly guard: GuardPolicy;
  readonly loss: LossPolicy;
}

async function assess(q: Queries, options: AssessOptions): Promise<GuardAssessment> {
  const seen = await readPulse(q);
  if (!seen.isThere) await q.run(statements.addPulse, {});
  const isMine = !isFresh(seen, options) && (await q.rows(statements.lockPulse, {})).length > 0;
  if (isMine) return assessFleet(q, options);
  return { rows: await readGuardRows(q), counts: seen.counts, changes: [] };
}

/**
 * True if the last assessment is so recent that another is not needed. A freeze that has passed its end always
 * needs one: an older daemon, which ignores ends, may have made the last assessment.
 */
const isFresh = (pulse: Pulse, { up, guard }: AssessOptions): boolean =>
  !pulse.freezeOver &&
  isLately(pulse, pulse.assessedAtMs, guard) &&
  (!up || (isLately(pulse, pulse.ingest.seenAtMs, guard) && pulse.ingest.upSinceMs !== null));

const isLately = ({ nowMs }: Pulse, atMs: number | null, { assessMs }: GuardPolicy): boolean =>
  isNear(atMs, nowMs, assessMs);

/**
 * The pulse must be locked. The fleet is counted before the guard is locked, so that claims do not
 * wait for the count. If the guard changed meanwhile, the next assessment decides.
 */
async function assessFleet(q: Queries, options: AssessOptions): Promise<GuardAssessment> {
  const { up, guard: policy, loss } = options;
  const pulse = await readPulse(q);
  const { nowMs, assessedAtMs } = pulse;
  const ingest = markIngest(pulse.ingest, { up, nowMs }, limitsOf(policy, loss));
  const before = await readGuardRows(q);
  const isDue = pulse.freezeOver || !isLately(pulse, assessedAtMs, policy);
  const counts = isDue ? await countGuard(q, options, ingest) : pulse.counts;
  await lockGuard(q);
  const rows = (await readGuardRows(q)).map((row) =>
    row.scope === FLEET ? { ...row, ingestUpSinceMs: ingest.upSinceMs } : row,
  );
  const fleet = rows.find(({ scope }) => scope === FLEET);
  if (fleet && ingest.upSinceMs !== pulse.ingest.upSinceMs) await writeGuardRow(q, fleet);
  if (!isDue || !isSameGuard(before, rows)) {
    await writePulse(q, ingest, assessedAtMs, pulse.counts);
    return { rows, counts: pulse.counts, changes: [] };
  }
  const judged = judgeGuard(rows, counts, { assessedAtMs }, policy, nowMs);
  for (const row of judged.written) await writeGuardRow(q, row);
  const rowOf = new Map(judged.rows.map((row) => [row.scope, row]));
  await writeFleetEvents(
    q,
    judged.changes.map((change) => changeEvent(rowOf.get(change.scope)!, change)),
  );
  await writePulse(q, ingest, nowMs, counts);
  return { rows: judged.rows, counts, changes: judged.changes };
}

/** True if nothing was frozen or thawed meanwhile. */
function isSameGuard(before: readonly GuardRow[], after: readonly GuardRow[]): boolean {
  const decided = (rows: readonly GuardRow[]) =>
    rows.map(({ scope, frozen, thawedAtMs }) => ({ scope, frozen, thawedAtMs }));
  const sorted = (rows: readonly GuardRow[]) =>
    decided(rows).toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
  return sameData(sorted(before), sorted(after));
}

/** Sent as text, because `pg` would send an array as a PostgreSQL array. */
const writePulse = (
  q: Queries,
  { seenAtMs: seen, lostAtMs: lost }: Ingest,
  assessed: number | null,
  counts: readonly GuardCounts[],
) => q.run(statements.writePulse, { seen, lost, assessed, counts: JSON.stringify(counts) });

const limitsOf = (policy: GuardPolicy, loss: LossPolicy) => ({
  gapMs: policy.ingestGapMs,
  heartbeatMs: loss.heartbeatMs,
});

/** What forbids recovery now. */
export interface GuardGate {
  /** Why nothing of the provider may be recovered, not even by an order; null if it may. */
  frozen(provider: string | null): string | null;
  /** Why silence means nothing now; null if it counts. */
  readonly grace: string | null;
  readonly last: LastAssessment;
}

export async function readGate(
  q: Queries,
  { guard: policy, loss }: Pick<PgContext, 'guard' | 'loss'>,
): Promise<GuardGate> {
  const rows = await readGuardRows(q);
  const last = await readPulse(q);
  const { ingest, nowMs } = last;
  return {
    frozen: (provider) => {
      const frozen = rows.filter(({ frozen: it }) => it !== null);
      const found =
        frozen.find(({ scope }) => scope === FLEET) ??
        frozen.find(({ scope }) => scope === provider);
      return found ? freezeRefusal(found) : null;
    },
    last,
    grace: graceRefusal(ingest, nowMs, limitsOf(policy, loss)),
  };
}

/** @throws {NoPermit} the fleet or the provider is frozen; or grace, without an order. */
export async function refuseGuarded(
  q: Queries,
  context: Pick<PgContext, 'guard' | 'loss'>,
  { provider, order }: { readonly provider: string | null; readonly order: string | null },
): Promise<void> {
  const gate = await readGate(q, context);
  const why = gate.frozen(provider) ?? (order === null ? gate.grace : null);
  if (why !== null) throw new NoPermit(why);
}
