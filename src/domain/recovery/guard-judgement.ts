import type { FreezeKind, GuardRow } from '../machine.ts';

/**
 * The fleet guard's judgement: whether silence is that of machines or our own. Its rows are in the
 * BMDB, so that what one daemon decides binds all.
 */
export interface GuardPolicy {
  /**
   * More than the greater of these machines newly silent in a scope: it is frozen (5; 20 %). In a
   * small scope `silentMin` counts as half of it: see `limitOf`.
   */
  readonly silentMin: number;
  readonly silentPercent: number;
  /** Silent counts as new for so long (10 min). */
  readonly newForMs: number;
  /** A freeze ends once the silent share has been below this (10 %) … */
  readonly calmPercent: number;
  /** … for so long (10 min). */
  readonly calmForMs: number;
  /** More than so many percent of a scope's machines cannot be reached by SSH: it is frozen (50 %). */
  readonly unreachablePercent: number;
  /** An assessment of the fleet counts for so long (5 s). */
  readonly assessMs: number;
  /** No daemon took heartbeats in for so long: silence was our own doing (60 s). */
  readonly ingestGapMs: number;
}

export const DEFAULT_GUARD: GuardPolicy = {
  silentMin: 5,
  silentPercent: 20,
  newForMs: 10 * 60_000,
  calmPercent: 10,
  calmForMs: 10 * 60_000,
  unreachablePercent: 50,
  assessMs: 5_000,
  ingestGapMs: 60_000,
};

/** The scope of all machines; the others are providers. */
export const FLEET = 'fleet';
/** Who freezes and thaws where no operator does. */
export const GUARD = 'guard';

/** Of the fleet, or of one provider; machines under quarantine or handed over are left out. */
export interface GuardCounts {
  /** `fleet`, or a provider. */
  readonly scope: string;
  /** Machines with hardware. */
  readonly machines: number;
  /** Their agent was started. */
  readonly started: number;
  /** Lost, or lost when it was frozen and fewer than three heartbeats in a row since. */
  readonly silent: number;
  /** Lost since `newForMs` ago and since the last thaw by an operator. */
  readonly newlySilent: number;
  /** The same, or late (two periods without a heartbeat) and so perhaps about to be. */
  readonly quiet: number;
  /**
   * Agent start is tried, and cannot reach the machine or is not let in: since later than the last
   * thaw by an operator.
   */
  readonly unreachable: number;
}

/** How many are quiet at this very moment. */
export type QuietCounts = Pick<GuardCounts, 'scope' | 'quiet' | 'started'>;

/**
 * More of so many machines than this at once are no accident of theirs. The least number holds only
 * where it is not more than half of them, or else a small scope would have no guard at all; one
 * machine alone is never too many by it.
 */
const limitOf = (least: number, percent: number, machines: number): number =>
  Math.max((percent * machines) / 100, Math.min(least, Math.max(1, machines / 2)));

/** More machines than this fell silent together: it is no accident of theirs. */
export const silentLimit = (
  { silentMin, silentPercent }: Pick<GuardPolicy, 'silentMin' | 'silentPercent'>,
  started: number,
): number => limitOf(silentMin, silentPercent, started);

/** More machines than this cannot be reached: it is no accident of theirs. */
export const unreachableLimit = (
  { silentMin, unreachablePercent }: Pick<GuardPolicy, 'silentMin' | 'unreachablePercent'>,
  machines: number,
): number => limitOf(silentMin, unreachablePercent, machines);

/** When heartbeats were taken in, by whichever daemon. Database clock, epoch ms. */
export interface Ingest {
  /** Some daemon last said so; null: never. */
  readonly seenAtMs: number | null;
  /** Without a break since; null: not now. */
  readonly upSinceMs: number | null;
  /** The last moment before the latest break that they were; null: none is known. */
  readonly lostAtMs: number | null;
}

export interface IngestLimits {
  /** See `GuardPolicy.ingestGapMs`. */
  readonly gapMs: number;
  /** How long a machine may be silent before it is lost. */
  readonly heartbeatMs: number;
}

/**
 * What is known of the intake of heartbeats after one more observation of it.
 *
 * Breaks that follow each other so closely that nobody could be found lost in between are one. Times
 * ahead of the clock, which then went back, are those of now.
 */
export function markIngest(
  known: Ingest,
  seen: { readonly up: boolean; readonly nowMs: number },
  { gapMs, heartbeatMs }: IngestLimits,
): Ingest {
  const { nowMs } = seen;
  const before: Ingest = {
    seenAtMs: notAhead(known.seenAtMs, nowMs),
    upSinceMs: notAhead(known.upSinceMs, nowMs),
    lostAtMs: notAhead(known.lostAtMs, nowMs),
  };
  const { seenAtMs, upSinceMs } = before;
  const isBroken = seenAtMs === null || nowMs - seenAtMs > gapMs;
  if (!isBroken) {
    return seen.up ? { ...before, seenAtMs: nowMs, upSinceMs: upSinceMs ?? nowMs } : before;
  }
  const isNewBreak = seenAtMs !== null && upSinceMs !== null;
  const couldTell = isNewBreak && seenAtMs >= upSinceMs + heartbeatMs;
  const lostAtMs = couldTell ? seenAtMs : before.lostAtMs;
  return seen.up
    ? { seenAtMs: nowMs, upSinceMs: nowMs, lostAtMs }
    : { seenAtMs, upSinceMs: null, lostAtMs };
}

const notAhead = <At extends number | null>(atMs: At, nowMs: number) =>
  atMs === null ? atMs : Math.min(atMs, nowMs);

/** Whether a time is less than this away, ahead too: the database clock may have gone back. */
export const isNear = (atMs: number | null, nowMs: number, lessThanMs: number): boolean =>
  atMs !== null && Math.abs(nowMs - atMs) < lessThanMs;

/** Until when silence means nothing; null: as long as heartbeats are not taken in. */
export const graceEndsAtMs = (
  { upSinceMs }: Pick<Ingest, 'upSinceMs'>,
  { heartbeatMs }: Pick<IngestLimits, 'heartbeatMs'>,
): number | null => (upSinceMs === null ? null : upSinceMs + heartbeatMs);

/** Why nothing may be recovered while heartbeats are not, or only just, taken in; null: it may. */
export function graceRefusal(ingest: Ingest, nowMs: number, limits: IngestLimits): string | null {
  const { seenAtMs } = ingest;
  const endsAtMs = graceEndsAtMs(ingest, limits);
  if (endsAtMs === null || seenAtMs === null || nowMs - seenAtMs > limits.gapMs) {
    return 'heartbeats are not being taken in';
  }
  if (nowMs >= endsAtMs) return null;
  const leftSeconds = Math.ceil((endsAtMs - nowMs) / 1000);
  return `heartbeats are taken in again only lately: ${leftSeconds} s to wait before silence counts`;
}

/** Why too many are quiet at this moment for any of them to be recovered; null: they are not. */
export function suspicionRefusal(
  { scope, quiet, started }: QuietCounts,
  policy: GuardPolicy,
): string | null {
  if (quiet <= silentLimit(policy, started)) return null;
  return `${quiet} of ${started} started machines of ${scopeName(scope)} are late or silent together`;
}

/** Why nothing of the scope may be recovered; null: it is not frozen. */
export const freezeRefusal = ({ scope, frozen }: GuardRow): string | null =>
  frozen && `${scopeName(scope)} is frozen: ${frozen.reason}`;

export const scopeName = (scope: string) => (scope === FLEET ? 'the fleet' : `provider ${scope}`);

/** A row of a scope that nothing was decided for yet. */
export const calmRow = (scope: string): GuardRow => ({
  scope,
  frozen: null,
  calmSinceMs: null,
  thawedAtMs: null,
  ingestUpSinceMs: null,
});

/** Whether the end that an operator gave a freeze has come. */
export const isFreezeOver = ({ frozen }: GuardRow, nowMs: number): boolean =>
  frozen !== null && frozen.untilMs !== null && frozen.untilMs <= nowMs;

/** The scope as an operator froze it; it thaws at the end, if there is one, or by an operator. */
export const frozenByOperator = (
  row: GuardRow,
  { by, reason }: { readonly by: string; readonly reason: string },
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number | null },
): GuardRow => ({
  ...row,
  frozen: { atMs: row.frozen?.atMs ?? nowMs, by, kind: 'manual', reason, untilMs },
  calmSinceMs: null,
});

/** Whether readers of events are told: it is frozen, or not, or until another time than before. */
export const isOtherFreeze = (before: GuardRow, after: GuardRow): boolean =>
  before.frozen?.untilMs !== after.frozen?.untilMs;

/** The scope as an operator thawed it: who was lost before freezes nothing any more. */
export const thawedByOperator = (row: GuardRow, nowMs: number): GuardRow => ({
  ...row,
  frozen: null,
  calmSinceMs: null,
  thawedAtMs: nowMs,
});

export interface GuardChange {
  readonly scope: string;
  /** `ended`: it thawed at the end that an operator gave the freeze. */
  readonly now: 'frozen' | 'thawed' | 'ended';
}

interface GuardJudgement {
  /** All rows, as they are now. */
  readonly rows: readonly GuardRow[];
  /** Those that are to be written. */
  readonly written: readonly GuardRow[];
  readonly changes: readonly GuardChange[];
}

/**
 * Freezes the scopes where too many fell silent or cannot be reached together, and thaws those that
 * have been calm for long enough. What an operator froze stays until its end, if it has one: then it
 * is judged like a scope that is not frozen.
 *
 * @param pulse when the fleet was assessed before; null: never. Calm that nobody watched is none.
 */
export function judgeGuard(
  rows: readonly GuardRow[],
  counts: readonly GuardCounts[],
  pulse: { readonly assessedAtMs: number | null },
  policy: GuardPolicy,
  nowMs: number,
): GuardJudgement {
  const counted = new Map(counts.map((each) => [each.scope, each]));
  const known = new Map(rows.map((row) => [row.scope, row]));
  const scopes = [...new Set([...known.keys(), ...counted.keys()])];
  const { assessedAtMs } = pulse;
  const isWatched = assessedAtMs !== null && Math.abs(nowMs - assessedAtMs) <= policy.ingestGapMs;
  const written: GuardRow[] = [];
  const changes: GuardChange[] = [];
  const after = scopes.flatMap((scope) => {
    const before = known.get(scope) ?? calmRow(scope);
    const present = rowNotAhead(before, nowMs);
    const row = judge(present, counted.get(scope) ?? NOBODY, { isWatched, policy, nowMs });
    if (row !== before) written.push(row);
    const isOver = isFreezeOver(before, nowMs);
    if ((row.frozen === null) !== (before.frozen === null) || isOver) {
      changes.push({ scope, now: row.frozen ? 'frozen' : isOver ? 'ended' : 'thawed' });
    }
    return known.has(scope) || row !== before ? [row] : [];
  });
  return { rows: after, written, changes };
}

/** The clock went back: what is said to be yet to come would hide who falls silent until then. */
function rowNotAhead(row: GuardRow, nowMs: number): GuardRow {
  const { frozen, calmSinceMs, thawedAtMs } = row;
  const times = [frozen?.atMs ?? null, calmSinceMs, thawedAtMs];
  if (times.every((at) => at === null || at <= nowMs)) return row;
  return {
    ...row,
    frozen: frozen && { ...frozen, atMs: Math.min(frozen.atMs, nowMs) },
    calmSinceMs: notAhead(calmSinceMs, nowMs),
    thawedAtMs: notAhead(thawedAtMs, nowMs),
  };
}

const NOBODY = { machines: 0, started: 0, silent: 0, newlySilent: 0, unreachable: 0 };
type Counted = Omit<GuardCounts, 'scope' | 'quiet'>;

interface Moment {
  /** The fleet was assessed shortly before, too. */
  readonly isWatched: boolean;
  readonly policy: GuardPolicy;
  readonly nowMs: number;
}

function judge(row: GuardRow, counts: Counted, { isWatched, policy, nowMs }: Moment): GuardRow {
  const isOver = isFreezeOver(row, nowMs);
  if (row.frozen?.kind === 'manual' && !isOver) return row;
  const alarm = alarmOf(counts, policy);
  if (!row.frozen || isOver) {
    const frozen = alarm && { ...alarm, atMs: nowMs, by: GUARD, untilMs: null };
    return alarm || isOver ? { ...row, frozen, calmSinceMs: null } : row;
  }
  if (alarm !== null || !isCalm(row.frozen.kind, counts, policy)) {
    return row.calmSinceMs === null ? row : { ...row, calmSinceMs: null };
  }
  if (row.calmSinceMs === null || !isWatched) return { ...row, calmSinceMs: nowMs };
  const isCalmLong = nowMs - row.calmSinceMs >= policy.calmForMs;
  return isCalmLong ? { ...row, frozen: null, calmSinceMs: null } : row;
}

/** Why the scope is to be frozen; null: it is not. */
function alarmOf(
  { machines, started, newlySilent, unreachable }: Counted,
  policy: GuardPolicy,
): { readonly kind: 'silence' | 'probes'; readonly reason: string } | null {
  if (newlySilent > silentLimit(policy, started)) {
    const reason = `${newlySilent} of ${started} started machines fell silent together`;
    return { kind: 'silence', reason };
  }
  if (unreachable > unreachableLimit(policy, machines)) {
    return { kind: 'probes', reason: `${unreachable} of ${machines} machines cannot be reached` };
  }
  return null;
}

const isCalm = (kind: FreezeKind, counts: Counted, policy: GuardPolicy): boolean =>
  thawObstacle(kind, counts, policy) === null;

/** Why a freeze of the guard does not end as long as nothing changes; null: it is calm. */
export function thawObstacle(
  kind: FreezeKind,
  { machines, started, silent, unreachable }: Omit<Counted, 'newlySilent'>,
  policy: GuardPolicy,
): string | null {
  const silentMax = calmMax(policy, started);
  if (silent > silentMax) {
    return `${silent} of ${started} started machines are silent and at most ${silentMax} may be`;
  }
  if (kind !== 'probes' || isOneOfMany(unreachable, machines)) return null;
  const unreachableMax = Math.ceil(unreachableLimit(policy, machines) / 2) - 1;
  if (unreachable <= unreachableMax) return null;
  return `${unreachable} of ${machines} machines cannot be reached and at most ${unreachableMax} may be`;
}

/** So many of the started machines may be silent while a scope counts as calm. */
function calmMax({ calmPercent }: GuardPolicy, started: number): number {
  const share = (calmPercent * started) / 100;
  // Less than one machine, but not none.
  if (share > 0 && share < 1) return Number(started > 1);
  return Math.max(0, Math.ceil(share) - 1);
}

/**
 * In a scope so small that one machine is more than its share, one that never comes back would keep
 * it frozen for ever, and so itself from being recovered; yet it alone would not have frozen it.
 */
const isOneOfMany = (gone: number, machines: number): boolean => gone === 1 && machines > 1;
