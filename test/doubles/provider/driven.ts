import type {
  CallOptions,
  Capabilities,
  DriverMachine,
  Provider,
} from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import type { Calls } from './calls.ts';
import type { FaultScript, Occasion, ProviderOperation } from './faults.ts';
import type { createListings } from './listings.ts';
import type { createOrders } from './orders.ts';

/** Capabilities that a test may remove. */
const CAPABILITIES = [
  'create',
  'deprovision',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'hostKey',
  'consistentList',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

export interface DrivenParts {
  readonly orders: ReturnType<typeof createOrders>;
  readonly listings: ReturnType<typeof createListings>;
  readonly calls: Calls;
  readonly faults: FaultScript;
  /** Missing capabilities, which the provider declares and refuses. */
  readonly without: readonly Capability[];
  readonly devicePrefix: string;
  /** Base64 of the host key of the machine at an address. */
  readonly hostKeyAt: ((address: string) => string | undefined) | undefined;
}

/** A driver's provider over the hardware. Closing it leaves the hardware unchanged. */
export function createDriven({ orders, listings, calls, ...parts }: DrivenParts): Provider {
  const { without, devicePrefix } = parts;
  const can = Object.fromEntries(CAPABILITIES.map((name) => [name, !without.includes(name)]));
  const capabilities: Capabilities = {
    ...(can as Record<Capability, boolean>),
    throwAway: true,
    maxConcurrency: 64,
  };
  const stopping = new AbortController();

  async function call<T>(
    operation: ProviderOperation,
    device: string | null,
    given: CallOptions,
    effect: (occasion: Occasion, signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    if (stopping.signal.aborted) {
      throw new ProviderError('stopped', `${operation}: the provider was stopped`);
    }
    const signal = AbortSignal.any([given.signal, stopping.signal]);
    return calls.run(operation, device, { signal }, (occasion) => effect(occasion, signal));
  }

  /** Refuses calls that need a missing capability. */
  async function able<T>(need: Capability, task: () => Promise<T>): Promise<T> {
    if (capabilities[need]) return task();
    throw new ProviderError('not-implemented', `this provider was made without ${need}`);
  }

  return {
    capabilities,
    listMachines: (_filter, o) => call('list', null, o, listings.list),
    getMachine: (id, o) =>
      call('get', id, o, (at) => {
        if (!parts.faults.strike(at, 'get-not-found')) return listings.show(orders.get(id));
        throw new ProviderError('not-found', `no device ${id}, says a proxy`);
      }),
    createMachine: (request, o) =>
      able('create', () =>
        call('create', null, o, async (occasion, signal) =>
          listings.show(await orders.create(request, o.operationId, { occasion, signal })),
        ),
      ),
    findByWitness: (witness, _slotId, o) =>
      call('find', null, o, () => {
        const found = orders.find(witness);
        return found && listings.show(found);
      }),
    deprovisionMachine: (id, o) =>
      able('deprovision', () => call('destroy', id, o, (at) => orders.destroy(id, at))),
    rebootMachine: (id, mode, o) =>
      able('reboot', () => call('reboot', id, o, (at) => orders.reboot(id, mode, at))),
    reinstallMachine: (id, request, o) =>
      able('reinstall', () => call('reinstall', id, o, (at) => orders.reinstall(id, request, at))),
    setPower: (id, want, o) =>
      able('power', () => call('power', id, o, (at) => orders.power(id, want, at))),
    setTags: (id, tags, o) =>
      able('tags', () => call('tags', id, o, (at) => orders.setTags(id, tags, at))),
    verifyHostKey: ({ id }, key, o) =>
      able('hostKey', () =>
        call('verify', id, o, () => {
          const known = parts.hostKeyAt?.(orders.get(id ?? '').addresses[0] ?? '');
          if (known !== undefined && Buffer.from(known, 'base64').equals(key)) return;
          throw new ProviderError('conflict', `that is not the host key of device ${id}`);
        }),
      ),
    capacityGroup: ({ location, name, spot }) =>
      [location ?? '', name, ...(spot ? ['spot'] : [])].join(' '),
    isReusable: (slotId, o) => call('reusable', null, o, () => orders.isReusable(slotId)),
    hostnameFor: (slotId) => devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    async stop() {
      stopping.abort();
    },
  };
}

/** The hostname's prefix is followed by this many characters of the slot's id. */
const HOSTNAME_ID_LENGTH = 18;

/** The same provider, whose machines have BMCs that may hang. */
export function withControllers(
  provider: Provider,
  { hung, powerUnknown }: { readonly hung: Set<string>; readonly powerUnknown: Set<string> },
): Provider {
  const shown = (machine: DriverMachine): DriverMachine => {
    const { id } = machine;
    if (!id) return machine;
    const controller = { id: `controller of ${id}`, hangs: hung.has(id) };
    return { ...machine, controller, ...(powerUnknown.has(id) && { power: 'unknown' }) };
  };
  /** Refuses calls through the BMC while it hangs. */
  const through =
    <Args extends unknown[], Result>(call: (id: string, ...args: Args) => Promise<Result>) =>
    async (id: string, ...args: Args): Promise<Result> => {
      if (!hung.has(id)) return call(id, ...args);
      throw new ProviderError('transient', `the controller of ${id} does not answer`);
    };
  return {
    ...provider,
    capabilities: { ...provider.capabilities, resetController: true },
    async listMachines(filter, options) {
      const listing = await provider.listMachines(filter, options);
      return { ...listing, machines: listing.machines.map(shown) };
    },
    getMachine: async (id, options) => shown(await provider.getMachine(id, options)),
    rebootMachine: through(provider.rebootMachine),
    setPower: through(provider.setPower!),
    async resetController(id, { beforeSending, requireOurs, ...options }) {
      requireOurs(shown(await provider.getMachine(id, { requireOurs, ...options })));
      if (!hung.has(id)) throw new ProviderError('conflict', `the controller of ${id} answers`);
      await beforeSending?.();
      hung.delete(id);
      return { operationRef: `resetController/${id}` };
    },
  };
}
