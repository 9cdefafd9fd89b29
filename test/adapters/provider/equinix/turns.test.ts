import { afterEach, expect, test } from 'vitest';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { createSeededRandom, driven } from '../../../doubles/simulated-clock.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { openProvider } from '../../../../src/daemon/providers.ts';
import { NothingToDo } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { over } from './fleet.ts';
import { INSTANCE_SET_ID, publicKeyLine } from './setup.ts';
import { live, OURS, type Stand, startStand } from './stand.ts';

const NAME = 'shepherd-ci-x';
const ACT = 'POST /devices/{id}/actions';
const DAEMONS = 3;
/** What a call may take, without its waits for a turn. */
const LIMIT_MS = 15_000;

let stand: Stand;
let provider: FleetProvider;
afterEach(async () => {
  await provider.stop();
  await stand.close();
});

/** One of three daemons, with the settings that a provider has when nothing is said of them. */
async function start(device: object = {}): Promise<void> {
  stand = await startStand({ devices: [{ hostname: NAME, tags: OURS, ...device }] });
  const { fake } = stand;
  const schema = equinixDriver.settings({
    env: { TOKEN: fake.tokens.user },
    baseDirectory: '/',
    checkFiles: false,
  });
  const settings = schema.parse({
    baseUrl: fake.url,
    token: '${TOKEN}',
    username: 'tester',
    projectId: fake.projectId,
    devicePrefix: 'shepherd-ci-',
    sshKeyLabel: 'shepherd-ci',
  });
  const { clock, network, random, log, metrics } = stand.deps;
  const opened = openProvider(
    providerName('equinix'),
    {
      driver: 'equinix',
      instanceSetId: INSTANCE_SET_ID,
      sharedTags: {},
      callsPerSecond: 0,
      ...settings,
    } as never,
    {
      clock,
      random,
      log,
      metrics: { ...silentMetrics, ...metrics },
      version: '1',
      records: createMemoryRecords(createSeededRandom(2)),
      drivers: over(network),
      publicKey: publicKeyLine(1),
      daemons: () => DAEMONS,
    },
  );
  provider = driven(clock, opened.provider);
}
const id = () => stand.fake.devices()[0]!.id;

type Order = (how: Parameters<FleetProvider['setPower']>[2]) => Promise<unknown>;
const ORDERS: readonly (readonly [string, string, Order])[] = [
  ['a reboot', ACT, (how) => provider.rebootMachine(id(), 'graceful', how)],
  ['power', ACT, (how) => provider.setPower(id(), 'off', how)],
  ['a reinstallation', ACT, (how) => provider.reinstallMachine(id(), how)],
  ['a deletion', 'DELETE /devices/{id}', (how) => provider.deprovisionMachine(id(), how)],
];

test.each(ORDERS)(
  'A4: the wait for a turn among three daemons does not count against the limit of %s',
  async (_, request, order) => {
    await start();
    await order({ ...live, timeoutMs: LIMIT_MS });
    expect(stand.count(request)).toBe(1);
  },
);

test.each(ORDERS)('A4: whether it is still wanted is checked just before %s', async (...row) => {
  const [, request, order] = row;
  await start();
  const requestsBefore: number[] = [];
  const beforeSending = async () => void requestsBefore.push(stand.fake.requests().length);
  await order({ ...live, beforeSending });
  const lines = stand.fake.requests().map(({ method, route }) => `${method} ${route}`);
  expect(lines[requestsBefore.at(-1)!], 'nothing was waited for after the check').toBe(request);
});

test.each(ORDERS)('A4: %s that is not wanted any more is not sent', async (_, request, order) => {
  await start();
  const cause = new NothingToDo('it came back');
  const how = { ...live, beforeSending: () => Promise.reject(cause) };
  await expect(order(how)).rejects.toBe(cause);
  expect(stand.count(request)).toBe(0);
  const tags = stand.fake.devices()[0]?.tags;
  expect(tags, 'what was prepared is put back').toEqual(OURS);
});

test('A4: an answer that takes too long does count', async () => {
  await start();
  stand.fake.addFault({ effect: { type: 'hang', phase: 'before' } });
  const late = provider.rebootMachine(id(), 'graceful', { ...live, timeoutMs: LIMIT_MS });
  await expect(late).rejects.toMatchObject({ code: 'aborted', outcome: 'not-done' });
});

test('A4: a wait that the server asks for counts against no limit', async () => {
  await start();
  const headers = { 'Retry-After': '30' };
  const match = { method: 'POST', route: '/devices/{id}/actions' };
  stand.fake.addFault({ match, times: 1, effect: { type: 'status', code: 429, headers } });
  await provider.rebootMachine(id(), 'graceful', { ...live, timeoutMs: LIMIT_MS });
  expect(stand.count(ACT)).toBe(2);
});

test('A3: a reboot is three requests: the device is looked at just before it is asked for', async () => {
  await start();
  await provider.rebootMachine(id(), 'graceful', live);
  const lines = stand.fake.requests().map(({ method, route }) => `${method} ${route}`);
  expect(lines).toEqual(['GET /devices/{id}/events', 'GET /devices/{id}', ACT]);
});

test('A3: power is two requests, and a deletion three', async () => {
  await start();
  await provider.setPower(id(), 'off', live);
  await provider.deprovisionMachine(id(), live);
  const lines = stand.fake.requests().map(({ method, route }) => `${method} ${route}`);
  const given = ['PUT /devices/{id}', 'DELETE /devices/{id}'];
  expect(lines).toEqual(['GET /devices/{id}', ACT, 'GET /devices/{id}', ...given]);
});

test('what gives a machine back goes before all that waits for a turn at the API', async () => {
  await start();
  const looks = [1, 2, 3].map(() => provider.getMachine(id(), live));
  const given = provider.deprovisionMachine(id(), live);
  await Promise.allSettled([...looks, given]);
  const methods = stand.fake.requests().map(({ method }) => method);
  expect(methods.indexOf('DELETE'), 'two looks were begun before it').toBeLessThanOrEqual(4);
});
