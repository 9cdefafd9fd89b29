import { afterEach, expect, test } from 'vitest';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import { witness } from '../../../../src/domain/ids.ts';
import { WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { publicKeyLine } from './setup.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { live, OURS, reservationId, type Stand, startStand } from './stand.ts';

const POST = 'POST /projects/{id}/devices';
const LIST = 'GET /projects/{id}/hardware-reservations';
const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const SLOT = reservationId(1);
const ONE_FREE = { reservations: [{ id: SLOT }] };
const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');

let stand: Stand;
afterEach(async () => {
  expect(stand.fake.violations()).toEqual([]);
  await stand.close();
});

const free = async () => {
  const { machines } = await stand.provider.listMachines(live);
  return machines.filter(({ availability }) => availability === 'KnownUnused');
};
async function order(mark = WITNESS) {
  const [unused] = await free();
  return { unused: unused!, witness: mark, hostname: stand.provider.hostnameFor(SLOT) };
}

test('vector 3: a lost race evicts the reservation at once, without a new listing', async () => {
  stand = await startStand({ reservations: [{ id: SLOT }, { id: reservationId(2) }] });
  const lost = await order();
  const slot = lost.unused.reservationId!;
  stand.fake.snatch(slot);
  const creation = stand.provider.createMachine(lost, live);
  await expect(creation).rejects.toMatchObject({ code: 'race-lost', outcome: 'not-done' });
  expect((await free()).map((each) => each.reservationId)).not.toContain(slot);
  expect(stand.count(LIST)).toBe(1);
  expect(stand.count(POST)).toBe(0);
});

test('vector 9 (driver): another process finds the device by its witness, and lists it', async () => {
  stand = await startStand(ONE_FREE);
  const { id } = await stand.provider.createMachine(await order(), live);
  const restarted = stand.another();
  const found = await restarted.findByWitness(WITNESS, SLOT, live);
  expect(found).toMatchObject({ id, reservationId: SLOT, ownership: 'ours' });
  const { machines } = await restarted.listMachines(live);
  expect(machines.map((each) => [each.id, each.tags[WITNESS_TAG]])).toEqual([[id, WITNESS]]);
});

test('vector 10 (driver): a witness of which nothing is to be seen has no device', async () => {
  stand = await startStand(ONE_FREE);
  expect(await stand.provider.findByWitness(WITNESS, SLOT, live)).toBeNull();
});

test('a witness is looked for past a reservation that is gone; gaps in the list do not tell', async () => {
  const mark = `shepherd-idempotency-${WITNESS}`;
  const devices = [{ hostname: 'shepherd-ci-1', tags: [...OURS, mark] }];
  stand = await startStand({ ...ONE_FREE, devices });
  const gone = await stand.provider.findByWitness(WITNESS, reservationId(9), live);
  expect(gone?.id).toBe(stand.deviceId('shepherd-ci-1'));
  stand.fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const unsure = stand.provider.findByWitness(WITNESS, SLOT, live);
  await expect(unsure).rejects.toMatchObject({ code: 'transient' });
});

test('vector 11 (driver): with a new token the device of the lost reply is found', async () => {
  let token = 'not yet';
  stand = await startStand(ONE_FREE, { config: { token: () => token } });
  token = stand.fake.tokens.user;
  const lost = await order();
  const status = { type: 'status', code: 500, executed: true } as const;
  stand.fake.addFault({ match: CREATE, times: 1, effect: status });
  const look = { method: 'GET', route: '/hardware-reservations/{id}', nth: 2 };
  stand.fake.addFault({ match: { ...look, token }, effect: { type: 'status', code: 401 } });
  const creation = stand.provider.createMachine(lost, live);
  await expect(creation).rejects.toMatchObject({
    code: 'auth',
    outcome: 'unknown',
    cause: { kind: 'Unauthorized', ambiguous: true },
  });
  token = stand.fake.tokens.project;
  const found = await stand.provider.findByWitness(WITNESS, SLOT, live);
  expect(found?.id).toBe(stand.fake.devices()[0]?.id);
});

test('vector 13 (driver): a refused reservation is listed on; to shelve it is the core’s', async () => {
  stand = await startStand(ONE_FREE);
  const refused = await order();
  const body = { errors: ['operating_system is unknown'] };
  stand.fake.addFault({ match: CREATE, effect: { type: 'status', code: 422, body } });
  const creation = stand.provider.createMachine(refused, live);
  await expect(creation).rejects.toMatchObject({ code: 'invalid', outcome: 'not-done' });
  expect(stand.count(POST)).toBe(1);
  await advance(stand.deps.clock, 1);
  expect(await free()).toHaveLength(1);
});

test('vector 24 (driver): with gaps in every page a listing never claims to be complete', async () => {
  const devices = [1, 2, 3].map((n) => ({ hostname: `shepherd-ci-${n}`, tags: OURS }));
  stand = await startStand({ devices }, { config: { pageSize: 2 } });
  expect(await stand.provider.listMachines(live)).toMatchObject({ complete: true });
  // One of each page is left out; the last page has one only, so that one is never seen.
  stand.fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const { machines, complete } = await stand.provider.listMachines(live);
  expect(complete).toBe(false);
  expect(machines.length).toBeGreaterThan(0);
});

test('vector 29: leaves our key under another comment alone, and replaces an earlier one of ours', async () => {
  const key = (line: string) => ({ keys: [{ label: 'shepherd-ci', key: line }] });
  stand = await startStand(key(publicKeyLine(1, 'somebody else wrote this')));
  await stand.provider.prepare(live);
  expect(stand.changes()).toEqual([]);
  await stand.close();

  stand = await startStand(key(publicKeyLine(2)), {
    config: { previousKeyLines: [publicKeyLine(2)] },
  });
  await stand.provider.prepare(live);
  expect(stand.changes()).toEqual(['PATCH /ssh-keys/{id}']);
});

const STATES = [
  ...[['queued', 'Provisioning'] as const, ['provisioning', 'Provisioning'] as const],
  ...[['post_provisioning', 'Provisioning'] as const, ['reinstalling', 'Provisioning'] as const],
  ...[['active', 'Running'] as const, ['inactive', 'Stopped'] as const],
  ...[['powering_on', 'Stopped'] as const, ['powering_off', 'Stopped'] as const],
  ...[['failed', 'ProvisioningFailedPermanent'] as const, ['deprovisioning', 'Missing'] as const],
  ...[['deleted', 'Missing'] as const, ['weird', 'Unknown'] as const],
];

test('vector 31 (driver): a device per state, listed and alone; a new state is told once', async () => {
  const named = STATES.map(([state]) => ({
    hostname: `shepherd-ci-${state.replace('_', '-')}`,
    tags: OURS,
  }));
  const fakequinix = { timings: { tombstoneMs: 600_000, deprovisioningMs: 600_000 } };
  stand = await startStand({ devices: named }, { fakequinix });
  const devices = stand.fake.devices();
  STATES.forEach(([state], n) => stand.fake.setDeviceState(devices[n]!.id, state));
  const { machines } = await stand.provider.listMachines(live);
  const statusById = new Map(machines.map(({ id, status }) => [id, status]));
  for (const [n, [state, status]] of STATES.entries()) {
    const { id } = devices[n]!;
    const alone = await stand.provider.getMachine(id, live);
    expect([state, alone.status, alone.failed]).toEqual([state, status, state === 'failed']);
    // Some servers list no more what is deleted.
    if (state !== 'deleted') expect([state, statusById.get(id)]).toEqual([state, status]);
  }
  const told = stand.deps.lines.filter((line) => line.includes('unknown state'));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain('weird');
});

const SETTINGS = {
  token: '${TOKEN}',
  username: 'tester',
  projectId: '9d1c0000-0000-4000-8000-000000000001',
  devicePrefix: 't-',
  sshKeyLabel: 't',
};
const around = { env: { TOKEN: 'secret' }, baseDirectory: '/', checkFiles: false };
const faultsIn = (change: object) => {
  const { error } = equinixDriver.settings(around).safeParse({ ...SETTINGS, ...change });
  return error?.issues.map(({ path }) => path.join('.')) ?? [];
};

test('vector 33: the driver takes the prefix t-, and names a device by its reservation', async () => {
  stand = await startStand({}, { config: { devicePrefix: 't-' } });
  expect(faultsIn({})).toEqual([]);
  expect(stand.provider.hostnameFor('4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111')).toBe(
    't-4f0c2d9a-7b1e-4c55',
  );
});

test.each([
  ['devicePrefix', { devicePrefix: 'FIX' + 'ME-x-' }],
  ['devicePrefix', { devicePrefix: 'x-fixme-' }],
  ['devicePrefix', { devicePrefix: '' }],
  ['devicePrefix', { devicePrefix: 'under_score-' }],
  ['devicePrefix', { devicePrefix: 'deleted-x-' }],
  ['devicePrefix', { devicePrefix: `${'a'.repeat(45)}-` }],
  ['sshKeyLabel', { sshKeyLabel: '' }],
  ['sshKeyLabel', { sshKeyLabel: 'shepherd-FIX' + 'ME' }],
  ['projectId', { projectId: 'my project' }],
  ['username', { username: '' }],
  ['token', { token: 'written out' }],
  ['baseUrl', { baseUrl: 'http://api.example.net/metal/v1' }],
  ['baseUrl', { baseUrl: 'http://127.0.0.1.example.net/metal/v1' }],
])('vector 33: the driver refuses %s in %j, before any call', async (path, change) => {
  stand = await startStand({});
  expect([...new Set(faultsIn(change))]).toEqual([path]);
  expect(stand.fake.requests()).toEqual([]);
});
