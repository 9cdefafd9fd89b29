import { createTurnGroups } from '../../kit/turn-groups.ts';
import type { DriverContext } from '../port.ts';
import { type Bmc, createBmc, type HttpLimits } from './client/bmc.ts';
import type { AuthMode, Credentials } from './client/session.ts';
import type { BmcEntry } from './entries.ts';

export interface RackOptions {
  readonly auth: AuthMode;
  readonly authPauseMs: number;
  /** By the name that entries call them. */
  readonly credentials: Readonly<Record<string, Credentials>>;
  /** Certificates that are trusted, PEM; null: those of the system. */
  readonly ca: string | null;
  readonly limits: HttpLimits;
  readonly gapMs: number;
  /** BMCs that are spoken to at once. */
  readonly parallelism: number;
}

/** The BMCs of an inventory, one object for each. */
export interface Rack {
  of(entry: BmcEntry): Bmc;
  all(): readonly Bmc[];
  /** Those that no entry names any more are logged out and forgotten. */
  keep(entries: Iterable<BmcEntry>): void;
  /** Logs out everywhere. */
  close(): Promise<void>;
}

const LOGOUT_MS = 5_000;
const CLOSE_MS = 7_000;

export function createRack(options: RackOptions, context: DriverContext): Rack {
  const { clock } = context;
  const { limits, gapMs, parallelism, credentials, ca, auth, authPauseMs } = options;
  const turns = createTurnGroups(
    {
      each: { maxConcurrency: 1, gapMs: 0, bulkLast: true },
      together: { maxConcurrency: parallelism, gapMs: 0, bulkLast: true },
    },
    { clock },
  );
  const deps = { ...context, turns };
  const bmcs = new Map<string, Bmc>();
  const leaving = new Set<Promise<void>>();

  const keyOf = (entry: BmcEntry) => `${entry.bmc} ${entry.certSha256 ?? ''} ${entry.credentials}`;

  function open(entry: BmcEntry): Bmc {
    const { bmc: url, certSha256: sha256 } = entry;
    const trust = { ...(sha256 !== null && { sha256 }), ...(ca !== null && { ca }) };
    const login = credentials[entry.credentials]!;
    return createBmc({ url, trust, limits, gapMs, auth, authPauseMs, credentials: login }, deps);
  }

  /** Ends its session, whatever comes of it. */
  function leave(bmc: Bmc, limitMs: number): Promise<void> {
    const late = new AbortController();
    const timer = clock.setTimeout(() => late.abort(new Error('no time left')), limitMs);
    const left = bmc.logout(late.signal).finally(() => {
      clock.clearTimeout(timer);
      leaving.delete(left);
    });
    leaving.add(left);
    return left;
  }

  return {
    of(entry) {
      const key = keyOf(entry);
      const bmc = bmcs.get(key) ?? open(entry);
      bmcs.set(key, bmc);
      return bmc;
    },
    all: () => [...bmcs.values()],
    keep(entries) {
      const kept = new Set([...entries].map(keyOf));
      for (const [key, bmc] of bmcs) {
        if (kept.has(key)) continue;
        bmcs.delete(key);
        void leave(bmc, LOGOUT_MS);
      }
    },
    async close() {
      const isFew = bmcs.size <= parallelism;
      for (const bmc of bmcs.values()) void leave(bmc, isFew ? LOGOUT_MS : CLOSE_MS);
      bmcs.clear();
      await Promise.allSettled(leaving);
      turns.stop();
    },
  };
}
