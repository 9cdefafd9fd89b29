import type { PoolRef } from './objects.ts';
import type { PoolVerb } from '../verbs.ts';
import type { MachineId } from '../ids.ts';

/** How one pool stands at one balancer. */
export interface PoolRow {
  readonly pool: string;
  readonly balancer: string;
  /** What the daemon that tends it was doing when it wrote last: a state of its statechart, or `GONE`. */
  readonly state: string;
  /** What its objects are marked with and named by, see `madeAs`; null: it was not tended yet. */
  readonly madeAs: string | null;
  /** Of what is desired: one more with each change of it. */
  readonly generation: number;
  /** Runs in a row that failed. */
  readonly failures: number;
  /** Nothing is asked of the balancer for it before, epoch ms of the database; null: at once. */
  readonly retryAtMs: number | null;
  /** Why it is in that state, for people; null: nothing to say. */
  readonly reason: string | null;
  /** When all of it was last seen to be as desired; null: never yet. */
  readonly settledAtMs: number | null;
  /** When it was last read from the balancer; null: never yet. */
  readonly observedAtMs: number | null;
  /** The panic guard keeps members from being dropped; null: it does not. */
  readonly frozen: {
    readonly atMs: number;
    readonly reason: string;
    /** What it saw, in its own words. */
    readonly snapshot: string;
  } | null;
  /** An operator accepted what the panic guard saw; it ends with `frozen`, and with another sight. */
  readonly accepted: { readonly atMs: number; readonly by: string } | null;
  /** Somebody asked that nothing be changed at the balancer. */
  readonly paused: Asked | null;
  /** Somebody asked that all of it be removed from the balancer. */
  readonly tornDown: Asked | null;
}

/** What an operator asked of a pool, and when. */
interface Asked {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

/** State of a pool that was torn down, once a look showed that nothing of it is left at the balancer. */
export const GONE = 'gone';

/** By what a pool's objects are found again: under another one they would be somebody else's. */
export const madeAs = ({ uid, suffix }: Pick<PoolRef, 'uid' | 'suffix'>): string =>
  `uid ${uid}, names in ${suffix}`;

/** Names a pool at a balancer. */
export type PoolName = Pick<PoolRow, 'pool' | 'balancer'>;

/** How a pool stands before anything is written of it. */
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
 * What the daemon that tends a pool at a balancer is doing there: the states of its statechart, as they
 * are written down, counted and shown.
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
/** What becomes of what operators ask of pools. */

export interface PoolVerdict {
  readonly refusal: boolean;
  /** For people. */
  readonly outcome: string;
  /** Those that are to be written, as they will be. */
  readonly rows: readonly PoolRow[];
}

/**
 * What is done about a pool. Done twice it is done once.
 * @param pools the rows that are meant. None: no daemon has tended the pool there yet.
 */
export function poolVerdict(
  pools: readonly PoolRow[],
  asked: { readonly verb: PoolVerb; readonly pool: string; readonly balancer: string | null },
  by: Asked,
): PoolVerdict {
  if (pools.length === 0) {
    const where = asked.balancer === null ? 'any balancer' : asked.balancer;
    const outcome = `no daemon has tended pool ${asked.pool} at ${where} yet`;
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
  readonly change: (row: PoolRow, by: Asked) => PoolRow;
  readonly words: { readonly done: string; readonly before: string };
}

const asked = ({ by, reason, atMs }: Asked) => ({ by, reason, atMs });

const VERBS: Readonly<Record<PoolVerb, Meaning>> = {
  'pause-pool': {
    isDone: ({ paused }) => paused !== null,
    change: (row, by) => ({ ...row, paused: asked(by) }),
    words: { done: 'it is paused', before: 'it was paused already' },
  },
  'resume-pool': {
    isDone: ({ paused, tornDown }) => paused === null && tornDown === null,
    change: (row) => ({ ...row, paused: null, tornDown: null }),
    words: { done: 'it is tended again', before: 'it was neither paused nor torn down' },
  },
  'thaw-pool': {
    isDone: ({ frozen, accepted }) => frozen === null || accepted !== null,
    change: (row, { by, atMs }) => ({ ...row, accepted: { by, atMs } }),
    words: { done: 'what its panic guard saw is accepted', before: 'it was not frozen' },
  },
  'teardown-pool': {
    isDone: ({ tornDown }) => tornDown !== null,
    change: (row, by) => ({ ...row, tornDown: asked(by) }),
    words: { done: 'all of it is to be removed', before: 'it was to be removed already' },
  },
};

/** What the panic guard of a pool has seen, and how often; it is not kept over a restart. */
export interface Alarm {
  /** Who would go, in one text: equal texts are equal findings. */
  readonly snapshot: string;
  readonly sinceMs: number;
  readonly looks: number;
  readonly lookedAtMs: number;
}

const LOOKS = 3;
/** So many equal findings over so long are believed. */
export const BELIEVED_MS = 300_000;
const BETWEEN_MS = BELIEVED_MS / (LOOKS - 1);

/** Takes in a finding; looks that come sooner than others count once. */
export function alarmAfter(before: Alarm | null, snapshot: string, nowMs: number): Alarm {
  if (before?.snapshot !== snapshot)
    return { snapshot, sinceMs: nowMs, looks: 1, lookedAtMs: nowMs };
  if (nowMs < before.lookedAtMs + BETWEEN_MS) return before;
  return { ...before, looks: before.looks + 1, lookedAtMs: nowMs };
}

/** It has been the same for so long that it is true. */
export const isBelieved = ({ looks, sinceMs }: Alarm, nowMs: number): boolean =>
  looks >= LOOKS && nowMs >= sinceMs + BELIEVED_MS;

/** When the next look counts, epoch ms. */
export const nextLookMs = ({ lookedAtMs }: Alarm): number => lookedAtMs + BETWEEN_MS;

/** What an operator has accepted is true for so long. */
const ACCEPTED_MS = 3_600_000;

/** Whether an operator, who saw what the panic guard saw, lets all of these go. */
export function isAccepted(
  { frozen, accepted }: Pick<PoolRow, 'frozen' | 'accepted'>,
  going: readonly MachineId[],
  nowMs: number,
): boolean {
  if (!accepted || !frozen || nowMs > accepted.atMs + ACCEPTED_MS) return false;
  const seen = new Set(frozen.snapshot.split(' '));
  return going.every((machine) => seen.has(machine));
}
