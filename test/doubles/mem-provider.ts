import { z } from 'zod';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { toProviderMachine } from '../../src/adapters/driver-kit/entries.ts';
import { createFleetProvider } from '../../src/adapters/driver-kit/fleet-provider.ts';
import type { Driver, Provider } from '../../src/adapters/provider/port.ts';
import type { ReportedCondition } from '../../src/domain/conditions.ts';
import { providerName } from '../../src/domain/ids.ts';
import type { ProviderMachine, ProviderStatus } from '../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { createCalls } from './provider/calls.ts';
import {
  createFaults,
  type FaultKind,
  type ScriptedFault,
  type ProviderOperation,
} from './provider/faults.ts';
import { type Capability, createDriven, withControllers } from './provider/driven.ts';
import { createListings } from './provider/listings.ts';
import { createOrders } from './provider/orders.ts';
import { createWorld, type SimulatedDevice, type Slot } from './provider/world.ts';

/** A driver of in-memory providers, which need no settings in the configuration. */
export const memoryDriver = (open: Driver['open']): Driver => ({
  name: 'memory',
  settings: () => z.strictObject({}),
  open,
});
/** Drivers for reading such a configuration. */
export const MEMORY_DRIVERS = driverTable([
  memoryDriver(() => {
    throw new Error('it is opened with the ports of a daemon');
  }),
]);

export interface MemProviderConfig {
  readonly devicePrefix: string;
  /** The provider's own instance set. Providers that its driver opens have their fleet's. */
  readonly instanceSetId: string;
  /** Free capacity at start. */
  readonly reservations: number;
  /** Time from a creation to status Running and an address. */
  readonly provisioningMs: number;
  /** Duration of each call; 0 = immediate. */
  readonly latencyMs: number;
  /** Time from a deletion request until the device is gone; default: none. */
  readonly deprovisioningMs?: number;
  /** Reservations by location; default: all in one location. */
  readonly locations?: Readonly<Record<string, number>>;
  /** Names of plans, each with all reservations; default: one plan. */
  readonly plans?: readonly string[];
  /** Capabilities that the driver lacks; default: only verifying host keys. */
  readonly without?: readonly Capability[];
  /** Each machine has its own BMC; default: none has. */
  readonly controllers?: boolean;
}

export interface MemProviderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Called when a reboot request is accepted. */
  readonly onReboot?: (device: ProviderMachine) => void;
  /** Called when the device is powered off or its reinstallation starts. */
  readonly onDown?: (device: ProviderMachine) => void;
  /** Called at power-on; after a reinstallation with the script of its first boot. */
  readonly onUpAgain?: (device: ProviderMachine, initCommand: string | null) => void;
  /** Called at the first boot, with the first-boot script. @returns the machine's address. */
  readonly onUp?: (device: ProviderMachine, initCommand: string) => string;
  /** Base64 of the host key of the machine at an address. */
  readonly hostKeyAt?: (address: string) => string | undefined;
}

/**
 * What goes wrong with the next call of an operation. `failBefore`: an error, nothing done.
 * `failAfter`: done, then an error. `loseReply`: done, outcome unknown. `hang`: nothing until the
 * signal. `incomplete`: a listing without one of its three pages.
 */
interface MemFault {
  readonly operation: ProviderOperation;
  readonly effect: keyof typeof EFFECTS;
  /** Number of calls that it spoils; default 1. */
  readonly times?: number;
  /** For `failBefore` and `failAfter`; default kind: `transient`. */
  readonly error?: Error;
}

const EFFECTS = {
  failBefore: 'call-fails',
  failAfter: 'fails-after',
  loseReply: 'reply-lost',
  hang: 'hangs',
  incomplete: 'partial-page',
} as const satisfies Readonly<Record<string, FaultKind>>;

export type MemProvider = ReturnType<typeof createMemProvider>;

/** An in-memory provider as the fleet has it, with controls of its world, on the given clock. */
export function createMemProvider(config: MemProviderConfig, deps: MemProviderDeps) {
  const { instanceSetId, devicePrefix, provisioningMs, deprovisioningMs = 0, latencyMs } = config;
  const { clock, random } = deps;
  const faults = createFaults();
  const machines = machinesOf(deps, shown);
  const slots = slotsOf(config, random);
  const newId = random.uuid;
  const world = createWorld({ slots, provisioningMs, deprovisioningMs, clock, machines, newId });
  const calls = createCalls({ clock, faults, latencyMs });
  const isManaged = ({ hostname }: SimulatedDevice) => hostname.startsWith(devicePrefix);
  const listings = createListings({ world, faults, isManaged });
  const hung = new Set<string>();
  const powerUnknown = new Set<string>();
  let strangers = 0;

  function shown({
    id,
    reservationId,
    hostname,
    plan,
    ...device
  }: SimulatedDevice): ProviderMachine {
    const { addresses, failed, tags, status, power, boots } = device;
    return toProviderMachine(
      {
        ...{ id, reservationId, hostname, failed, tags, status },
        plan: plan.name,
        location: plan.location,
        availability: 'KnownUsed',
        address: addresses[0] ?? null,
        power: boots === 0 ? 'unknown' : power,
      },
      { instanceSetId, observedAtMs: clock.now() },
    );
  }

  function open(setId: string): Provider {
    const orders = createOrders({ world, faults, instanceSetId: setId, isManaged });
    const { without = ['hostKey'], controllers } = config;
    const { hostKeyAt } = deps;
    const parts = { orders, listings, calls, faults, without, devicePrefix, hostKeyAt };
    const provider = createDriven(parts);
    return controllers ? withControllers(provider, { hung, powerUnknown }) : provider;
  }
  const reopened = () =>
    createFleetProvider(
      open(instanceSetId),
      {
        name: providerName('stub'),
        type: 'memory',
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
    world,
    faults,
    calls,
    /** Lets daemons open their own providers over the same devices, each with its own core. */
    driver: memoryDriver((_, context) => open(context.instanceSetId)),
    /** The same, as a process that started later has it. */
    reopened,
    async stop() {
      await provider.stop();
      world.close();
    },
    /** Injects a faulty call, or any other fault. */
    inject: (fault: MemFault | ScriptedFault) =>
      faults.add('effect' in fault ? ruleOf(fault) : fault),
    /** A stranger's device takes the reservation. @returns the device's id. */
    snatch(reservationId: string): string {
      strangers += 1;
      const named = { reservationId, hostname: `stranger-${strangers}`, tags: {} };
      return world.add({ ...named, fate: 'up', initCommand: '', publicKey: '' }).id;
    },
    /** Removes the device; its reservation becomes free, or is removed too. */
    remove: (id: string, options?: { readonly withReservation: boolean }) =>
      world.remove(id, options?.withReservation ? 'gone' : 'free'),
    setStatus(id: string, status: ProviderStatus) {
      const failed = status === 'ProvisioningFailedPermanent';
      if (failed) world.fail(id);
      world.change(id, { status, failed });
    },
    /** Devices with hanging BMCs: they switch nothing until they are restarted. */
    hung,
    /** Devices whose power state is not shown. */
    powerUnknown,
    /** Changes what is shown to be wrong with the device. */
    setConditions: (id: string, conditions: readonly ReportedCondition[]) =>
      void world.change(id, { conditions }),
    /** Changes the device's owner tag as a stranger; null removes it. */
    setOwner(id: string, owner: string | null) {
      const { [SET_ID_TAG]: _, ...others } = world.need(id).tags;
      world.change(id, { tags: owner === null ? others : { ...others, [SET_ID_TAG]: owner } });
    },
    /** All devices, including strangers'. */
    devices: () => world.devices().map(shown),
    reservationIds: () => world.slots().map(({ id }) => id),
  };
}

const ruleOf = ({ operation, effect, times = 1, error }: MemFault): ScriptedFault => ({
  fault: EFFECTS[effect],
  operation,
  times,
  error,
});

function slotsOf(
  { reservations, locations = { sim1: reservations }, plans = ['m3.large.x86'] }: MemProviderConfig,
  random: Random,
): readonly Slot[] {
  return plans.flatMap((name) =>
    Object.entries(locations).flatMap(([location, count]) =>
      Array.from({ length: count }, () => ({
        id: random.uuid(),
        plan: { name, location, spot: false },
        broken: false,
      })),
    ),
  );
}

/** Reports the devices' events to the simulated machines. */
function machinesOf(deps: MemProviderDeps, shown: (device: SimulatedDevice) => ProviderMachine) {
  const scripts = new Map<string, string>();
  const downed = new Set<string>();
  return {
    up(device: SimulatedDevice): readonly string[] {
      const { initCommand } = device.installation;
      const before = scripts.get(device.id);
      scripts.set(device.id, initCommand);
      if (device.boots === 1) {
        return [deps.onUp?.(shown(device), initCommand) ?? `${device.id}.invalid`];
      }
      const isNew = before !== initCommand;
      if (downed.delete(device.id)) deps.onUpAgain?.(shown(device), isNew ? initCommand : null);
      return device.addresses;
    },
    down(device: SimulatedDevice, cause: string) {
      if (cause === 'reboot') deps.onReboot?.(shown(device));
      if (cause !== 'off' && cause !== 'reinstall') return;
      downed.add(device.id);
      deps.onDown?.(shown(device));
    },
  };
}
