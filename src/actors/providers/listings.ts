import type { Clock } from '../../adapters/clock/port.ts';
import type { FleetProvider, Listing } from '../../adapters/provider/port.ts';
import { isProviderError, ProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { createJoined } from '../../domain/joined.ts';
import type { ListingHealth } from './listing-health.ts';
import type { HoldKeeper } from './holds.ts';

/** A listing, with when it was begun. */
export interface DatedListing extends Listing {
  /** Monotonic milliseconds. */
  readonly beganAtMs: number;
}

export interface ListingsDeps {
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly holds: Pick<HoldKeeper, 'check' | 'failed' | 'succeeded' | 'holds'>;
  readonly health: Pick<ListingHealth, 'succeeded' | 'failed'>;
  readonly nowMs: () => number;
  readonly clock: Clock;
  /** A listing that was begun less than this ago answers instead of another. */
  readonly maxAgeMs: number;
}

/**
 * One source of listings for the whole daemon, since they are slow and dear: a listing under way is
 * joined, and a recent one answers. While listings are throttled nothing is asked.
 */
export interface Listings {
  /**
   * Ends when the signal fires; the listing itself when nobody waits for it any more.
   * @throws {ProviderError}
   */
  list(provider: ProviderName, signal: AbortSignal): Promise<DatedListing>;
  /** The last one, if it is recent; no call is made. */
  recent(provider: ProviderName): DatedListing | null;
  /** The last one, however old it is; null: none yet. */
  last(provider: ProviderName): DatedListing | null;
}

export function createListings(deps: ListingsDeps): Listings {
  const { providers, clock, holds, health, maxAgeMs } = deps;
  /** For each provider, the listing that all who want one now share. */
  const joined = new Map<ProviderName, (signal: AbortSignal) => Promise<DatedListing>>();
  const last = new Map<ProviderName, DatedListing>();

  const recent = (name: ProviderName): DatedListing | null => {
    const listing = last.get(name);
    return listing && clock.monotonic() - listing.beganAtMs < maxAgeMs ? listing : null;
  };

  async function run(name: ProviderName, signal: AbortSignal): Promise<DatedListing> {
    try {
      const listing = await ask(name, signal);
      await health.succeeded(name);
      return listing;
    } catch (error) {
      if (!signal.aborted) await health.failed(name, error);
      throw error;
    }
  }

  async function ask(name: ProviderName, signal: AbortSignal): Promise<DatedListing> {
    const provider = providers.get(name);
    if (!provider) throw new ProviderError('invalid', `no provider "${name}" is configured`);
    holds.check(name, 'list');
    const beganAtMs = clock.monotonic();
    const begun = { holds: holds.holds(name), nowMs: deps.nowMs() };
    try {
      const listing = { ...(await provider.listMachines({ signal })), beganAtMs };
      last.set(name, listing);
      await holds.succeeded(name, 'list', begun);
      return listing;
    } catch (thrown) {
      const error = signal.aborted ? thrown : unlessWanted(thrown);
      await holds.failed(name, 'list', error);
      throw error;
    }
  }

  function joinedOf(name: ProviderName): (signal: AbortSignal) => Promise<DatedListing> {
    const found = joined.get(name) ?? createJoined((signal) => run(name, signal));
    joined.set(name, found);
    return found;
  }

  return {
    recent,
    last: (name) => last.get(name) ?? null,
    list: async (name, signal) => recent(name) ?? joinedOf(name)(signal),
  };
}

/** What somebody still waits for was not called off: it took too long. */
const unlessWanted = (error: unknown): unknown =>
  isProviderError(error, 'aborted')
    ? new ProviderError('transient', 'a listing did not end in time', { cause: error })
    : error;

/** The provider, its listings taken from the common source. */
export const withListings = (
  provider: FleetProvider,
  listings: Pick<Listings, 'list'>,
): FleetProvider => ({
  ...provider,
  listMachines: ({ signal }) => listings.list(provider.name, signal),
});
