import type { PoolRef } from './objects.ts';
import type { PoolVerb } from '../verbs.ts';
import type { MachineId } from '../ids.ts';

/** The state of one pool at one balancer. */
export interface PoolRow {
  readonly pool: string;
  readonly balancer: string;
  /** The activity of the tending daemon at its last write: a state of its statechart, or `GONE`. */
  readonly state: string;
  /** The mark and names of its objects, see `madeAs`; null: no daemon has managed the pool yet. */
  readonly madeAs: string | null;
  /** Counts the changes of the desired state. */
  readonly generation: number;
  /** Failed runs in a row. */
  readonly failures: number;
  /** No call to the balancer before this time, epoch ms of the database; null: at once. */
  readonly retryAtMs: number | null;
  /** Why the pool is in that state, for people; null: no reason. */
  readonly reason: string | null;
  /** When all objects were last seen as desired; null: never. */
  readonly settledAtMs: number | null;
  /** When the pool was last read from the balancer; null: never. */
  readonly observedAtMs: number | null;
  /** The panic guard keeps members from being dropped; null: it does not. */
  readonly frozen: {
    readonly atMs: number;
    readonly reason: string;
    /** The panic guard's finding, as text. */
    readonly snapshot: string;
  } | null;
  /** An operator accepted the panic guard's finding. A different finding ends this. */
  readonly accepted: { readonly atMs: number; readonly by: string } | null;
  /** An operator paused changes at the balancer. */
  readonly paused: PoolOrder | null;
  /** An operator requested that the whole pool be removed from the balancer. */
  readonly tornDown: PoolOrder | null;
}

/** An operator's request about a pool, and its time. */
interface PoolOrder {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

/** State of a pool that was torn down, once the balancer shows nothing left of it. */
export const GONE = 'gone';

/** The mark of a pool's objects: under another mark they would belong to somebody else. */
export const madeAs = ({ uid, suffix }: Pick<PoolRef, 'uid' | 'suffix'>): string =>
  `uid ${uid}, names in ${suffix}`;

/** Identifies a pool at a balancer. */
export type PoolName = Pick<PoolRow, 'pool' | 'balancer'>;

/** The state of a pool before its first write. */
export const newPool = ({ pool, balancer }: PoolName): PoolRow => ({
  pool,
  balancer,
  state: 'retrieving',
  madeAs: null,
  generation: 0,
  failures: 0,
  retryAtMs: null,
  reason: null,
  settledAtMs: null,
  observedAtMs: null,
  frozen: null,
  accepted: null,
  paused: null,
  tornDown: null,
});

/**
 * Activities of the daemon that manages a pool at a balancer: the states of its statechart, as they
 * are stored, counted and shown.
 */
export const POOL_STATES = [
  'retrieving',
  'checking',
  'recovering',
  'destroying',
  'creating',
  'waiting',
  'settled',
  'failed',
  'paused',
  'stopped',
] as const;
/** The result of an operator's request about pools. */

export interface PoolVerdict {
  readonly refusal: boolean;
  /** For people. */
  readonly outcome: string;
  /** The new rows to write. */
  readonly rows: readonly PoolRow[];
}

/**
 * Applies a request to pools. Idempotent.
 * @param pools the rows concerned. None: no daemon has managed the pool there yet.
 */
export function poolVerdict(
  pools: readonly PoolRow[],
  asked: { readonly verb: PoolVerb; readonly pool: string; readonly balancer: string | null },
  by: PoolOrder,
): PoolVerdict {
  if (pools.length === 0) {
    const where = asked.balancer === null ? 'any balancer' : asked.balancer;
    const outcome = `no daemon has managed pool ${asked.pool} at ${where} yet`;
    return { refusal: true, outcome, rows: [] };
  }
  const { isDone, change, words } = VERBS[asked.verb];
  const open = pools.filter((row) => !isDone(row));
  const outcome = open.length === 0 ? words.before : `${words.done} at ${namesOf(open)}`;
  return { refusal: false, outcome, rows: open.map((row) => change(row, by)) };
}

const namesOf = (rows: readonly PoolRow[]) => rows.map(({ balancer }) => balancer).join(', ');

interface Meaning {
  readonly isDone: (row: PoolRow) => boolean;
  readonly change: (row: PoolRow, by: PoolOrder) => PoolRow;
  readonly words: { readonly done: string; readonly before: string };
}

const asked = ({ by, reason, atMs }: PoolOrder) => ({ by, reason, atMs });

const VERBS: Readonly<Record<PoolVerb, Meaning>> = {
  'pause-pool': {
    isDone: ({ paused }) => paused !== null,
    change: (row, by) => ({ ...row, paused: asked(by) }),
    words: { done: 'it is paused', before: 'it was already paused' },
  },
  'resume-pool': {
    isDone: ({ paused, tornDown }) => paused === null && tornDown === null,
    change: (row) => ({ ...row, paused: null, tornDown: null }),
    words: { done: 'it is managed again', before: 'it was neither paused nor torn down' },
  },
  'thaw-pool': {
    isDone: ({ frozen, accepted }) => frozen === null || accepted !== null,
    change: (row, { by, atMs }) => ({ ...row, accepted: { by, atMs } }),
    words: { done: 'the finding of its panic guard is accepted', before: 'it was not frozen' },
  },
  'teardown-pool': {
    isDone: ({ tornDown }) => tornDown !== null,
    change: (row, by) => ({ ...row, tornDown: asked(by) }),
    words: { done: 'all of it will be removed', before: 'its removal was already requested' },
  },
};

/** Finding of a pool's panic guard, and how often it repeated. A restart forgets it. */
export interface Alarm {
  /** The members that would go, as one text: equal texts are equal findings. */
  readonly snapshot: string;
  readonly sinceMs: number;
  readonly looks: number;
  readonly lookedAtMs: number;
}

const LOOKS = 3;
/** A finding that repeats this often over this long is believed. */
export const BELIEVED_MS = 300_000;
const BETWEEN_MS = BELIEVED_MS / (LOOKS - 1);

/** Counts a finding; looks that come too soon count once. */
export function alarmAfter(before: Alarm | null, snapshot: string, nowMs: number): Alarm {
  if (before?.snapshot !== snapshot)
    return { snapshot, sinceMs: nowMs, looks: 1, lookedAtMs: nowMs };
  if (nowMs < before.lookedAtMs + BETWEEN_MS) return before;
  return { ...before, looks: before.looks + 1, lookedAtMs: nowMs };
}

/** The finding stayed the same for long enough to be believed. */
export const isBelieved = ({ looks, sinceMs }: Alarm, nowMs: number): boolean =>
  looks >= LOOKS && nowMs >= sinceMs + BELIEVED_MS;

/** When the next look counts, epoch ms. */
export const nextLookMs = ({ lookedAtMs }: Alarm): number => lookedAtMs + BETWEEN_MS;

/** An operator's acceptance is valid for this long. */
const ACCEPTED_MS = 3_600_000;

/** Whether an operator saw the panic guard's finding and lets all of these members go. */
export function isAccepted(
  { frozen, accepted }: Pick<PoolRow, 'frozen' | 'accepted'>,
  going: readonly MachineId[],
  nowMs: number,
): boolean {
  if (!accepted || !frozen || nowMs > accepted.atMs + ACCEPTED_MS) return false;
  const seen = new Set(frozen.snapshot.split(' '));
  return going.every((machine) => seen.has(machine));
}
