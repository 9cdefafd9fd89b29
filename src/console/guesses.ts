import type { Clock } from '../adapters/clock/port.ts';
import { networkOf } from '../lib/network.ts';

export const GUESSES_MAX = 10;
const WINDOW_MS = 60_000;
/** Above this number of networks the one that guessed first is forgotten. */
const NETWORKS_MAX = 10_000;

/** Counts wrong tokens by network, so that nobody can try many. */
export interface Guesses {
  /** How long tokens from this address are not checked, whole seconds; 0: they are checked. */
  waitSeconds(address: string): number;
  /**
   * Counts a wrong token. The same token counts once, because a page with an old token does not
   * guess.
   * @param digest digest of the token. Returns whether it was the last attempt for now.
   */
  wrong(address: string, digest: string): boolean;
}

interface Tally {
  readonly sinceMs: number;
  readonly tried: Set<string>;
}

/** Allows `guessesMax` per minute and address (IPv6: /64). */
export function createGuesses(
  { monotonic }: Pick<Clock, 'monotonic'>,
  guessesMax = GUESSES_MAX,
): Guesses {
  const tallies = new Map<string, Tally>();
  const current = (network: string): Tally | undefined => {
    const tally = tallies.get(network);
    if (!tally || monotonic() - tally.sinceMs < WINDOW_MS) return tally;
    tallies.delete(network);
    return undefined;
  };
  const begin = (network: string): Tally => {
    const [first] = tallies.keys();
    if (tallies.size >= NETWORKS_MAX && first !== undefined) tallies.delete(first);
    const tally = { sinceMs: monotonic(), tried: new Set<string>() };
    tallies.set(network, tally);
    return tally;
  };
  return {
    waitSeconds(address) {
      const tally = current(networkOf(address));
      if (!tally || tally.tried.size < guessesMax) return 0;
      return Math.ceil((tally.sinceMs + WINDOW_MS - monotonic()) / 1_000);
    },
    wrong(address, digest) {
      const network = networkOf(address);
      const tally = current(network) ?? begin(network);
      if (tally.tried.has(digest)) return false;
      tally.tried.add(digest);
      return tally.tried.size === guessesMax;
    },
  };
}
