import { explain, ProviderError, isProviderError } from '../../domain/errors.ts';
import type { ProviderName, Witness } from '../../domain/ids.ts';
import { unlessAborted } from '../../domain/joined.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type {
  Listing,
  DriverMachine,
  FleetCall,
  Provider,
  FleetCreateRequest,
} from '../provider/port.ts';
import type { Calls, Running } from './calls.ts';
import { faultOf, nameOfEntry, toProviderMachine, createListings } from './entries.ts';

/** A machine that is reported as not existing. */
export interface Gone {
  readonly id: string;
  /** Its reservation when last seen; absent or null: none, or unknown. */
  readonly reservationId?: string | null | undefined;
}

/** A listing that ended less than this long ago can prove absence. */
const FRESH_MS = 60_000;
/** A listing that contradicts the absence is repeated after this time. */
const AGAIN_MS = 10_000;

/**
 * A driver's `not-found` alone proves nothing: proxies give the same answer for their own reasons.
 * A machine is gone only if a complete listing does not show it either.
 */
export function createAbsence(deps: {
  readonly clock: Clock;
  /** A listing that continues after its caller has left. */
  list(): Promise<Listing>;
}) {
  const { clock } = deps;
  let creations = 0;
  let latest: { readonly listing: Listing; readonly seenMs: number } | null = null;

  const ageMs = () => (latest === null ? Infinity : clock.monotonic() - latest.seenMs);
  const unproved = (id: string, why: string, cause: unknown) =>
    new ProviderError(
      'transient',
      `machine ${id} was reported as not existing, but ${why}; a proxy may have answered for the provider`,
      { cause },
    );

  return {
    /**
     * Marks the start of a listing; call the result with the listing. It can then prove absence for
     * a while, unless a machine was created meanwhile.
     */
    watch(): (listing: Listing) => void {
      const before = creations;
      return (listing) => {
        if (creations === before) latest = { listing, seenMs: clock.monotonic() };
      };
    },
    /** A machine was created that earlier listings cannot show. */
    forget(): void {
      creations += 1;
      latest = null;
    },
    /**
     * Resolves if a listing confirms the absence: a complete one, or one that shows the machine's
     * former reservation as free. A listing that outlives its caller continues for the next caller.
     * @throws {ProviderError} `transient`: it does not confirm.
     */
    async confirm(gone: Gone, said: unknown, signal: AbortSignal): Promise<void> {
      const { id } = gone;
      const isFresh = latest !== null && ageMs() < FRESH_MS;
      const known = isFresh ? doubtOf(latest!.listing, gone) : UNKNOWN;
      if (known === null) return;
      if (ageMs() < AGAIN_MS) throw unproved(id, known, said);
      const doubt = await unlessAborted(deps.list(), signal).then(
        (listing) => doubtOf(listing, gone),
        (error: unknown) => {
          const why = signal.aborted ? 'no listing arrived in time' : explain(error);
          throw unproved(id, `no listing confirms it (${why})`, error);
        },
      );
      if (doubt !== null) throw unproved(id, doubt, said);
    },
  };
}
export type Absence = ReturnType<typeof createAbsence>;

const UNKNOWN = 'there was no listing';

/** Why a listing does not prove the absence; null if it does. */
function doubtOf(
  { machines, complete, unreadable = [] }: Listing,
  { id, reservationId = null }: Gone,
): string | null {
  const shown = machines.find((machine) => machine.id === id);
  // The provider itself reports that the machine is leaving.
  if (shown) return shown.status === 'Missing' ? null : 'the listing shows it';
  if (unreadable.some((entry) => entry.id === id))
    return 'the listing has an unreadable entry for it';
  const isLeft = machines.some(
    (each) => each.availability === 'KnownUnused' && each.reservationId === reservationId,
  );
  return complete || (isLeft && reservationId !== null) ? null : 'the listing is incomplete';
}

export interface LooksDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly absence: Absence;
  readonly calls: Pick<Calls, 'ask' | 'begin'>;
}

/** A driver's machines in the fleet's form. */
export function createLooks(provider: Provider, deps: LooksDeps) {
  const { name, instanceSetId, clock, absence, calls } = deps;
  const { listingOf } = createListings(deps);

  function seen(machine: DriverMachine): ProviderMachine {
    const fault = faultOf(machine);
    if (fault !== null) {
      const what = `${name} returned machine ${nameOfEntry(machine)}`;
      throw new ProviderError('permanent', `${what}: ${fault}`);
    }
    return toProviderMachine(machine, { instanceSetId, observedAtMs: clock.now() });
  }

  function seenAs(id: string, found: DriverMachine): ProviderMachine {
    const machine = seen(found);
    if (machine.id === id) return machine;
    throw new ProviderError('permanent', `${name} returned ${machine.id} instead of ${id}`);
  }

  async function believeGone(error: unknown, gone: Gone, signal: AbortSignal): Promise<void> {
    if (!isProviderError(error, 'not-found')) throw error;
    await absence.confirm(gone, error, signal);
  }

  return {
    /** @throws {ProviderError} `permanent`: the entry is impossible. */
    seen,
    /**
     * Returns if a driver's `not-found` is confirmed.
     * @throws {ProviderError} `transient`: it is not. Any other error unchanged.
     */
    believeGone,
    /**
     * @param mustBeOurs the machine will be changed.
     * @throws {ProviderError} `not-found`: the driver says so, and a complete listing confirms it.
     *   See `requireOurs`.
     */
    async get(
      id: string,
      within: FleetCall | Running,
      mustBeOurs: boolean = false,
    ): Promise<ProviderMachine> {
      const running = calls.begin('Get', within);
      const { signal, requireOurs } = running.options;
      try {
        const machine = await calls.ask('Get', running, async (options) =>
          seenAs(id, await provider.getMachine(id, options)),
        );
        if (mustBeOurs) requireOurs(machine);
        return machine;
      } catch (error) {
        await believeGone(error, { id, reservationId: running.reservationId }, signal);
        throw error;
      } finally {
        running.end();
      }
    },
    list: (within: FleetCall | Running): Promise<Listing> =>
      calls.ask('List', within, async (options) => {
        const observedAtMs = clock.now();
        const ended = absence.watch();
        const filter = { [SET_ID_TAG]: instanceSetId };
        const listing = listingOf(await provider.listMachines(filter, options), observedAtMs);
        ended(listing);
        return listing;
      }),
    /**
     * The only check of a machine's owner before a change: the name alone gives no right.
     * @param machine as just read by the driver.
     * @throws {ProviderError} `conflict`: it is not ours. `permanent`: it is another machine, or
     *   impossible.
     */
    requireOurs(id: string, found: DriverMachine): void {
      const { ownership } = seenAs(id, found);
      if (ownership === 'ours') return;
      throw new ProviderError('conflict', `machine ${id} of ${name} is not ours (${ownership})`);
    },
  };
}
export type Looks = ReturnType<typeof createLooks>;

/** Queries that a driver may answer itself; otherwise a listing answers them. */
export function createSearches(
  provider: Provider,
  { seen, list }: Pick<Looks, 'seen' | 'list'>,
  ask: Calls['ask'],
) {
  return {
    /**
     * The machine of a creation.
     * @throws {ProviderError} `race-lost`: it carries another owner's mark. `transient`: the
     *   listing is incomplete or has unreadable entries.
     */
    async find(
      witness: Witness,
      slotId: string,
      within: FleetCall | Running,
    ): Promise<ProviderMachine | null> {
      const { findByWitness } = provider;
      if (findByWitness) {
        return ask('Find', within, async (options) => {
          const found = await findByWitness.call(provider, witness, slotId, options);
          return found === null ? null : seen(found);
        });
      }
      const { machines, complete, unreadable = [] } = await list(within);
      const found = machines.find(({ tags }) => tags[WITNESS_TAG] === witness) ?? null;
      if (found?.ownership === 'foreign') {
        throw new ProviderError('race-lost', `machine ${found.id} carries another owner's tag`);
      }
      // An unreadable entry may be the machine.
      if (found || (complete && unreadable.length === 0)) return found;
      throw new ProviderError('transient', 'an incomplete listing proves nothing');
    },

    async isReusable(slotId: string, within: FleetCall | Running): Promise<boolean> {
      const { isReusable } = provider;
      if (isReusable) {
        return ask('Reusable', within, async (options) =>
          isReusable.call(provider, slotId, options),
        );
      }
      const { machines } = await list(within);
      return machines.some(
        ({ availability, reservationId, id }) =>
          availability !== 'KnownUsed' && (reservationId ?? id) === slotId,
      );
    },
  };
}

/**
 * A provider that creates no machines: its machines already exist. A creation takes in a machine
 * unchanged, and a give-back releases it; the driver is not called.
 */
export function createInventory() {
  const shown = new Map<string, ProviderMachine>();

  const marked = (machine: ProviderMachine, witness: Witness): ProviderMachine => ({
    ...machine,
    tags: { ...machine.tags, [WITNESS_TAG]: witness },
  });

  return {
    /** Remembers shown machines: one that left the list may still have to be reached. */
    note<Machine extends ProviderMachine>(machine: Machine): Machine {
      if (machine.id !== null) shown.set(machine.id, machine);
      return machine;
    },
    lastSeen: (id: string): ProviderMachine | null => shown.get(id) ?? null,

    /** @throws {ProviderError} `race-lost`: the inventory no longer has it. */
    async takeIn(
      { unused, witness, onAttempt }: FleetCreateRequest,
      get: (id: string) => Promise<ProviderMachine>,
    ): Promise<ProviderMachine> {
      if (unused?.availability !== 'PossiblyUsed' || unused.id === null) {
        throw new ProviderError('invalid', 'only a machine of the inventory can be taken in');
      }
      const machine = await found(unused.id, get);
      if (machine?.ownership !== 'ours') {
        throw new ProviderError('race-lost', `the inventory no longer has machine ${unused.id}`);
      }
      await onAttempt?.({ attempts: 1, ambiguous: false });
      return marked(machine, witness);
    },

    /** The machine of a slot, if it exists. */
    async find(
      witness: Witness,
      slotId: string,
      get: (id: string) => Promise<ProviderMachine>,
    ): Promise<ProviderMachine | null> {
      const machine = await found(slotId, get);
      return machine && marked(machine, witness);
    },
  };
}

async function found(id: string, get: (id: string) => Promise<ProviderMachine>) {
  try {
    return await get(id);
  } catch (error) {
    if (isProviderError(error, 'not-found')) return null;
    throw error;
  }
}
