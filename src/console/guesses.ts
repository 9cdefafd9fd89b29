import type { Clock } from '../adapters/clock/port.ts';
import { networkOf } from '../lib/network.ts';

export const GUESSES_MAX = 10;
const WINDOW_MS = 60_000;
/** Beyond this many networks the one that guessed first is forgotten. */
const NETWORKS_MAX = 10_000;

/** Counts wrong tokens by where they come from, so that nobody tries many. */
export interface Guesses {
  /** How long nothing is looked at that comes from there, whole seconds; 0: it is looked at. */
  waitSeconds(address: string): number;
  /**
   * A page that goes on with a token of before guesses nothing: the same one counts once.
   * @param digest of what was shown. Answers whether it was the last one for now.
   */
  wrong(address: string, digest: string): boolean;
}

interface Tally {
  readonly sinceMs: number;
  readonly tried: Set<string>;
}

/** At most `guessesMax` of one address (of IPv6, of one /64) in a minute. */
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
