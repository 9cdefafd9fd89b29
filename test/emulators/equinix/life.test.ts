import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import type { FaultRule } from '../../../emulators/equinix/fault-rules.ts';
import type {
  EquinixEmulator,
  EquinixEmulatorOptions,
} from '../../../emulators/equinix/options.ts';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, clientOf, createDevice, hooksOf, start } from './harness.ts';

const SECOND = 1_000;
const stateOf = async (fake: EquinixEmulator, id: string) => {
  const reply = await clientOf(fake)('GET', `/devices/${id}`);
  return reply.status === 200 ? String(reply.body['state']) : reply.status;
};
const act = (fake: EquinixEmulator, id: string, type: string, more: object = {}) =>
  type === 'delete'
    ? clientOf(fake)('DELETE', `/devices/${id}`)
    : clientOf(fake)('POST', `/devices/${id}/actions`, { type, ...more });

/** What is asked, how long is waited, the state of the device then, and what its machine was told. */
type Step = readonly [ask: string | null, ms: number, state: string | number, told?: string];
type Story = [
  what: string,
  options: Partial<EquinixEmulatorOptions>,
  steps: readonly Step[],
  more?: {
    readonly order?: object;
    readonly fault?: FaultRule['effect'];
    readonly action?: object;
  },
];
const failed: FaultRule['effect'] = { type: 'failProvisioning', reason: 'dust' };
const STORIES: readonly Story[] = [
  [
    'a device from its creation to its end',
    {},
    [
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
      ['delete', 59_999, 'deprovisioning', 'down'],
      [null, 1, 404, 'gone'],
    ],
  ],
  [
    'a device that boots after its installation',
    { timings: { postProvisioningMs: 7_000 } },
    [
      [null, ACTIVE_MS, 'post_provisioning', 'assign'],
      [null, 7_000, 'active', 'up'],
    ],
  ],
  [
    'the fast profile',
    { profile: 'fast' },
    [
      [null, ACTIVE_MS / 100 - 1, 'provisioning', 'assign'],
      [null, 1, 'active', 'up'],
    ],
  ],
  [
    'a fast reinstallation',
    {},
    [
      [null, ACTIVE_MS, 'active', 'assign up'],
      ['reinstall', 59_999, 'reinstalling', 'down'],
      [null, 1, 'active', 'reinstalled up'],
    ],
    { action: { deprovision_fast: true, operating_system: 'debian_12' } },
  ],
  [
    'a tombstone',
    { timings: { tombstoneMs: 30_000 } },
    [
      [null, ACTIVE_MS, 'active', 'assign up'],
      ['delete', 60_000, 'deleted', 'down gone'],
      ['delete', 29_999, 'deleted'],
      [null, 1, 404],
    ],
  ],
  [
    'an end that is seen at once',
    { knobs: { deleteVisibility: 'immediate404' } },
    [
      [null, ACTIVE_MS, 'active', 'assign up'],
      ['delete', 0, 404, 'down'],
    ],
  ],
  [
    'a failed installation',
    {},
    [
      [null, 119_999, 'provisioning', 'assign'],
      [null, 1, 'failed'],
      [null, 3_600_000, 'failed'],
      ['delete', 0, 'deprovisioning', 'down'],
    ],
    { fault: failed },
  ],
  [
    'an installation that never ends',
    {},
    [[null, 86_400_000, 'provisioning', 'assign']],
    { fault: { type: 'stuck' } },
  ],
  ...([403, 404] as const).map((code): Story => [
    'a failed device that vanishes',
    { knobs: { onDemandVanish: code } },
    [[null, 120_000, code, 'assign']],
    { fault: failed, order: { hardware_reservation_id: null, metro: 'fr' } },
  ]),
];

testRows(STORIES)('plays %s', async (_what, options, steps, more = {}) => {
  const told: string[] = [];
  const fake = await start({ ...options, hooks: hooksOf((call) => void told.push(call)) });
  if (more.fault) fake.addFault({ effect: more.fault });
  const id = await createDevice(fake, 0, more.order);
  for (const [ask, ms, state, expected = ''] of steps) {
    if (ask !== null) await act(fake, id, ask, more.action);
    await fake.advance(ms);
    const seen = [ask, ms, await stateOf(fake, id), told.splice(0).join(' ')];
    expect(seen).toEqual([ask, ms, state, expected]);
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(list.body['devices']).toHaveLength(typeof state === 'number' ? 0 : 1);
  }
  expect(fake.violations()).toEqual([]);
});

test('vector 36: 422, later 204; in use, cleaning, provisionable at the tabled times', async () => {
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
  const id = await createDevice(fake, 0, { operating_system: 'custom_ipxe' });
  const device = async () => (await clientOf(fake)('GET', `/devices/${id}`)).body;
  expect(await device()).not.toHaveProperty('provisioning_percentage');
  await fake.advance(90 * SECOND);
  const halfway = await device();
  expect(halfway['provisioning_percentage']).toBe(27.3);
  expect(halfway['provisioning_events']!.map((one) => one['created_at'] === null)).toEqual(
    Array.from({ length: halfway['provisioning_events']!.length }, (_, n) => n > 2),
  );
  expect(halfway['provisioning_events']![2]).toMatchObject({ created_at: '2026-08-01T10:01:30Z' });
  await fake.advance(ACTIVE_MS);
  expect(await device()).not.toHaveProperty('provisioning_percentage');
  await act(fake, id, 'reboot');
  const { body } = await clientOf(fake)('GET', `/devices/${id}/events?per_page=100`);
  const types = body['events']!.map((one) => String(one['type']));
  expect(types[0]).toContain('reboot');
  expect(types).toContain('provisioning.104.01');
  const [newest] = (await clientOf(fake)('GET', `/projects/${fake.projectId}/events`)).body[
    'events'
  ]!;
  expect(newest).toMatchObject({
    id: body['events']![0]!['id'],
    relationships: [{ href: `/devices/${id}` }],
  });
});

test('tells the address and the port of a machine, and keeps the port in customdata', async () => {
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

test('asks for a machine again after an error, at the next boot', async () => {
  const errors: object[] = [];
  const hooks = hooksOf((call) => {
    if (call === 'assign' && errors.length < 2) throw new Error('no port left');
  });
  const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
  const fake = await start({ hooks, log });
  const id = await createDevice(fake);
  await fake.advance(ACTIVE_MS);
  expect(errors).toHaveLength(2);
  expect(fake.devices()[0]).toMatchObject({ state: 'active', address: null });
  for (const type of ['power_off', 'power_on']) {
    await act(fake, id, type);
    await fake.advance(20 * SECOND);
  }
  expect(fake.devices()[0]).toMatchObject({ state: 'active', address: '127.0.0.1' });
});

test('asks for a slow machine once, and the device is not active before it has it', async () => {
  const told: string[] = [];
  const answered = Promise.withResolvers<void>();
  const hooks = hooksOf((call) => void told.push(call));
  const assign: typeof hooks.assign = async (device) => {
    const place = await hooks.assign(device);
    await answered.promise;
    return place;
  };
  const timings = { queuedMs: 1, addressesMs: 2, provisioningMs: 10 };
  const fake = await start({ hooks: { ...hooks, assign }, clock: 'real', timings });
  const id = await createDevice(fake);
  const isInstalled = async () => {
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    return body['provisioning_events']!.at(-1)!['created_at'] !== null;
  };
  await expect.poll(isInstalled).toBe(true);
  expect([fake.devices()[0]!.state, told]).toEqual(['provisioning', ['assign']]);
  answered.resolve();
  await fake.settled();
  expect([fake.devices()[0]!.state, told]).toEqual(['active', ['assign', 'up']]);
});

test('brings machines back after a restart as the state says they are', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
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
  const second = await start({ stateFile, hooks });
  await second.settled();
  expect(told.toSorted()).toEqual(['assign', 'assign', 'up']);
  await second.advance(ACTIVE_MS);
  expect(second.devices().map(({ state }) => state)).toEqual(['active', 'inactive', 'active']);
});

test('runs by itself on the real clock, which cannot be advanced', async () => {
  const fake = await start({ clock: 'real', profile: 'fast', timings: { provisioningMs: 20 } });
  const active = new Promise<void>((resolve) => {
    fake.events.on('change', ({ to }) => to === 'active' && resolve());
  });
  await createDevice(fake);
  await active;
  expect(fake.devices()[0]!.state).toBe('active');
  await expect(fake.advance(1)).rejects.toThrow('not manual');
});
