import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { toProviderMachine } from '../../src/adapters/provider/core/entries.ts';
import { createFleetProvider } from '../../src/adapters/provider/core/fleet-provider.ts';
import type {
  Driver,
  DriverMachine,
  FleetProvider,
  Provider,
} from '../../src/adapters/provider/port.ts';
import { createStubAccount, type StubAccount } from '../../src/adapters/provider/stub/account.ts';
import { noMachines, type StubDevice } from '../../src/adapters/provider/stub/device.ts';
import type { FaultKind, StubOperation } from '../../src/adapters/provider/stub/fault-kinds.ts';
import type { FaultRule } from '../../src/adapters/provider/stub/faults.ts';
import { stubSettings } from '../../src/adapters/provider/stub/settings.ts';
import {
  createStubProvider,
  type StubCapability,
} from '../../src/adapters/provider/stub/stub-provider.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';
import type { ProviderMachine, ProviderStatus } from '../../src/domain/machine.ts';

export interface MemProviderConfig {
  readonly devicePrefix: string;
  readonly instanceSetId: string;
  /** Free capacity at start. */
  readonly reservations: number;
  /** From a creation to status Running and an address. */
  readonly provisioningMs: number;
  /** Each call takes this long; 0 = answers at once. */
  readonly latencyMs: number;
  /** From giving back to being gone; at once when absent. */
  readonly deprovisioningMs?: number;
  /** Reservations by location; all in one when absent. */
  readonly locations?: Readonly<Record<string, number>>;
  /** What the driver cannot; nothing but verifying host keys when absent. */
  readonly without?: readonly StubCapability[];
  /** Each machine is switched by a controller, a computer of its own; none when absent. */
  readonly controllers?: boolean;
  /** Of the faults' chances. */
  readonly seed?: number;
}

export interface MemProviderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The machine is told to reboot; called when the request is accepted. */
  readonly onReboot?: (device: ProviderMachine) => void;
  /** It was switched off, or is being installed anew. */
  readonly onDown?: (device: ProviderMachine) => void;
  /** It was switched on again; with the script of its new first boot if it was installed anew. */
  readonly onUpAgain?: (device: ProviderMachine, initCommand: string | null) => void;
  /** The machine came up for the first time, with this first-boot script. Answers its address. */
  readonly onUp?: (device: ProviderMachine, initCommand: string) => string;
}

/**
 * What goes wrong with the next call of an operation. `failBefore`: an error, nothing done.
 * `failAfter`: done, then an error. `loseReply`: done, outcome unknown. `hang`: nothing until the
 * signal. `incomplete`: a listing without one of its three pages.
 */
interface MemFault {
  readonly operation: StubOperation;
  readonly effect: keyof typeof EFFECTS;
  /** How many calls it spoils; 1 if absent. */
  readonly times?: number;
  /** For `failBefore` and `failAfter`; kind `transient` if absent. */
  readonly error?: Error;
}

const EFFECTS = {
  failBefore: 'call-fails',
  failAfter: 'fails-after',
  loseReply: 'reply-lost',
  hang: 'hangs',
  incomplete: 'partial-page',
} as const satisfies Readonly<Record<string, FaultKind>>;

/** A stub as the fleet has it, with the controls of its world; obeys the given clock. */
export interface MemProvider extends FleetProvider {
  readonly account: StubAccount;
  /** By which daemons open providers of their own over the same devices, with cores of their own. */
  readonly driver: Driver;
  /** The same, as a process has it that was started later. */
  reopened(): FleetProvider;
  /** A call that goes wrong, or any fault of the stub. */
  inject(fault: MemFault | FaultRule): void;
  /** A stranger's device takes the reservation. Answers its id. */
  snatch(reservationId: string): string;
  /** The device is gone; its reservation is free again, or gone too. */
  remove(id: string, options?: { readonly withReservation: boolean }): void;
  setStatus(id: string, status: ProviderStatus): void;
  /** The controllers that hang, by their devices: they switch nothing until they are restarted. */
  readonly hung: Set<string>;
  /** Devices of which it is not shown whether they have power. */
  readonly powerUnknown: Set<string>;
  /** Somebody changes the device's owner tag; null takes it away. */
  setOwner(id: string, owner: string | null): void;
  /** All devices, strangers' included. */
  devices(): readonly ProviderMachine[];
  reservationIds(): readonly string[];
}

export function createMemProvider(config: MemProviderConfig, deps: MemProviderDeps): MemProvider {
  const { instanceSetId, devicePrefix } = config;
  const { clock, random } = deps;
  const shown = (device: StubDevice): ProviderMachine =>
    toProviderMachine(
      {
        id: device.id,
        reservationId: device.reservationId,
        hostname: device.hostname,
        plan: device.plan.name,
        location: device.plan.location,
        availability: 'KnownUsed',
        address: device.addresses[0] ?? null,
        failed: device.failed,
        tags: device.tags,
        status: device.status,
        power: device.boots === 0 ? 'unknown' : device.power,
      },
      { instanceSetId, observedAtMs: clock.now() },
    );
  const scripts = new Map<string, string>();
  const downed = new Set<string>();
  const machines = {
    ...noMachines,
    up(device: StubDevice) {
      const { initCommand } = device.installation;
      const before = scripts.get(device.id);
      scripts.set(device.id, initCommand);
      if (device.boots > 1) {
        const isNew = before !== initCommand;
        if (downed.delete(device.id)) deps.onUpAgain?.(shown(device), isNew ? initCommand : null);
        return device.addresses;
      }
      return [deps.onUp?.(shown(device), initCommand) ?? `${device.id}.invalid`];
    },
    down: (device: StubDevice, cause: string) => {
      if (cause === 'reboot') deps.onReboot?.(shown(device));
      if (cause !== 'off' && cause !== 'reinstall') return;
      downed.add(device.id);
      deps.onDown?.(shown(device));
    },
  };
  const { provisioningMs, deprovisioningMs = 0, reservations, latencyMs, seed = 1 } = config;
  const account = createStubAccount(
    {
      plans: Object.entries(config.locations ?? { sim1: reservations }).map(
        ([location, count]) => ({
          name: 'm3.large.x86',
          location,
          spot: false,
          reservations: count,
        }),
      ),
      timing: { provisioningMs, deprovisioningMs, bootMs: 0 },
      latencyMs,
      devicePrefix,
      inventory: null,
      seed,
      faults: [],
    },
    {
      clock,
      log: silentLog,
      metrics: silentMetrics,
      machines: () => machines,
      newId: (...purpose) => (purpose[0] === 'boot' ? purpose.join('-') : random.uuid()),
    },
  );
  const hung = new Set<string>();
  const powerUnknown = new Set<string>();
  function open(): Provider {
    const without = config.without ?? ['hostKey'];
    const stub = createStubProvider(account, { instanceSetId, without, maxConcurrency: 64 });
    return config.controllers ? withControllers(stub, { hung, powerUnknown }) : stub;
  }
  const reopened = () =>
    createFleetProvider(
      open(),
      {
        name: providerName('stub'),
        type: 'stub',
        instanceSetId,
        sharedTags: {},
        image: null,
        initCommand: '',
        publicKey: '',
      },
      { clock, random, log: silentLog, metrics: silentMetrics },
    );
  const provider = reopened();
  return {
    ...provider,
    account,
    driver: { name: 'stub', settings: () => stubSettings(), open },
    reopened,
    async stop() {
      await provider.stop();
      await account.close();
    },
    inject: (fault) => account.faults.add('effect' in fault ? ruleOf(fault) : fault),
    snatch: (reservationId) => account.snatch(reservationId),
    remove: (id, options) => account.world.remove(id, options?.withReservation ? 'gone' : 'free'),
    setStatus: account.setStatus,
    hung,
    powerUnknown,
    setOwner: account.setOwner,
    devices: () => account.world.devices().map(shown),
    reservationIds: () => account.world.slots().map(({ id }) => id),
  };
}

const ruleOf = ({ operation, effect, times = 1, error }: MemFault): FaultRule => ({
  fault: EFFECTS[effect],
  operation,
  times,
  error,
});

/** The same provider, of machines with controllers, which may hang. */
function withControllers(
  stub: Provider,
  { hung, powerUnknown }: Pick<MemProvider, 'hung' | 'powerUnknown'>,
): Provider {
  const shown = (machine: DriverMachine): DriverMachine => {
    const { id } = machine;
    if (!id) return machine;
    const controller = { id: `controller of ${id}`, hangs: hung.has(id) };
    return { ...machine, controller, ...(powerUnknown.has(id) && { power: 'unknown' }) };
  };
  /** Refuses what goes through the controller while it hangs. */
  const through =
    <Args extends unknown[], Answer>(call: (id: string, ...args: Args) => Promise<Answer>) =>
    async (id: string, ...args: Args): Promise<Answer> => {
      if (!hung.has(id)) return call(id, ...args);
      throw new ProviderError('transient', `the controller of ${id} does not answer`);
    };
  return {
    ...stub,
    capabilities: { ...stub.capabilities, resetController: true },
    async listMachines(filter, options) {
      const listing = await stub.listMachines(filter, options);
      return { ...listing, machines: listing.machines.map(shown) };
    },
    getMachine: async (id, options) => shown(await stub.getMachine(id, options)),
    rebootMachine: through(stub.rebootMachine),
    setPower: through(stub.setPower!),
    async resetController(id, { beforeSending, requireOurs, ...options }) {
      requireOurs(shown(await stub.getMachine(id, { requireOurs, ...options })));
      if (!hung.has(id)) throw new ProviderError('conflict', `the controller of ${id} answers`);
      await beforeSending?.();
      hung.delete(id);
      return { operationRef: `resetController/${id}` };
    },
  };
}
