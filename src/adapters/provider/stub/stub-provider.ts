import { ProviderError } from '../../../domain/errors.ts';
import type { CallOptions, Capabilities, Provider } from '../port.ts';
import type { StubAccount } from './account.ts';
import { createActions } from './actions.ts';
import { createCreations } from './creation.ts';
import type { StubDevice } from './device.ts';
import type { StubOperation } from './fault-kinds.ts';
import type { Occasion } from './faults.ts';
import type { RefusalDeps } from './refusals.ts';

/** What can be taken away from a stub. */
export const STUB_CAPABILITIES = [
  'create',
  'deprovision',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'hostKey',
  'consistentList',
] as const;
export type StubCapability = (typeof STUB_CAPABILITIES)[number];

export interface StubProviderOptions {
  readonly instanceSetId: string;
  /** What it says that it cannot, and refuses. */
  readonly without: readonly StubCapability[];
  readonly maxConcurrency: number;
}

/** One that is open on the account. Its end leaves the account as it is. */
export function createStubProvider(account: StubAccount, options: StubProviderOptions): Provider {
  const { world, faults, calls, listings, views, isManaged, machines } = account;
  const { devicePrefix, inventory } = account.options;
  const { instanceSetId } = options;
  const stopping = new AbortController();
  const actions = createActions({ world, faults, isManaged });
  const { checkCreateGap: checkGap } = account;
  const creations = createCreations({ world, faults, instanceSetId, checkGap });
  const show = (device: StubDevice) => views.device(device);

  async function call<T>(
    operation: StubOperation,
    subject: { device?: string | null; reservation?: string | null },
    given: CallOptions,
    effect: (occasion: Occasion, refusal: RefusalDeps, signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    if (stopping.signal.aborted) {
      throw new ProviderError('stopped', `${operation}: the provider was stopped`);
    }
    const signal = AbortSignal.any([given.signal, stopping.signal]);
    return calls.run(operation, subject, { ...given, signal }, (occasion, refusal) =>
      effect(occasion, refusal, signal),
    );
  }

  /** Refuses what the stub was told it cannot. */
  async function able<T>(need: StubCapability, task: () => Promise<T>): Promise<T> {
    if (capabilities[need]) return task();
    throw new ProviderError('not-implemented', `this stub was made without ${need}`);
  }

  const capabilities = capabilitiesOf(options, inventory !== null);
  return {
    capabilities,
    listMachines: (_filter, o) => call('list', {}, o, listings.list),
    getMachine: (id, o) =>
      call('get', { device: id }, o, (occasion) => {
        if (!faults.strike(occasion, 'get-not-found')) return show(actions.get(id));
        throw new ProviderError('not-found', `no device ${id}, says a proxy`);
      }),
    createMachine: (request, o) =>
      able('create', () => {
        const { reservationId, id } = request.unused;
        return call('create', { reservation: reservationId ?? id }, o, async (...context) => {
          const [occasion, refusal, signal] = context;
          const how = { occasion, refusal, signal };
          const device = await creations.create(request, o.operationId, how);
          return show(device);
        });
      }),
    findByWitness: (witness, slotId, o) =>
      call('find', { reservation: slotId }, o, () => {
        const found = creations.find(witness);
        return found && show(found);
      }),
    deprovisionMachine: (id, o) =>
      able('deprovision', () =>
        call('destroy', { device: id }, o, (at) => actions.destroy(id, at)),
      ),
    rebootMachine: (id, mode, o) =>
      able('reboot', () => call('reboot', { device: id }, o, (at) => actions.reboot(id, mode, at))),
    reinstallMachine: (id, request, o) =>
      able('reinstall', () =>
        call('reinstall', { device: id }, o, (at) => actions.reinstall(id, request, at)),
      ),
    setPower: (id, want, o) =>
      able('power', () => call('power', { device: id }, o, (at) => actions.power(id, want, at))),
    setTags: (id, tags, o) =>
      able('tags', () => call('tags', { device: id }, o, (at) => actions.setTags(id, tags, at))),
    verifyHostKey: (machine, key, o) =>
      able('hostKey', () =>
        call('verify', { device: machine.id }, o, () => {
          if (machines.hostKeyOf(machine.id ?? '')?.equals(key)) return;
          throw new ProviderError('conflict', `that is not the host key of device ${machine.id}`);
        }),
      ),
    capacityGroup: ({ location, name, spot }) =>
      [location ?? '', name, ...(spot ? ['spot'] : [])].join(' '),
    isReusable: (slotId, o) =>
      call('reusable', { reservation: slotId }, o, () => isReusable(slotId)),
    hostnameFor: (slotId) => devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    async sweep() {
      return { removed: [] };
    },
    async stop() {
      stopping.abort();
    },
  };

  /** Free again, or taken away for good. */
  function isReusable(slotId: string): boolean {
    if (world.onSlot(slotId)) return false;
    const slot = world.slot(slotId);
    return slot === undefined || !slot.broken;
  }
}

/** First characters of the slot's id that follow the prefix. */
const HOSTNAME_ID_LENGTH = 18;

/** An inventory is what it is: nothing is made of it, and nothing given back. */
const OF_STOCK: readonly StubCapability[] = ['create', 'deprovision'];

function capabilitiesOf(
  { without, maxConcurrency }: StubProviderOptions,
  stateless: boolean,
): Capabilities {
  const lacks = (name: StubCapability) =>
    without.includes(name) || (stateless && OF_STOCK.includes(name));
  const can = Object.fromEntries(STUB_CAPABILITIES.map((name) => [name, !lacks(name)]));
  return { ...(can as Record<StubCapability, boolean>), throwAway: !stateless, maxConcurrency };
}
