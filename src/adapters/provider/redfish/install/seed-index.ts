import { ProviderError } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import type { DriverContext } from '../../port.ts';
import type { BmcEntry } from '../entries.ts';
import type { Claimed, Claims } from './claims.ts';

export interface SeedIndexDeps {
  readonly claims: Pick<Claims, 'known' | 'read'>;
  readonly entries: (signal: AbortSignal) => Promise<readonly BmcEntry[]>;
  readonly lifetime: AbortSignal;
}

/**
 * Finds the entries of installations by what installers know. Anybody may ask, so what is not known
 * from the last reading of the records is looked for in the next one, which all who ask share.
 */
export interface SeedIndex {
  /** @throws {ProviderError} `transient`: so many ask for what there is not that no more may wait. */
  byToken(tokenSha256: string): Promise<string | null>;
  /** @param isWanted whether what is known of this entry answers the question. */
  byMac(mac: string, isWanted: (entryId: string) => boolean): Promise<string | null>;
}

/** Readings take at most this part of the time, however many ask, and there is time between them. */
const TIME_SHARE = 0.1;
const GAP_MS = 1_000;
const WAITING_MAX = 256;

export function createSeedIndex(
  { claims, entries, lifetime }: SeedIndexDeps,
  { clock }: Pick<DriverContext, 'clock'>,
): SeedIndex {
  let macs: ReadonlyMap<string, string> = new Map();
  let tokens: { readonly of: Claimed; readonly ids: ReadonlyMap<string, string> } | null = null;
  /** Has not begun yet. */
  let next: Promise<void> | null = null;
  let last: Promise<void> = Promise.resolve();
  let restUntilMs = -Infinity;
  let waiting = 0;

  function idOf(tokenSha256: string): string | undefined {
    const known = claims.known();
    if (tokens?.of !== known) {
      const ids = [...known.claims.values()].map(
        ({ install, entryId }) => [install.tokenSha256, entryId] as const,
      );
      tokens = { of: known, ids: new Map(ids) };
    }
    return tokens.ids.get(tokenSha256);
  }

  async function read(): Promise<void> {
    await last.catch(() => undefined);
    await sleep(clock, Math.max(0, restUntilMs - clock.monotonic()), lifetime);
    next = null;
    const beganMs = clock.monotonic();
    try {
      const all = await entries(lifetime);
      macs = new Map(all.flatMap(({ mac, id }) => (mac === null ? [] : [[mac, id]])));
      await claims.read(lifetime);
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      restUntilMs = clock.monotonic() + Math.max(GAP_MS, tookMs / TIME_SHARE - tookMs);
    }
  }

  async function find(known: () => string | undefined): Promise<string | null> {
    const found = known();
    if (found !== undefined) return found;
    if (waiting >= WAITING_MAX) {
      throw new ProviderError('transient', 'too many ask for seeds that there are not');
    }
    waiting += 1;
    try {
      next ??= last = read();
      await next;
    } finally {
      waiting -= 1;
    }
    return known() ?? null;
  }

  return {
    byToken: (tokenSha256) => find(() => idOf(tokenSha256)),
    byMac: (mac, isWanted) =>
      find(() => {
        const id = macs.get(mac);
        return id !== undefined && isWanted(id) ? id : undefined;
      }),
  };
}
