import { expect, test, onTestFinished } from 'vitest';
import {
  DEFAULT_OPERATING_SYSTEM,
  catalogueWith,
} from '../../../../emulators/equinix/state/catalogue.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import {
  equinixSchema,
  type EquinixSettings,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import { witness } from '../../../../src/domain/ids.ts';
import { advance, driven, runOut } from '../../../doubles/simulated-clock.ts';
import { live, callOf, driverContext, publicKeyLine } from '../driver-stand.ts';
import { answer, GIVEN, recordingDeps, startScriptedApi, TOKEN, PROJECT_ID } from './setup.ts';
import { FOREIGN, OURS, reservationId, startStand, type EquinixStand } from './stand.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const LIST = 'GET /projects/{id}/hardware-reservations';
const slots = (count: number) => ({ reservations: count });
const order = async ({ provider }: EquinixStand) => {
  const [unused] = (await provider.listMachines(live)).machines;
  return { unused: unused!, witness: WITNESS, hostname: 'shepherd-ci-x' };
};

test('lists devices with our prefix, each with its owner, and no others', async () => {
  const { provider, deviceId } = await startStand({
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
  // A read by id finds the machine, so it is not Missing. It is nobody's, whatever its tags say.
  const stranger = await provider.getMachine(deviceId('stranger'), live);
  expect(stranger).toMatchObject({ hostname: 'stranger', ownership: 'foreign' });
});

test('caches the reservation list, and removes used and lost slots at once', async () => {
  const stand = await startStand(slots(3));
  const { provider, fake } = stand;
  const { machines } = await provider.listMachines(live);
  const [first, second, third] = machines.map((machine) => machine.reservationId!);
  fake.snatch(first!);
  const free = async () =>
    (await provider.listMachines(live)).machines.map((machine) => machine.reservationId);
  expect(new Set(await free())).toEqual(new Set([second, third]));
  const lost = { ...(await order(stand)), unused: machines[1]! };
  fake.snatch(second!);
  await expect(provider.createMachine(lost, live)).rejects.toMatchObject({ code: 'race-lost' });
  expect(await free()).toEqual([third]);
  expect(stand.count(LIST)).toBe(1);
});

test('reads an old reservation list again', async () => {
  const { provider, count } = await startStand(slots(2), {
    config: { reservationCacheTimeout: 0 },
  });
  await provider.listMachines(live);
  await provider.listMachines(live);
  expect(count(LIST)).toBe(2);
});

test('reads the list anew after a refused creation', async () => {
  const stand = await startStand(slots(2));
  const asked = await order(stand);
  const body = { errors: ['no'] };
  const match = { method: 'POST', route: '/projects/{id}/devices' };
  stand.fake.addFault({ match, effect: { type: 'status', code: 422, body } });
  const refused = stand.provider.createMachine(asked, live);
  await expect(refused).rejects.toMatchObject({ code: 'invalid', outcome: 'not-done' });
  await advance(stand.deps.clock, 1);
  expect((await stand.provider.listMachines(live)).machines).toHaveLength(2);
  expect(stand.count(LIST)).toBe(2);
});

test('looks for the creation key beyond a missing reservation, and ignores gaps in the list', async () => {
  const mark = `shepherd-idempotency-${WITNESS}`;
  const { provider, fake, deviceId } = await startStand({
    reservations: [{ id: reservationId(1) }],
    devices: [{ hostname: 'shepherd-ci-1', tags: [...OURS, mark] }],
  });
  const gone = await provider.findByWitness(WITNESS, reservationId(9), live);
  expect(gone?.id).toBe(deviceId('shepherd-ci-1'));
  fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const unsure = provider.findByWitness(WITNESS, reservationId(1), live);
  await expect(unsure).rejects.toMatchObject({ code: 'transient' });
});

test('treats a hidden device as gone when the token works and no list shows it', async () => {
  const { provider, fake, deviceId } = await startStand({
    devices: [{ hostname: 'shepherd-ci-ours', tags: OURS }],
  });
  const id = deviceId('shepherd-ci-ours');
  const match = { method: 'GET', route: '/devices/{id}' };
  fake.addFault({ match, effect: { type: 'status', code: 403 } });
  const withdrawn = provider.getMachine('00000000-0000-4000-8000-00000000dead', live);
  await expect(withdrawn).rejects.toMatchObject({ code: 'not-found' });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'transient' });
  fake.addFault({ effect: { type: 'status', code: 403 } });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'auth' });
});

test('reports an unknown state once', async () => {
  const { provider, fake, deps } = await startStand({
    devices: [{ hostname: 'shepherd-ci-odd', tags: OURS }],
  });
  const [{ id } = { id: '' }] = fake.devices();
  fake.setDeviceState(id, 'weird');
  for (let n = 0; n < 2; n++) {
    expect(await provider.getMachine(id, live)).toMatchObject({ status: 'Unknown' });
  }
  const told = deps.lines.filter((line) => line.includes('unknown state'));
  expect(told).toEqual([expect.stringContaining('weird')]);
});

const schema = equinixDriver.settings({ env: { TOKEN }, baseDirectory: '/', checkFiles: false });
const settings = (change: object = {}) =>
  schema.parse({ ...GIVEN, apiRate: '0s', ...change }) as EquinixSettings;

async function start(status: number, change: object) {
  const meta = { total: 0, current_page: 1, last_page: 1 };
  const deps = recordingDeps();
  const lists = { devices: [], hardware_reservations: [], meta };
  const api = await startScriptedApi((_, res) => answer(res, status, lists), deps.network);
  const metrics = { ...silentMetrics, ...deps.metrics };
  const opened = equinixDriver.open(
    settings({ baseUrl: api.url, ...change }),
    driverContext('equinix', { ...deps, metrics, publicKey: publicKeyLine(1) }),
  );
  onTestFinished(() => runOut(deps.clock, opened.stop()));
  return { ...deps, api, provider: driven(deps.clock, opened) };
}

test('installs the newest system of its line that the emulator offers', () => {
  const line = catalogueWith({}).operatingSystems.filter(({ slug }) => slug.startsWith('ubuntu_'));
  const newest = line.map(({ slug }) => slug).toSorted();
  expect(settings().os).toBe(newest.at(-1));
  expect(DEFAULT_OPERATING_SYSTEM).toBe(settings().os);
});

test('ends and waits as configured', async () => {
  const limits = { operationTimeout: '60s', backoffInitial: '4s', backoffMaximum: '5s' };
  const { delaysMs: asked, provider } = await start(500, {
    ...limits,
    connectTimeout: '11m',
    attemptTimeout: '30s',
  });
  const failed = provider.getMachine('e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701', callOf());
  await expect(failed).rejects.toMatchObject({
    answer: { messages: ['no success within 60000 ms'] },
  });
  const delaysMs = asked.filter((ms) => ms > 0);
  expect(delaysMs).toEqual(expect.arrayContaining([30_000, 660_000]));
  // The limit of an attempt, perhaps the rest of the operation's, covers the limit of its
  // connection.
  const isLimit = (n: number) => [delaysMs[n], delaysMs[n - 1]].includes(660_000);
  const waitsMs = delaysMs.filter((_, n) => !isLimit(n));
  expect(waitsMs.length).toBeGreaterThan(2);
  for (const ms of waitsMs) expect(ms).toBeGreaterThanOrEqual(2_000);
  for (const ms of waitsMs) expect(ms).toBeLessThanOrEqual(7_500);
});

const parser = equinixSchema({ env: { TOKEN }, baseDirectory: '/', checkFiles: false });
const WHOLE = {
  baseUrl: 'https://api.example.net/metal/v1',
  token: '${TOKEN}',
  username: 'tester',
  projectId: PROJECT_ID,
  devicePrefix: 'shepherd-ci-',
  sshKeyLabel: 'shepherd-ci',
};
/** The faulty keys. */
const pathsOf = (change: object) => {
  const { error } = parser.safeParse({ ...WHOLE, ...change });
  return [...new Set(error?.issues.map(({ path }) => path.join('.')) ?? [])];
};

test.each([
  ['username', { username: '' }],
  ['token', { token: '${NOT_THERE}' }],
  ['projectId', { projectId: '' }],
  ['projectId', { projectId: 'my-project' }],
  ['sshKeyLabel', { sshKeyLabel: '' }],
  ['sshKeyLabel', { sshKeyLabel: 'x-fixme' }],
  ['devicePrefix', { devicePrefix: '' }],
  ['devicePrefix', { devicePrefix: 'FIXME-x-' }],
  ['devicePrefix', { devicePrefix: 'no-hyphen-at-end' }],
  ['devicePrefix', { devicePrefix: 'under_score-' }],
  ['devicePrefix', { devicePrefix: 'Upper-' }],
  ['devicePrefix', { devicePrefix: 'deleted-x-' }],
  ['devicePrefix', { devicePrefix: `${'a'.repeat(45)}-` }],
  ['baseUrl', { baseUrl: 'not a url' }],
  ['baseUrl', { baseUrl: 'ftp://api.example.net' }],
  ['baseUrl', { baseUrl: 'http://api.example.net/metal/v1' }],
  ['baseUrl', { baseUrl: 'https://user@api.example.net/' }],
  ['parallelism', { parallelism: 0 }],
  ['apiRate', { apiRate: '-1s' }],
  ['pageSize', { pageSize: 1001 }],
])('vector 33: reports %s as the fault in %j', (path, change) => {
  expect(pathsOf(change)).toEqual([path]);
});

test('allows plain http on loopback, or where it is configured', () => {
  const faults = (baseUrl: string, allowInsecureHttp = false) =>
    pathsOf({ baseUrl, allowInsecureHttp });
  for (const host of ['127.0.0.1:81', 'localhost', '[::1]:8080']) {
    expect(faults(`http://${host}/metal/v1`)).toEqual([]);
  }
  expect(faults('http://127.0.0.1.example.net/')).toEqual(['baseUrl']);
  expect(faults('http://api.example.net/', true)).toEqual([]);
});

test('accepts a longest prefix that still makes a host name', () => {
  expect(pathsOf({ devicePrefix: `${'a'.repeat(44)}-` })).toEqual([]);
});
