import type { FreezeKind, GuardRow } from '../machine.ts';

/**
 * The fleet guard's judgement: whether machines went silent or we stopped hearing. Its rows are in
 * the BMDB, so that one daemon's decision binds all.
 */
export interface GuardPolicy {
  /**
   * A scope freezes when more machines than the greater of both are newly silent (5; 20 %). A small
   * scope uses half of it instead of `silentMin`: see `limitOf`.
   */
  readonly silentMin: number;
  readonly silentPercent: number;
  /** A machine counts as newly silent for this long (10 min). */
  readonly newForMs: number;
  /** A freeze ends once the silent share stays below this (10 %) … */
  readonly calmPercent: number;
  /** … for this long (10 min). */
  readonly calmForMs: number;
  /** A scope freezes when more than this share of its machines is unreachable by SSH (50 %). */
  readonly unreachablePercent: number;
  /** An assessment of the fleet stays valid for this long (5 s). */
  readonly assessMs: number;
  /** If no daemon received heartbeats for this long, the silence was our fault (60 s). */
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

/** So many assessments may be missing in a time that counts as observed. */
export const ASSESSMENTS_MISSED = 4;

/** The scope of all machines; other scopes are providers. */
export const FLEET = 'fleet';
/** The actor of freezes and thaws that no operator requested. */
export const GUARD = 'guard';

/** Counts of the fleet or one provider, without machines in quarantine or handed over. */
export interface GuardCounts {
  /** `fleet`, or a provider. */
  readonly scope: string;
  /** Machines with hardware. */
  readonly machines: number;
  /** Machines whose agent was started. */
  readonly started: number;
  /** Lost machines, and machines lost at the freeze without three heartbeats in a row since. */
  readonly silent: number;
  /**
   * Machines lost within `newForMs` and since an operator's last thaw, except those that were heard
   * until an order interrupted them.
   */
  readonly newlySilent: number;
  /** Newly silent and late machines (two periods without a heartbeat), except the same. */
  readonly quiet: number;
  /** Machines that agent start cannot reach or log in to, since an operator's last thaw. */
  readonly unreachable: number;
}

/** Number of machines that are quiet now. */
export type QuietCounts = Pick<GuardCounts, 'scope' | 'quiet' | 'started'>;

/**
 * The largest number of simultaneous losses that counts as machine failures. The least number
 * applies only up to half of the machines; otherwise a small scope would have no guard. A single
 * machine never exceeds it.
 */
const limitOf = (least: number, percent: number, machines: number): number =>
  Math.max((percent * machines) / 100, Math.min(least, Math.max(1, machines / 2)));

/** When more machines than this fall silent together, machine failures are not the cause. */
export const silentLimit = (
  { silentMin, silentPercent }: Pick<GuardPolicy, 'silentMin' | 'silentPercent'>,
  started: number,
): number => limitOf(silentMin, silentPercent, started);

/** When more machines than this are unreachable, machine failures are not the cause. */
export const unreachableLimit = (
  { silentMin, unreachablePercent }: Pick<GuardPolicy, 'silentMin' | 'unreachablePercent'>,
  machines: number,
): number => limitOf(silentMin, unreachablePercent, machines);

/** When any daemon received heartbeats. Database clock, epoch ms. */
export interface Ingest {
  /** Last report of a daemon; null: never. */
  readonly seenAtMs: number | null;
  /** Since when heartbeats are received without a break; null: not now. */
  readonly upSinceMs: number | null;
  /** Last moment of reception before the latest break; null: unknown. */
  readonly lostAtMs: number | null;
}

export interface IngestLimits {
  /** See `GuardPolicy.ingestGapMs`. */
  readonly gapMs: number;
  /** A machine is lost after this long without a heartbeat. */
  readonly heartbeatMs: number;
}

/**
 * Updates the knowledge about heartbeat reception with one observation.
 *
 * Breaks that are too close for a machine to be found lost in between count as one. Times in the
 * future, after the clock went back, count as now.
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

/** Whether a time is less than this away, also in the future: the database clock may go back. */
export const isNear = (atMs: number | null, nowMs: number, lessThanMs: number): boolean =>
  atMs !== null && Math.abs(nowMs - atMs) < lessThanMs;

/** Until then silence means nothing; null: until heartbeats are received again. */
export const graceEndsAtMs = (
  { upSinceMs }: Pick<Ingest, 'upSinceMs'>,
  { heartbeatMs }: Pick<IngestLimits, 'heartbeatMs'>,
): number | null => (upSinceMs === null ? null : upSinceMs + heartbeatMs);

/** Why recovery must wait for the reception of heartbeats; null: it may start. */
export function graceRefusal(ingest: Ingest, nowMs: number, limits: IngestLimits): string | null {
  const { seenAtMs } = ingest;
  const endsAtMs = graceEndsAtMs(ingest, limits);
  if (endsAtMs === null || seenAtMs === null || nowMs - seenAtMs > limits.gapMs) {
    return 'heartbeats are not being received';
  }
  if (nowMs >= endsAtMs) return null;
  const leftSeconds = Math.ceil((endsAtMs - nowMs) / 1000);
  return `heartbeats resumed only recently: ${leftSeconds} s until silence counts`;
}

/** Why too many machines are quiet now for a recovery; null: few enough are quiet. */
export function suspicionRefusal(
  { scope, quiet, started }: QuietCounts,
  policy: GuardPolicy,
): string | null {
  if (quiet <= silentLimit(policy, started)) return null;
  return `${quiet} of ${started} started machines of ${scopeName(scope)} are late or silent together`;
}

/** Why nothing in the scope may be recovered; null: it is not frozen. */
export const freezeRefusal = ({ scope, frozen }: GuardRow): string | null =>
  frozen && `${scopeName(scope)} is frozen: ${frozen.reason}`;

export const scopeName = (scope: string) => (scope === FLEET ? 'the fleet' : `provider ${scope}`);

/** The row of a scope without any decision yet. */
export const calmRow = (scope: string): GuardRow => ({
  scope,
  frozen: null,
  calmSinceMs: null,
  thawedAtMs: null,
  ingestUpSinceMs: null,
});

/** Whether the end time of an operator's freeze has passed. */
export const isFreezeOver = ({ frozen }: GuardRow, nowMs: number): boolean =>
  frozen !== null && frozen.untilMs !== null && frozen.untilMs <= nowMs;

/** The row after an operator's freeze; ends at its end time, if any, or by an operator. */
export const frozenByOperator = (
  row: GuardRow,
  { by, reason }: { readonly by: string; readonly reason: string },
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number | null },
): GuardRow => ({
  ...row,
  frozen: { atMs: row.frozen?.atMs ?? nowMs, by, kind: 'manual', reason, untilMs },
  calmSinceMs: null,
});

/** Whether the change is an event: frozen, thawed, or a different end time. */
export const isOtherFreeze = (before: GuardRow, after: GuardRow): boolean =>
  before.frozen?.untilMs !== after.frozen?.untilMs;

/** The row after an operator's thaw: machines lost before it cause no further freeze. */
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
  /** All current rows. */
  readonly rows: readonly GuardRow[];
  /** Rows to write. */
  readonly written: readonly GuardRow[];
  readonly changes: readonly GuardChange[];
}

/**
 * Freezes scopes where too many machines fell silent or became unreachable together. Thaws scopes
 * that have been calm for long enough. An operator's freeze stays until its end time, if any; then
 * the scope is judged as not frozen.
 *
 * @param pulse time of the previous assessment; null: none. Unobserved calm does not count.
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
  const watchedMs = Math.max(policy.ingestGapMs, ASSESSMENTS_MISSED * policy.assessMs);
  const isWatched = assessedAtMs !== null && Math.abs(nowMs - assessedAtMs) <= watchedMs;
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

/** After the clock went back, future times would hide machines that fall silent until then. */
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
type ScopeCounts = Omit<GuardCounts, 'scope' | 'quiet'>;

interface Moment {
  /** The previous assessment was recent. */
  readonly isWatched: boolean;
  readonly policy: GuardPolicy;
  readonly nowMs: number;
}

function judge(row: GuardRow, counts: ScopeCounts, { isWatched, policy, nowMs }: Moment): GuardRow {
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

/** Why the scope must freeze; null: it need not. */
function alarmOf(
  { machines, started, newlySilent, unreachable }: ScopeCounts,
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

const isCalm = (kind: FreezeKind, counts: ScopeCounts, policy: GuardPolicy): boolean =>
  thawObstacle(kind, counts, policy) === null;

/** Why the guard's freeze does not end without a change; null: the scope is calm. */
export function thawObstacle(
  kind: FreezeKind,
  { machines, started, silent, unreachable }: Omit<ScopeCounts, 'newlySilent'>,
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

/** Number of started machines that may be silent in a calm scope. */
function calmMax({ calmPercent }: GuardPolicy, started: number): number {
  const share = (calmPercent * started) / 100;
  // A share between none and one machine counts as one, except in a scope of one machine.
  if (share > 0 && share < 1) return Number(started > 1);
  return Math.max(0, Math.ceil(share) - 1);
}

/**
 * In a very small scope one machine exceeds the share. If that machine never returns, it would keep
 * the scope frozen and prevent its own recovery, although it alone could not cause the freeze.
 */
const isOneOfMany = (gone: number, machines: number): boolean => gone === 1 && machines > 1;
