import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine, FleetCall, Listing, Provider } from '../port.ts';
import type { Absence } from './absence.ts';
import type { Step } from './calls.ts';
import { faultOf, nameOfEntry, toProviderMachine } from './entries.ts';
import { createListings } from './listings.ts';

export interface LooksDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly absence: Absence;
}

/** What a driver shows, as the fleet sees it. */
export interface Looks {
  /** @throws {ProviderError} `permanent`: it cannot be. */
  seen(machine: DriverMachine): ProviderMachine;
  /** @throws {ProviderError} `not-found`: the driver says so, and a complete listing agrees. */
  get(id: string, step: Step, known?: Known): Promise<ProviderMachine>;
  list(step: Step): Promise<Listing>;
  /**
   * A machine that may be acted on: its name alone gives no right to anything.
   * @throws {ProviderError} `auth`: it is not ours.
   */
  requireOurs(id: string, step: Step, known?: Known): Promise<ProviderMachine>;
}
/** What the caller knows of the machine that it asks for. */
type Known = Pick<FleetCall, 'reservationId'>;

export function createLooks(provider: Provider, deps: LooksDeps): Looks {
  const { name, instanceSetId, clock, absence } = deps;
  const { listingOf } = createListings(deps);

  function seen(machine: DriverMachine): ProviderMachine {
    const fault = faultOf(machine);
    if (fault !== null) {
      const what = `${name} answered with machine ${nameOfEntry(machine)}`;
      throw new ProviderError('permanent', `${what}: ${fault}`);
    }
    return toProviderMachine(machine, { instanceSetId, observedAtMs: clock.now() });
  }

  async function get(id: string, step: Step, known: Known = {}): Promise<ProviderMachine> {
    let signal: AbortSignal;
    try {
      return await step('Get', async (options) => {
        ({ signal } = options);
        const machine = seen(await provider.getMachine(id, options));
        if (machine.id === id) return machine;
        const what = `${name} answered with ${machine.id} instead of ${id}`;
        throw new ProviderError('permanent', what);
      });
    } catch (error) {
      if (!isProviderError(error, 'not-found')) throw error;
      const { reservationId } = known;
      await absence.confirm({ id, reservationId }, error, signal!);
      throw error;
    }
  }

  return {
    seen,
    get,
    list: (step) =>
      step('List', async (options) => {
        const observedAtMs = clock.now();
        const ended = absence.watch();
        const filter = { [SET_ID_TAG]: instanceSetId };
        const listing = listingOf(await provider.listMachines(filter, options), observedAtMs);
        ended(listing);
        return listing;
      }),
    async requireOurs(id, step, known) {
      const machine = await get(id, step, known);
      if (machine.ownership === 'ours') return machine;
      const whose = machine.ownership;
      throw new ProviderError('auth', `machine ${id} of ${name} is not ours (${whose})`);
    },
  };
}
