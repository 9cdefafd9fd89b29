import { afterEach, expect, test } from 'vitest';
import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import type { EquinixConfig } from '../../../../src/adapters/provider/equinix/settings.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { witness } from '../../../../src/domain/ids.ts';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../../src/simulator/fakequinix/world.ts';
import type { MachineHooks } from '../../../../src/simulator/hooks.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { callOf, fleetOver } from './fleet.ts';
import {
  configFor,
  INSTANCE_SET_ID,
  publicKeyLine,
  type Recorded,
  recordingDeps,
  TOKEN,
} from './setup.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OURS = [`shepherd-owner-${INSTANCE_SET_ID}`];
const FOREIGN = ['shepherd-owner-other-00000-000000000000000'];
const live = { signal: new AbortController().signal };

let fake: Fakequinix;
let provider: FleetProvider;
let deps: Recorded;

async function start(
  world: unknown,
  change: Partial<EquinixConfig> = {},
  hooks?: MachineHooks,
): Promise<void> {
  deps = recordingDeps();
  const { clock, network } = deps;
  fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    profile: 'fast',
    world: parseWorld(world, 'test'),
    timings: { queuedMs: 5, provisioningMs: 40, addressesMs: 10 },
    ...(hooks ? { hooks } : {}),
  });
  provider = another(change);
}
const another = (change: Partial<EquinixConfig> = {}) => {
  const config = { token: () => fake.tokens.user, projectId: fake.projectId, ...change };
  return fleetOver(configFor(fake.url, config), deps);
};
afterEach(async () => {
  await provider.stop();
  await fake.close();
});

const deviceId = (hostname: string) =>
  fake.devices().find((device) => device.hostname === hostname)!.id;
const count = (line: string) =>
  fake.requests().filter(({ method, route }) => `${method} ${route}` === line).length;

test('devices with our prefix are shown, each with its owner; others are not listed', async () => {
  await start({
    devices: [
      { hostname: 'shepherd-ci-ours', tags: OURS },
      { hostname: 'shepherd-ci-orphan' },
      { hostname: 'shepherd-ci-foreign', tags: FOREIGN },
      { hostname: 'shepherd-ci-disputed', tags: [...OURS, ...FOREIGN] },
      { hostname: 'stranger', tags: OURS },
    ],
  });
  const expected = {
    'shepherd-ci-ours': 'ours',
    'shepherd-ci-orphan': 'untagged',
    'shepherd-ci-foreign': 'foreign',
    'shepherd-ci-disputed': 'foreign',
  };
  const { machines } = await provider.listMachines(live);
  const listed = machines.map(({ hostname, ownership }) => [hostname, ownership] as const);
  expect(Object.fromEntries(listed)).toEqual(expected);
  for (const [hostname, ownership] of Object.entries(expected)) {
    const shown = await provider.getMachine(deviceId(hostname), live);
    expect(shown).toMatchObject({ hostname, ownership });
  }
  // Asked for by its id it is there, and so not Missing; but nobody's, whatever its tags say.
  const stranger = await provider.getMachine(deviceId('stranger'), live);
  expect(stranger).toMatchObject({ hostname: 'stranger', ownership: 'foreign' });
});

test('the reservation under any device is not free', async () => {
  const ids = ['4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111', '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be112'];
  await start({
    reservations: ids.map((id) => ({ id })),
    devices: [
      { hostname: 'shepherd-ci-foreign', tags: FOREIGN, reservation: ids[0] },
      { hostname: 'shepherd-ci-orphan', reservation: ids[1] },
    ],
  });
  const { machines } = await provider.listMachines(live);
  expect(machines.map(({ availability }) => availability)).toEqual(['KnownUsed', 'KnownUsed']);
});

test('it writes to the log it is given, and to no child of it', async () => {
  await start({});
  const log = { ...deps.log, child: () => expect.unreachable('a child was made') };
  const config = configFor(fake.url, { token: () => fake.tokens.user });
  const spoken = createEquinixProvider(config, { ...deps, log });
  await spoken.listMachines({}, callOf()).catch(() => undefined);
  expect(deps.lines).not.toEqual([]);
  await spoken.stop();
});

test('the reservation list is kept; what a device sits on leaves it at once', async () => {
  await start({ reservations: 3 });
  const { machines } = await provider.listMachines(live);
  expect(machines).toHaveLength(3);
  fake.snatch(machines[0]!.reservationId!);
  const later = (await provider.listMachines(live)).machines.map((m) => m.reservationId);
  const rest = machines.slice(1).map((m) => m.reservationId);
  expect(later).toHaveLength(2);
  expect(new Set(later)).toEqual(new Set(rest));
  expect(count('GET /projects/{id}/hardware-reservations')).toBe(1);
});

test('an old reservation list is read again', async () => {
  await start({ reservations: 2 }, { reservationCacheTimeoutMs: 0 });
  await provider.listMachines(live);
  await provider.listMachines(live);
  expect(count('GET /projects/{id}/hardware-reservations')).toBe(2);
});

test('a refused creation makes the next listing look for itself', async () => {
  await start({ reservations: 2 });
  await provider.prepare(live);
  const [unused] = (await provider.listMachines(live)).machines;
  const order = { unused: unused!, witness: WITNESS, hostname: 'shepherd-ci-x' };
  const body = { errors: ['no'] };
  fake.addFault({ match: { method: 'POST' }, effect: { type: 'status', code: 422, body } });
  await expect(provider.createMachine(order, live)).rejects.toMatchObject({ code: 'invalid' });
  await advance(deps.clock, 1);
  expect((await provider.listMachines(live)).machines).toHaveLength(2);
  expect(count('GET /projects/{id}/hardware-reservations')).toBe(2);
});

test('an incomplete listing says so', async () => {
  await start({ reservations: 30 }, { pageSize: 10 });
  fake.addFault({ effect: { type: 'unstablePages', mode: 'totalDrift' } });
  expect(await provider.listMachines(live)).toMatchObject({ complete: false });
});

test('a listing that fails on one page is no listing', async () => {
  await start({ reservations: 30 }, { pageSize: 10 });
  const match = { route: '/projects/{id}/hardware-reservations', nth: 2 };
  fake.addFault({ match, effect: { type: 'status', code: 403 } });
  await expect(provider.listMachines(live)).rejects.toMatchObject({ code: 'auth' });
});

test('reboot needs our owner tag, whatever the name', async () => {
  await start({
    devices: [
      { hostname: 'shepherd-ci-ours', tags: OURS },
      { hostname: 'shepherd-ci-orphan' },
      { hostname: 'shepherd-ci-foreign', tags: FOREIGN },
      { hostname: 'shepherd-ci-disputed', tags: [...OURS, ...FOREIGN] },
      { hostname: 'stranger', tags: OURS },
    ],
  });
  const names = ['orphan', 'foreign', 'disputed'].map((name) => `shepherd-ci-${name}`);
  for (const hostname of [...names, 'stranger']) {
    const reboot = provider.rebootMachine(deviceId(hostname), 'force', live);
    await expect(reboot).rejects.toMatchObject({ code: 'conflict' });
  }
  expect(count('POST /devices/{id}/actions')).toBe(0);
  await provider.rebootMachine(deviceId('shepherd-ci-ours'), 'graceful', live);
  expect(count('POST /devices/{id}/actions')).toBe(1);
});

const ACTIONS = { method: 'POST', route: '/devices/{id}/actions' };
const ONE_OF_OURS = { devices: [{ hostname: 'shepherd-ci-ours', tags: OURS }] };

test('vector 27: a reboot whose reply is lost is proven by its event, and never repeated', async () => {
  await start(ONE_OF_OURS);
  fake.addFault({ match: ACTIONS, effect: { type: 'drop', phase: 'after' } });
  const { operationRef } = await provider.rebootMachine(
    deviceId('shepherd-ci-ours'),
    'graceful',
    live,
  );
  expect(operationRef).toMatch(/./);
  expect(count('POST /devices/{id}/actions')).toBe(1);
});

test('vector 27: without an event the outcome is unknown, and it is not repeated', async () => {
  await start(ONE_OF_OURS);
  const id = deviceId('shepherd-ci-ours');
  // The event of an earlier reboot proves nothing of this one.
  await provider.rebootMachine(id, 'graceful', live);
  fake.addFault({ match: ACTIONS, effect: { type: 'drop', phase: 'before' } });
  const reboot = provider.rebootMachine(id, 'graceful', live);
  await expect(reboot).rejects.toMatchObject({ outcome: 'unknown' });
  expect(count('POST /devices/{id}/actions')).toBe(2);
});

test('a hidden device is gone when the token works otherwise and no list shows it', async () => {
  await start(ONE_OF_OURS);
  const id = deviceId('shepherd-ci-ours');
  const match = { method: 'GET', route: '/devices/{id}' };
  fake.addFault({ match, effect: { type: 'status', code: 403 } });
  const withdrawn = provider.getMachine('00000000-0000-4000-8000-00000000dead', live);
  await expect(withdrawn).rejects.toMatchObject({ code: 'not-found' });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'transient' });
  fake.addFault({ effect: { type: 'status', code: 403 } });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'auth' });
});

test('stores the key once, leaves it alone when it is there, and replaces only an earlier one', async () => {
  await start({ reservations: 1 });
  await Promise.all([provider.prepare(live), provider.prepare(live)]);
  expect(count('POST /projects/{id}/ssh-keys')).toBe(1);

  const commented = another({ publicKeyLine: publicKeyLine(1, 'other comment') });
  await commented.prepare(live);
  const stranger = another({ publicKeyLine: publicKeyLine(2) });
  await expect(stranger.prepare(live)).rejects.toMatchObject({ code: 'conflict' });
  expect(count('PATCH /ssh-keys/{id}')).toBe(0);
  const previousKeyLines = [publicKeyLine(1)];
  const changed = another({ publicKeyLine: publicKeyLine(2), previousKeyLines });
  await changed.prepare(live);
  expect(count('POST /projects/{id}/ssh-keys')).toBe(1);
  expect(count('PATCH /ssh-keys/{id}')).toBe(1);
  await Promise.all([commented.stop(), stranger.stop(), changed.stop()]);
});

test('refuses to prepare while two different keys have our label', async () => {
  const key = (mark: number) => ({ label: 'shepherd-ci', key: publicKeyLine(mark) });
  await start({ keys: [key(1), key(2)] });
  const failure = await provider.prepare(live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'conflict' });
  expect((failure as Error).cause).toMatchObject({ kind: 'KeyLabelConflict' });
});

test('vector 30: a key that is stored although the answer is 404 is found by its label', async () => {
  await start({});
  fake.addFault({ effect: { type: 'keyCreate404' } });
  await provider.prepare(live);
  expect(count('POST /projects/{id}/ssh-keys')).toBe(1);
});

test('behind port forwarding the address carries the port of the machine', async () => {
  const nothing = async () => undefined;
  await start(
    { reservations: 1 },
    { sshPortFromCustomdata: true },
    {
      assign: async () => ({ address: '127.0.0.1', sshPort: 40_022 }),
      up: nothing,
      down: nothing,
      reinstalled: nothing,
      gone: nothing,
    },
  );
  const [unused] = (await provider.listMachines(live)).machines;
  const hostname = provider.hostnameFor(unused!.reservationId!);
  const { id } = await provider.createMachine(
    { unused: unused!, witness: WITNESS, hostname },
    live,
  );
  await advance(deps.clock, 1_000);
  expect((await provider.getMachine(id!, live)).address).toBe('127.0.0.1:40022');
  expect((await provider.listMachines(live)).machines[0]?.address).toBe('127.0.0.1:40022');
});

test('vector 33: the name is the prefix and eighteen characters of the slot', async () => {
  await start({});
  expect(provider.hostnameFor('4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111')).toBe(
    'shepherd-ci-4f0c2d9a-7b1e-4c55',
  );
});

test('vector 35: a failure of the whole way holds no token', async () => {
  await start({}, { token: () => TOKEN });
  const failure = await provider.listMachines(live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'auth' });
  const texts: unknown[] = [...deps.lines];
  for (let at = failure; at instanceof Error; at = at.cause) {
    texts.push(at.message, at.stack, JSON.stringify(at));
  }
  expect(texts.join('\n')).not.toContain(TOKEN);
});
