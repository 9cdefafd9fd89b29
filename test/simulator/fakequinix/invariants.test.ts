import { describe, expect, it } from 'vitest';
import { createDevice, createState } from '../../../src/simulator/fakequinix/state/genesis.ts';
import { violationsOf } from '../../../src/simulator/fakequinix/state/invariants.ts';
import type { Device, State } from '../../../src/simulator/fakequinix/state/state.ts';
import { createGenerator } from '../../../src/simulator/fakequinix/time/random.ts';

const NOW = 1_000_000;

/** A consistent world with one device on each of two reservations, to be broken. */
function world() {
  const ids = createGenerator(1);
  const state = createState({}, 3, ids, NOW);
  const reservations = [...state.reservations.values()];
  const add = (more: Partial<Device>) => {
    const device = createDevice(state, ids, NOW, {
      projectId: reservations[0]!.projectId,
      hostname: 'machine',
      plan: 'm3.large.x86',
      facility: 'fr2',
      operatingSystem: 'ubuntu_22_04',
      ...more,
    });
    state.devices.set(device.id, device);
    return device;
  };
  const devices = [0, 1].map((i) => {
    const device = add({ reservationId: reservations[i]!.id });
    reservations[i]!.deviceId = device.id;
    return device;
  });
  return { state, reservations, devices, add };
}
const event = (atMs: number) => ({ id: `e-${atMs}`, type: 'x', body: 'x', atMs });

const breaks: [string, (w: ReturnType<typeof world>) => unknown, RegExp][] = [
  [
    'two devices on a reservation',
    ({ add, reservations }) => add({ reservationId: reservations[0]!.id }),
    /^two devices on reservation /,
  ],
  [
    'a device that its reservation does not know',
    ({ reservations }) => (reservations[0]!.deviceId = null),
    /is not linked from its reservation$/,
  ],
  [
    'a device on a reservation that does not exist',
    ({ add }) => add({ reservationId: 'gone' }),
    /is not linked from its reservation$/,
  ],
  [
    'a reservation whose device points elsewhere',
    ({ reservations, add }) => (reservations[2]!.deviceId = add({}).id),
    /carries a device that is not on it$/,
  ],
  [
    'a reservation with a device that does not exist',
    ({ reservations }) => (reservations[2]!.deviceId = 'gone'),
    /carries a device that does not exist$/,
  ],
  [
    'a cleaning while in use',
    ({ reservations }) => (reservations[0]!.cleaning = true),
    /is cleaned while in use$/,
  ],
  [
    'a key that does not exist',
    ({ devices }) => devices[0]!.sshKeyIds.push('gone'),
    /has the key gone, which does not exist$/,
  ],
  [
    'events that go back',
    ({ devices }) => devices[0]!.events.push(event(NOW + 2), event(NOW + 1)),
    /go back in time$/,
  ],
  [
    'events before the beginning',
    ({ devices }) => devices[0]!.events.push(event(NOW - 1)),
    /go back in time$/,
  ],
  [
    'a change before the beginning',
    ({ devices }) => (devices[0]!.updatedAtMs = NOW - 1),
    /was changed before it was created$/,
  ],
];

describe('invariants', () => {
  it('hold in a consistent world', () => {
    expect(violationsOf(world().state)).toEqual([]);
  });

  it.each(breaks)('see %s', (_name, spoil, message) => {
    const broken = world();
    spoil(broken);
    const found: string[] = violationsOf(broken.state satisfies State);
    expect(
      found.some((one) => message.test(one)),
      found.join(),
    ).toBe(true);
  });

  it('take no notice of a deleted device that can still be read', () => {
    const { state, devices, reservations } = world();
    devices[0]!.state = 'deleted';
    reservations[0]!.deviceId = null;
    expect(violationsOf(state)).toEqual([]);
  });
});
