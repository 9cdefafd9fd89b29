import { expect, test } from 'vitest';
import { createDevice, createState } from '../../../emulators/equinix/state/genesis.ts';
import { violationsOf } from '../../../emulators/equinix/state/invariants.ts';
import type { Device } from '../../../emulators/equinix/state/state.ts';
import { createGenerator } from '../../../emulators/kit/random.ts';
import { testRows } from '../../support/rows.ts';

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

const BREAKS: readonly (readonly [(w: ReturnType<typeof world>) => unknown, RegExp])[] = [
  [
    ({ add, reservations }) => add({ reservationId: reservations[0]!.id }),
    /^two devices on reservation /,
  ],
  [({ reservations }) => (reservations[0]!.deviceId = null), /is not linked from its reservation$/],
  [({ add }) => add({ reservationId: 'gone' }), /is not linked from its reservation$/],
  [
    ({ reservations, add }) => (reservations[2]!.deviceId = add({}).id),
    /carries a device that is not on it$/,
  ],
  [
    ({ reservations }) => (reservations[2]!.deviceId = 'gone'),
    /carries a device that does not exist$/,
  ],
  [({ reservations }) => (reservations[0]!.cleaning = true), /is cleaned while in use$/],
  [({ devices }) => devices[0]!.sshKeyIds.push('gone'), /has the key gone, which does not exist$/],
  [({ devices }) => devices[0]!.events.push(event(NOW + 2), event(NOW + 1)), /go back in time$/],
  [({ devices }) => devices[0]!.events.push(event(NOW - 1)), /go back in time$/],
  [({ devices }) => (devices[0]!.updatedAtMs = NOW - 1), /was changed before it was created$/],
];

test('finds nothing wrong with a consistent world', () => {
  const { state, devices, reservations } = world();
  expect(violationsOf(state)).toEqual([]);
  devices[0]!.state = 'deleted';
  reservations[0]!.deviceId = null;
  expect(violationsOf(state), 'a deleted device can still be read').toEqual([]);
});

testRows(BREAKS)('sees in a world that %s breaks: %s', (spoil, message) => {
  const broken = world();
  spoil(broken);
  expect(violationsOf(broken.state).join('\n')).toMatch(new RegExp(message, 'm'));
});
