import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createManualClock, realClock } from '../../../emulators/kit/clock.ts';
import type { EquinixEmulator } from '../../../emulators/equinix/options.ts';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, clientOf, createDevice, hooksOf, start } from './harness.ts';

const SECOND = 1_000;
const stateOf = async (fake: EquinixEmulator, id: string) => {
  const reply = await clientOf(fake)('GET', `/devices/${id}`);
  return reply.status === 200 ? String(reply.body['state']) : reply.status;
};
const act = (fake: EquinixEmulator, id: string, type: string) =>
  type === 'delete'
    ? clientOf(fake)('DELETE', `/devices/${id}`)
    : clientOf(fake)('POST', `/devices/${id}/actions`, { type });

/** The request, the waiting time, the state of the device then, and the calls to its machine. */
type LifeStep = readonly [ask: string | null, ms: number, state: string | number, told?: string];
const LIFE: readonly LifeStep[] = [
  [null, 4_999, 'queued'],
  [null, 1, 'provisioning'],
  [null, 24_999, 'provisioning'],
  [null, 1, 'provisioning', 'assign'],
  [null, 214_999, 'provisioning'],
  [null, 1, 'active', 'up'],
  ['reboot', 9_999, 'active'],
  [null, 1, 'active', 'down'],
  [null, 79_999, 'active'],
  [null, 1, 'active', 'up'],
  ['power_off', 9_999, 'powering_off'],
  [null, 1, 'inactive', 'down'],
  ['power_on', 19_999, 'powering_on'],
  [null, 1, 'active', 'up'],
  ['reinstall', 179_999, 'reinstalling', 'down'],
  [null, 1, 'active', 'reinstalled up'],
  ['reboot', 5_000, 'active'],
  ['delete', 59_999, 'deprovisioning', 'down'],
  [null, 1, 404, 'gone'],
];

testRows([
  ['real', LIFE],
  ['fast', LIFE.map(([ask, ms, ...rest]) => [ask, ms / 100, ...rest] as LifeStep)],
] as const)('plays the life of a device in the profile %s', async (profile, steps) => {
  const told: string[] = [];
  const fake = await start({ profile, hooks: hooksOf((call) => void told.push(call)) });
  const id = await createDevice(fake);
  for (const [ask, ms, state, expected = ''] of steps) {
    if (ask !== null) await act(fake, id, ask);
    await fake.advance(ms);
    const seen = [ask, ms, await stateOf(fake, id), told.splice(0).join(' ')];
    expect(seen).toEqual([ask, ms, state, expected]);
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(list.body['devices']).toHaveLength(typeof state === 'number' ? 0 : 1);
  }
  expect(fake.violations()).toEqual([]);
});

test('vector 36: answers 422, later 204; in use, cleaning, provisionable at the tabled times', async () => {
  const fake = await start();
  const changes: string[] = [];
  fake.events.on('change', ({ kind, to }) => kind === 'reservation' && changes.push(to));
  const id = await createDevice(fake);
  const path = `/hardware-reservations/${fake.reservations()[0]!.id}`;
  const seen: unknown[] = [];
  for (const [waitMs, deletes] of [
    [0, true],
    [5 * SECOND, true],
    [240 * SECOND - 1, true],
    [1, true],
    [60 * SECOND - 1, false],
    [1, false],
    [240 * SECOND - 1, false],
    [1, false],
  ] as const) {
    await fake.advance(waitMs);
    const { body } = await clientOf(fake)('GET', path);
    const reservation = [body['device'] === null ? 'empty' : 'in use', body['provisionable']];
    seen.push(deletes ? (await act(fake, id, 'delete')).status : reservation.join());
  }
  const empty = ['empty,false', 'empty,false', 'empty,true'];
  expect(seen).toEqual([422, 422, 422, 204, 'in use,false', ...empty]);
  expect(changes).toEqual(['in-use', 'cleaning', 'free']);
});

test('shows the progress of an installation, and its events', async () => {
  const fake = await start();
  const id = await createDevice(fake);
  const device = async () => (await clientOf(fake)('GET', `/devices/${id}`)).body;
  expect(await device()).not.toHaveProperty('provisioning_percentage');
  await fake.advance(90 * SECOND);
  const halfway = await device();
  expect(halfway['provisioning_percentage']).toBe(30);
  const atAll = halfway['provisioning_events']!.map((one) => one['created_at'] !== null);
  expect(atAll).toEqual(Array.from({ length: 10 }, (_, n) => n < 3));
  expect(halfway['provisioning_events']![2]).toMatchObject({ created_at: '2026-08-01T10:01:30Z' });
  await fake.advance(ACTIVE_MS);
  expect(await device()).not.toHaveProperty('provisioning_percentage');
  await act(fake, id, 'reboot');
  const { body } = await clientOf(fake)('GET', `/devices/${id}/events?per_page=100`);
  const types = body['events']!.map((one) => String(one['type']));
  const [newest, ...earlier] = types;
  expect([newest, earlier.at(-1), earlier.length]).toEqual([
    'reboot.requested',
    'device.created',
    11,
  ]);
  expect(types).toContain('provisioning.110');
});

test('takes no step of an installation after its end', async () => {
  const fake = await start();
  const id = await createDevice(fake);
  await fake.advance(100 * SECOND);
  fake.setDeviceState(id, 'failed');
  await fake.advance(ACTIVE_MS);
  const { body } = await clientOf(fake)('GET', `/devices/${id}`);
  expect(body['state']).toBe('failed');
  expect(body['provisioning_events']!.filter((one) => one['created_at'] !== null)).toHaveLength(3);
});

test('shows the address and the port of a machine, and keeps the port in customdata', async () => {
  const fake = await start({ hooks: hooksOf(() => undefined) });
  const id = await createDevice(fake, 0, { customdata: { mine: 1 } });
  await fake.advance(30 * SECOND);
  const { body } = await clientOf(fake)('GET', `/devices/${id}`);
  expect(body['ip_addresses']![0]).toMatchObject({ address: '127.0.0.1', public: true });
  expect(body['customdata']).toEqual({ mine: 1, ssh_port: 2201 });
  expect(fake.devices()[0]).toMatchObject({ address: '127.0.0.1', sshPort: 2201 });
  const customdata = { mine: 2, ssh_port: 1 };
  const changed = await clientOf(fake)('PUT', `/devices/${id}`, { customdata });
  expect(changed.body['customdata']).toEqual({ mine: 2, ssh_port: 2201 });
});

test('requests a slow machine once, and keeps the device inactive until it has the machine', async () => {
  const told: string[] = [];
  const answered = Promise.withResolvers<void>();
  const hooks = hooksOf((call) => void told.push(call));
  const assign: typeof hooks.assign = async (device) => {
    const place = await hooks.assign(device);
    await answered.promise;
    return place;
  };
  const timings = { queuedMs: 1, addressesMs: 2, provisioningMs: 10 };
  const fake = await start({ hooks: { ...hooks, assign }, clock: realClock, timings });
  const id = await createDevice(fake);
  const isInstalled = async (of: string) => {
    const { body } = await clientOf(fake)('GET', `/devices/${of}`);
    return body['provisioning_events']!.at(-1)!['created_at'] !== null;
  };
  await expect.poll(() => isInstalled(id)).toBe(true);
  expect([fake.devices()[0]!.state, told]).toEqual(['provisioning', ['assign']]);
  const other = await createDevice(fake, 1);
  await expect.poll(() => isInstalled(other)).toBe(true);
  fake.setDeviceState(other, 'failed');
  answered.resolve();
  await fake.settled();
  expect(fake.devices().map(({ state }) => state)).toEqual(['active', 'failed']);
  expect(told).toEqual(['assign', 'assign', 'up']);
});

test('restores machines after a restart as the state describes them', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'equinix-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const stateFile = join(directory, 'state.json');
  const told: string[] = [];
  const hooks = hooksOf((call) => void told.push(call));
  const first = await start({ stateFile, hooks });
  for (const index of [0, 1]) await createDevice(first, index);
  await first.advance(ACTIVE_MS);
  await act(first, first.devices()[1]!.id, 'power_off');
  await createDevice(first, 2);
  await first.advance(10 * SECOND);
  await first.close();
  told.length = 0;
  const second = await start({ stateFile, hooks, clock: createManualClock(first.now()) });
  await second.settled();
  expect(told.toSorted()).toEqual(['assign', 'assign', 'up']);
  await second.advance(ACTIVE_MS);
  expect(second.devices().map(({ state }) => state)).toEqual(['active', 'inactive', 'active']);
});
