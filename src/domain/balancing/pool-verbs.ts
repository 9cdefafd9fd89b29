import type { PoolVerb } from '../verbs.ts';
import type { PoolRow } from './pool-row.ts';

/** What becomes of what operators ask of pools. */

/** Who asks it, why, and when (epoch ms of the database). */
interface Asked {
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
}

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
