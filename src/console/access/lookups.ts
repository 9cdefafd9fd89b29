import type { Clock } from '../../adapters/clock/port.ts';
import { Unreachable } from '../../domain/errors.ts';

/** How long a look-up stays valid: a revocation takes effect within this time. */
const FRESH_MS = 2_000;
/** How long old look-ups stay valid while the database is away, when nobody can revoke either. */
const STALE_MS = 15 * 60_000;
/** Above this number the oldest look-up is forgotten. */
const KEPT_MAX = 10_000;

/** Keeps look-ups for a moment, so that a page with many requests costs one look-up. */
export interface Lookups<T> {
  /** @throws the look-up's error, if there is no earlier result. */
  get(key: string, look: () => Promise<T | null>): Promise<T | null>;
  forget(key: string): void;
}

interface Kept<T> {
  readonly atMs: number;
  readonly answer: Promise<T | null>;
  /** Last result; null: nothing was found. */
  readonly known: T | null;
  readonly knownAtMs: number;
}

/** Keeps only keys that were found, so that wrong keys displace nothing. */
export function createLookups<T>({ monotonic }: Pick<Clock, 'monotonic'>): Lookups<T> {
  const kept = new Map<string, Kept<T>>();
  /** Look-ups in progress, shared, because some may run only once. */
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
