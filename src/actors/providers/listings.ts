import type { ListingRepository } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { FleetProvider, Listing } from '../../adapters/provider/port.ts';
import { ProviderError, explain, isProviderError } from '../../domain/errors.ts';
import type { ProviderName, SessionId } from '../../domain/ids.ts';
import { createJoined } from '../../domain/joined.ts';
import { plainText } from '../../lib/texts.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { HoldKeeper } from './holds.ts';

/** A listing and its start. */
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
  /** A listing that began less than this ago is used again. */
  readonly maxAgeMs: number;
}

/**
 * The only source of listings in a daemon, because listings are slow and expensive. Shares a
 * listing under way and reuses a recent one. Sends nothing while listings are throttled.
 */
export interface Listings {
  /**
   * The signal ends the caller's wait; the listing is aborted when no caller is left.
   * @throws {ProviderError}
   */
  list(provider: ProviderName, signal: AbortSignal): Promise<DatedListing>;
  /** The last listing if it is recent; makes no call. */
  recent(provider: ProviderName): DatedListing | null;
  /** The last listing of any age; null: none yet. */
  last(provider: ProviderName): DatedListing | null;
}

export function createListings(deps: ListingsDeps): Listings {
  const { providers, clock, holds, health, maxAgeMs } = deps;
  /** The shared listing of each provider that all callers join. */
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

/** A listing that a caller still awaits was not aborted: it took too long. */
const unlessWanted = (error: unknown): unknown =>
  isProviderError(error, 'aborted')
    ? new ProviderError('transient', 'a listing did not end in time', { cause: error })
    : error;

/** The provider with its listings from the common source. */
export const withListings = (
  provider: FleetProvider,
  listings: Pick<Listings, 'list'>,
): FleetProvider => ({
  ...provider,
  listMachines: ({ signal }) => listings.list(provider.name, signal),
});

/** A provider that this daemon cannot list now. */
export interface UnlistedHere {
  readonly provider: ProviderName;
  /** Epoch ms of the database clock. */
  readonly sinceMs: number;
  readonly cause: string;
}

interface ListingHealthDeps {
  readonly repository: Pick<ListingRepository, 'failed' | 'succeeded'>;
  readonly keeper: Pick<SessionKeeper, 'current'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly log: Log;
  /** Called when a provider's listings start or stop working, or the cause changes. */
  readonly onChange: () => void;
}

/** Records changes in the success of listings in the BMDB, for processes that call no provider. */
export interface ListingHealth {
  succeeded(provider: ProviderName): Promise<void>;
  /** Never throws; ignores aborted listings. */
  failed(provider: ProviderName, error: unknown): Promise<void>;
  /** In the order of failure. */
  unlisted(): readonly UnlistedHere[];
}

/** A cause fits on two lines of a screen; some providers answer with whole pages. */
const CAUSE_MAX = 300;

export function createListingHealth(deps: ListingHealthDeps): ListingHealth {
  const { repository, keeper, nowMs, log, onChange } = deps;
  const failing = new Map<ProviderName, UnlistedHere>();
  /** Our last write to the BMDB, and its session; no cause: listings work. */
  const written = new Map<
    ProviderName,
    { readonly by: SessionId; readonly cause: string | null }
  >();

  /** A failed write is repeated after the next listing. */
  const write = async (provider: ProviderName, cause: string | null): Promise<void> => {
    const by = keeper.current()?.sessionId;
    const before = written.get(provider);
    if (by === undefined || (before?.by === by && before.cause === cause)) return;
    try {
      if (cause === null) await repository.succeeded(provider, by);
      else await repository.failed({ provider, sessionId: by, cause });
      written.set(provider, { by, cause });
    } catch (error) {
      const fields = { provider, cause: explain(error) };
      log.warn(fields, 'the result of a listing could not be recorded');
    }
  };

  return {
    unlisted: () => [...failing.values()],
    async succeeded(provider) {
      if (failing.delete(provider)) {
        log.info({ provider }, 'the provider can be listed again');
        onChange();
      }
      await write(provider, null);
    },
    async failed(provider, error) {
      if (isProviderError(error, 'aborted')) return;
      const cause = plainText(explain(error), CAUSE_MAX);
      const before = failing.get(provider);
      if (before?.cause !== cause) {
        failing.set(provider, { provider, cause, sinceMs: before?.sinceMs ?? nowMs() });
        onChange();
      }
      await write(provider, cause);
    },
  };
}
