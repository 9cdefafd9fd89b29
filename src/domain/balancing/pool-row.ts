import type { PoolRef } from './objects.ts';

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
