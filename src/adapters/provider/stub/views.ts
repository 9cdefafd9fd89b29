import type { DriverMachine } from '../port.ts';
import type { StubDevice, StubSlot } from './device.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Faults, Occasion, Strike } from './faults.ts';
import type { World } from './world.ts';

export interface ViewsDeps {
  readonly world: World;
  readonly faults: Faults;
  /** An inventory: it cannot tell what is in use. */
  readonly stateless: boolean;
  nowMs(): number;
}

/** What the stub shows of its devices and its capacity, true or not. */
export interface Views {
  /** A reading: tags that are shown stale come nearer to the truth by it. */
  device(device: StubDevice): DriverMachine;
  free(slot: StubSlot): DriverMachine;
}

/** For faults that stick to a device. */
export const deviceOccasion = ({ id, number, reservationId }: StubDevice): Occasion => ({
  operation: 'device',
  call: number,
  device: id,
  reservation: reservationId,
});

export function createViews({ world, faults, stateless, nowMs }: ViewsDeps): Views {
  const sticks = (fault: FaultKind, device: StubDevice): Strike | null =>
    faults.sticks(fault, deviceOccasion(device));

  /** True once so much time has passed since it came up. */
  function passed(device: StubDevice, strike: Strike | null): boolean {
    return strike !== null && device.upAtMs !== null && nowMs() >= device.upAtMs + strike.amount;
  }

  function addressOf(device: StubDevice): string | null {
    const [own = null] = device.addresses;
    const absent = sticks('address-absent', device);
    if (absent && !passed(device, absent)) return null;
    if (own === null) return null;
    if (sticks('address-v6-only', device)) return `2001:db8::${device.number.toString(16)}`;
    if (sticks('address-duplicated', device)) return addressOfAnother(device) ?? own;
    const changing = sticks('address-changing', device);
    return changing ? addressNow(device, changing.amount) : own;
  }

  const addressOfAnother = ({ id }: StubDevice): string | undefined =>
    world.devices().find((other) => other.id !== id && other.addresses.length > 0)?.addresses[0];

  function addressNow({ addresses, upAtMs }: StubDevice, periodMs: number): string {
    const change = Math.floor((nowMs() - (upAtMs ?? nowMs())) / periodMs);
    const own = addresses[change % addresses.length]!;
    return addresses.length > 1 || change === 0 ? own : `${change}.${own}`;
  }

  function powerOf(device: StubDevice): 'on' | 'off' | 'unknown' {
    const { power, boots, status } = device;
    const truth = boots === 0 && status === 'Provisioning' ? 'unknown' : power;
    if (truth === 'unknown' || !sticks('power-lies', device)) return truth;
    return truth === 'on' ? 'off' : 'on';
  }

  function tagsOf({ id, tags, stale }: StubDevice) {
    if (!stale) return tags;
    world.change(id, { stale: stale.left > 1 ? { ...stale, left: stale.left - 1 } : null });
    return stale.tags;
  }

  const idsOf = (device: StubDevice) => {
    if (!stateless) return { id: device.id, reservationId: device.reservationId };
    return sticks('id-absent', device)
      ? { id: null, reservationId: device.reservationId }
      : { id: device.id, reservationId: null };
  };

  return {
    device: (device) => ({
      ...idsOf(device),
      availability: stateless ? 'PossiblyUsed' : 'KnownUsed',
      hostname: device.hostname,
      plan: device.plan.name,
      location: device.plan.location,
      spot: device.plan.spot,
      address: addressOf(device),
      failed: device.failed || passed(device, sticks('failed-while-running', device)),
      status: device.status,
      power: powerOf(device),
      tags: tagsOf(device),
    }),
    free: ({ id, plan }) => ({
      id: null,
      reservationId: id,
      availability: 'KnownUnused',
      plan: plan.name,
      location: plan.location,
      spot: plan.spot,
    }),
  };
}
