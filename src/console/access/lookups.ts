import type { Clock } from '../../adapters/clock/port.ts';
import { Unreachable } from '../../domain/errors.ts';

/** What was looked up is believed for so long: a revocation takes effect within it. */
const FRESH_MS = 2_000;
/** With the database away, nobody can revoke either: what was known is believed for so long. */
const STALE_MS = 15 * 60_000;
/** Beyond this many the one that was looked up first is forgotten. */
const KEPT_MAX = 10_000;

/** Answers kept for a moment, so that a page with many requests costs one look. */
export interface Lookups<T> {
  /** @throws what the look threw, where nothing is known from before. */
  get(key: string, look: () => Promise<T | null>): Promise<T | null>;
  forget(key: string): void;
}

interface Kept<T> {
  readonly atMs: number;
  readonly answer: Promise<T | null>;
  /** What was found last; null: nothing was. */
  readonly known: T | null;
  readonly knownAtMs: number;
}

/** Only what was found is kept: whoever tries wrong keys takes nobody's place. */
export function createLookups<T>({ monotonic }: Pick<Clock, 'monotonic'>): Lookups<T> {
  const kept = new Map<string, Kept<T>>();
  /** Looks that go on: what one of several may do only once is done once. */
  const looking = new Map<string, Promise<T | null>>();
  const fallBack = (before: Kept<T> | undefined, error: unknown): T => {
    const isAway = error instanceof Unreachable;
    if (isAway && before?.known && monotonic() - before.knownAtMs < STALE_MS) return before.known;
    throw error;
  };
  const look = async (key: string, ask: () => Promise<T | null>): Promise<T | null> => {
    const before = kept.get(key);
    try {
      const found = await ask();
      if (found === null) kept.delete(key);
      else keep(key, { known: found, knownAtMs: monotonic() });
      return found;
    } catch (error) {
      const known = fallBack(before, error);
      keep(key, { known, knownAtMs: before!.knownAtMs });
      return known;
    }
  };
  const keep = (key: string, { known, knownAtMs }: Pick<Kept<T>, 'known' | 'knownAtMs'>) => {
    const [first] = kept.keys();
    if (kept.size >= KEPT_MAX && first !== undefined && !kept.has(key)) kept.delete(first);
    kept.set(key, { atMs: monotonic(), answer: Promise.resolve(known), known, knownAtMs });
  };
  return {
    get: (key, ask) => {
      const found = kept.get(key);
      if (found && monotonic() - found.atMs < FRESH_MS) return found.answer;
      const shared = looking.get(key) ?? look(key, ask).finally(() => looking.delete(key));
      looking.set(key, shared);
      return shared;
    },
    forget: (key) => void kept.delete(key),
  };
}
