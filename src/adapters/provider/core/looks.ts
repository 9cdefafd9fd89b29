import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine, FleetCall, Listing, Provider } from '../port.ts';
import type { Absence, Gone } from './absence.ts';
import type { Calls, Running } from './calls.ts';
import { faultOf, nameOfEntry, toProviderMachine } from './entries.ts';
import { createListings } from './listings.ts';

export interface LooksDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly absence: Absence;
  readonly calls: Pick<Calls, 'ask' | 'begin'>;
}

/** What a driver shows, as the fleet sees it. */
export interface Looks {
  /** @throws {ProviderError} `permanent`: it cannot be. */
  seen(machine: DriverMachine): ProviderMachine;
  /**
   * @param mustBeOurs it is going to be acted on.
   * @throws {ProviderError} `not-found`: the driver says so, and a complete listing agrees. See
   *   `requireOurs`.
   */
  get(id: string, within: FleetCall | Running, mustBeOurs?: boolean): Promise<ProviderMachine>;
  list(within: FleetCall | Running): Promise<Listing>;
  /**
   * The one check of whose a machine is, before it is acted on: its name alone gives no right to
   * anything.
   * @param machine as the driver read it just now.
   * @throws {ProviderError} `conflict`: it is not ours. `permanent`: it is another one, or cannot be.
   */
  requireOurs(id: string, machine: DriverMachine): void;
  /**
   * Returns when a `not-found` of the driver is to be believed.
   * @throws {ProviderError} `transient`: it is not. Any other error, as it is.
   */
  believeGone(error: unknown, gone: Gone, signal: AbortSignal): Promise<void>;
}

export function createLooks(provider: Provider, deps: LooksDeps): Looks {
  const { name, instanceSetId, clock, absence, calls } = deps;
  const { listingOf } = createListings(deps);

  function seen(machine: DriverMachine): ProviderMachine {
    const fault = faultOf(machine);
    if (fault !== null) {
      const what = `${name} answered with machine ${nameOfEntry(machine)}`;
      throw new ProviderError('permanent', `${what}: ${fault}`);
    }
    return toProviderMachine(machine, { instanceSetId, observedAtMs: clock.now() });
  }

  function seenAs(id: string, found: DriverMachine): ProviderMachine {
    const machine = seen(found);
    if (machine.id === id) return machine;
    throw new ProviderError('permanent', `${name} answered with ${machine.id} instead of ${id}`);
  }

  async function believeGone(error: unknown, gone: Gone, signal: AbortSignal): Promise<void> {
    if (!isProviderError(error, 'not-found')) throw error;
    await absence.confirm(gone, error, signal);
  }

  return {
    seen,
    believeGone,
    async get(id, within, mustBeOurs = false) {
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
    list: (within) =>
      calls.ask('List', within, async (options) => {
        const observedAtMs = clock.now();
        const ended = absence.watch();
        const filter = { [SET_ID_TAG]: instanceSetId };
        const listing = listingOf(await provider.listMachines(filter, options), observedAtMs);
        ended(listing);
        return listing;
      }),
    requireOurs(id, found) {
      const { ownership } = seenAs(id, found);
      if (ownership === 'ours') return;
      throw new ProviderError('conflict', `machine ${id} of ${name} is not ours (${ownership})`);
    },
  };
}
