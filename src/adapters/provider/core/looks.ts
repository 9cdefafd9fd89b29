import { ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine, Listing, Provider } from '../port.ts';
import type { Step } from './calls.ts';
import { faultOf, nameOfEntry, toProviderMachine } from './entries.ts';
import { createListings } from './listings.ts';

export interface LooksDeps {
  readonly name: ProviderName;
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a driver shows, as the fleet sees it. */
export interface Looks {
  /** @throws {ProviderError} `permanent`: it cannot be. */
  seen(machine: DriverMachine): ProviderMachine;
  get(id: string, step: Step): Promise<ProviderMachine>;
  list(step: Step): Promise<Listing>;
  /**
   * A machine that may be acted on: its name alone gives no right to anything.
   * @throws {ProviderError} `auth`: it is not ours.
   */
  requireOurs(id: string, step: Step): Promise<ProviderMachine>;
}

export function createLooks(provider: Provider, deps: LooksDeps): Looks {
  const { name, instanceSetId, clock } = deps;
  const { listingOf } = createListings(deps);

  function seen(machine: DriverMachine): ProviderMachine {
    const fault = faultOf(machine);
    if (fault !== null) {
      const what = `${name} answered with machine ${nameOfEntry(machine)}`;
      throw new ProviderError('permanent', `${what}: ${fault}`);
    }
    return toProviderMachine(machine, { instanceSetId, observedAtMs: clock.now() });
  }

  const get = (id: string, step: Step): Promise<ProviderMachine> =>
    step('Get', async (options) => {
      const machine = seen(await provider.getMachine(id, options));
      if (machine.id === id) return machine;
      throw new ProviderError('permanent', `${name} answered with ${machine.id} instead of ${id}`);
    });

  return {
    seen,
    get,
    list: (step) =>
      step('List', async (options) => {
        const observedAtMs = clock.now();
        const filter = { [SET_ID_TAG]: instanceSetId };
        return listingOf(await provider.listMachines(filter, options), observedAtMs);
      }),
    async requireOurs(id, step) {
      const machine = await get(id, step);
      if (machine.ownership === 'ours') return machine;
      const whose = machine.ownership;
      throw new ProviderError('auth', `machine ${id} of ${name} is not ours (${whose})`);
    },
  };
}
