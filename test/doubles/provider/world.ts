import type { Clock } from '../../../src/adapters/clock/port.ts';
import type { Plan } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import type { ReportedCondition } from '../../../src/domain/conditions.ts';
import type { ProviderStatus } from '../../../src/domain/machine.ts';
import { type Tags, WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';

/** One piece of capacity, with or without a device. */
export interface Slot {
  readonly id: string;
  readonly plan: Plan;
  /** Its last wipe failed, so it is unusable. */
  readonly broken: boolean;
}

/** The contents of an installation. */
export interface DeviceInstallation {
  readonly initCommand: string;
  readonly publicKey: string;
}

/** Outcome of an installation. */
export type Fate = 'up' | 'stuck' | 'broken';

/** A device's true state, which may differ from what is shown. Never changed in place. */
export interface SimulatedDevice {
  readonly id: string;
  /** Number in the order of creation, from 1. */
  readonly number: number;
  readonly reservationId: string;
  readonly hostname: string;
  readonly plan: Plan;
  readonly tags: Tags;
  /** Shown instead for this many readings. */
  readonly stale: { readonly tags: Tags; readonly left: number } | null;
  readonly status: ProviderStatus;
  readonly failed: boolean;
  readonly power: 'on' | 'off';
  /** What is shown to be wrong with it; default: nothing is known. */
  readonly conditions?: readonly ReportedCondition[];
  readonly addresses: readonly string[];
  readonly installation: DeviceInstallation;
  readonly boots: number;
  /** Time of the present system's first boot; null: not yet. */
  readonly upAtMs: number | null;
  /** Deleted, but still in this many listings. */
  readonly leaving: { readonly listings: number } | null;
}

/** The machines behind the devices. They receive the devices' events. */
export interface Machines {
  /** The device boots. @returns its addresses. */
  up(device: SimulatedDevice): readonly string[];
  down(device: SimulatedDevice, cause: 'reboot' | 'off' | 'reinstall' | 'gone'): void;
}

export interface WorldDeps {
  readonly slots: readonly Slot[];
  /** Time from a creation or reinstallation to a running machine. */
  readonly provisioningMs: number;
  /** Time from a deletion request until the device is gone. */
  readonly deprovisioningMs: number;
  readonly clock: Clock;
  readonly machines: Machines;
  newId(): string;
}

export interface DeviceOrder extends DeviceInstallation {
  readonly reservationId: string;
  readonly hostname: string;
  readonly tags: Tags;
  /** An id to reuse; default: a new one. */
  readonly id?: string | undefined;
  readonly fate: Fate;
  /** Whether it runs already. */
  readonly isUp?: boolean;
}

/** The hardware in virtual time, without faults and access rules. */
export type HardwareWorld = ReturnType<typeof createWorld>;

export function createWorld(deps: WorldDeps) {
  const { clock, machines } = deps;
  const slots = new Map(deps.slots.map((slot) => [slot.id, slot]));
  const everKnown = new Set(slots.keys());
  const devices = new Map<string, SimulatedDevice>();
  /** Ids of devices. */
  const bySlot = new Map<string, string>();
  const formerIds: string[] = [];
  /** Each device's next event, at most one. */
  const timers = new Map<string, unknown>();
  let made = 0;

  function need(id: string): SimulatedDevice {
    const device = devices.get(id);
    if (device) return device;
    throw new ProviderError('not-found', `no device ${id}`);
  }

  function change(id: string, patch: Partial<SimulatedDevice>): SimulatedDevice {
    const changed = { ...need(id), ...patch };
    devices.set(id, changed);
    return changed;
  }

  function cancel(id: string) {
    clock.clearTimeout(timers.get(id));
    timers.delete(id);
  }

  function next(id: string, fn: () => void, delayMs: number) {
    cancel(id);
    const run = () => {
      timers.delete(id);
      if (devices.has(id)) fn();
    };
    timers.set(id, clock.setTimeout(run, delayMs));
  }

  function install(id: string, fate: Fate) {
    if (fate === 'stuck') cancel(id);
    else if (fate === 'up' && deps.provisioningMs === 0) comeUp(id);
    else next(id, () => (fate === 'up' ? comeUp(id) : fail(id)), deps.provisioningMs);
  }

  function comeUp(id: string) {
    change(id, { status: 'Running', upAtMs: clock.now() });
    boot(id);
  }

  /** Breaks the device for good. */
  function fail(id: string) {
    cancel(id);
    change(id, { status: 'ProvisioningFailedPermanent', failed: true, power: 'off' });
  }

  function boot(id: string) {
    const booted = change(id, { power: 'on', boots: need(id).boots + 1 });
    change(id, { addresses: machines.up(booted) });
  }

  function down(id: string, cause: Parameters<Machines['down']>[1]) {
    cancel(id);
    machines.down(need(id), cause);
  }

  /** Removes it at once; its slot becomes free, gone or broken. */
  function remove(id: string, slot: 'free' | 'gone' | 'broken' = 'free') {
    const device = devices.get(id);
    if (!device) return;
    down(id, 'gone');
    devices.delete(id);
    bySlot.delete(device.reservationId);
    formerIds.unshift(id);
    const held = slots.get(device.reservationId);
    if (slot === 'gone') slots.delete(device.reservationId);
    else if (held) slots.set(held.id, { ...held, broken: slot === 'broken' });
  }

  return {
    slots: (): readonly Slot[] => [...slots.values()],
    slot: (id: string): Slot | undefined => slots.get(id),
    /** Whether the slot was ever capacity here. */
    knows: (slotId: string): boolean => everKnown.has(slotId),
    devices: (): readonly SimulatedDevice[] => [...devices.values()],
    device: (id: string): SimulatedDevice | undefined => devices.get(id),
    need,
    /** The slot's device; of several the last one. */
    onSlot: (slotId: string): SimulatedDevice | undefined => devices.get(bySlot.get(slotId) ?? ''),
    /** Available capacity. */
    free: (): readonly Slot[] =>
      [...slots.values()].filter(({ id, broken }) => !broken && !bySlot.has(id)),
    /** The first device with this creation key. */
    witnessed: (witness: string): SimulatedDevice | undefined =>
      [...devices.values()].find(({ tags }) => tags[WITNESS_TAG] === witness),
    /** The most recently freed id. */
    formerId: (): string | undefined => formerIds[0],
    change,
    add({
      reservationId,
      hostname,
      tags,
      fate,
      id,
      isUp,
      ...installation
    }: DeviceOrder): SimulatedDevice {
      made += 1;
      const { plan } = slots.get(reservationId)!;
      const named = { id: id ?? deps.newId(), number: made, reservationId, hostname };
      devices.set(named.id, { ...FRESH, ...named, plan, tags, installation });
      bySlot.set(reservationId, named.id);
      install(named.id, fate);
      if (isUp) {
        cancel(named.id);
        comeUp(named.id);
      }
      return need(named.id);
    },
    reinstall(id: string, installation: DeviceInstallation, fate: Fate) {
      down(id, 'reinstall');
      change(id, { status: 'Provisioning', failed: false, upAtMs: null, installation });
      install(id, fate);
    },
    fail,
    reboot(id: string) {
      down(id, 'reboot');
      next(id, () => boot(id), 0);
    },
    power(id: string, want: 'on' | 'off') {
      down(id, 'off');
      if (want === 'off') return void change(id, { power: 'off', status: 'Stopped' });
      change(id, { power: 'on', status: 'Running' });
      next(id, () => boot(id), 0);
    },
    /** Starts the device's removal. */
    give(id: string) {
      if (deps.deprovisioningMs === 0) return remove(id);
      down(id, 'off');
      change(id, { status: 'Missing' });
      next(id, () => remove(id), deps.deprovisioningMs);
    },
    remove,
    close() {
      for (const id of timers.keys()) cancel(id);
    },
  };
}

const FRESH = {
  stale: null,
  status: 'Provisioning',
  failed: false,
  power: 'off',
  addresses: [],
  boots: 0,
  upAtMs: null,
  leaving: null,
} as const satisfies Partial<SimulatedDevice>;
