import { expect, onTestFinished, test } from 'vitest';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/stand-ins.ts';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import type { EquinixSettings } from '../../../../src/adapters/provider/equinix/settings.ts';
import type { Driver, FleetCall, FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { openProvider } from '../../../../src/daemon/providers.ts';
import { NothingToDo } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { EquinixEmulatorOptions } from '../../../../emulators/equinix/options.ts';
import { createSeededRandom, driven, runOut } from '../../../doubles/simulated-clock.ts';
import { INSTANCE_SET_ID, live, publicKeyLine } from '../driver-stand.ts';
import { OURS, startStand } from './stand.ts';
import { GIVEN } from './setup.ts';

const ACT = 'POST /devices/{id}/actions';
const DELETE = 'DELETE /devices/{id}';
const DAEMONS = 3;
/** Time limit of a call, without its waits in the queue. */
const LIMIT_MS = 15_000;

/** Three daemons with a provider's default settings. */
async function start(
  hostnames: readonly string[] = ['x'],
  emulator: Partial<EquinixEmulatorOptions> = {},
) {
  const devices = hostnames.map((name) => ({ hostname: `shepherd-ci-${name}`, tags: OURS }));
  const stand = await startStand({ devices }, { emulator });
  const { fake } = stand;
  const { clock, network, log, metrics } = stand.deps;
  const around = { env: { TOKEN: fake.tokens.user }, baseDirectory: '/', checkFiles: false };
  const given = { ...GIVEN, baseUrl: fake.url, projectId: fake.projectId };
  const settings = equinixDriver.settings(around).parse(given);
  const common = { instanceSetId: INSTANCE_SET_ID, sharedTags: {}, callsPerSecond: 0 };
  const overNetwork: Driver = {
    ...(equinixDriver as Driver),
    open: (own, context) => equinixDriver.open(own as EquinixSettings, { ...context, network }),
  };
  const daemons = Array.from({ length: DAEMONS }, (_, n) => {
    const { provider } = openProvider(
      providerName('equinix'),
      { driver: 'equinix', ...common, ...settings } as never,
      {
        ...{ clock, log, version: '1', publicKey: publicKeyLine(1), daemons: () => DAEMONS },
        random: createSeededRandom(n + 1),
        metrics: { ...silentMetrics, ...metrics },
        records: createMemoryRecords(createSeededRandom(2)),
        drivers: new Map([[equinixDriver.name, overNetwork]]),
      },
    );
    onTestFinished(() => runOut(clock, provider.stop()));
    return provider;
  });
  const provider = driven(clock, daemons[0]!);
  return { ...stand, clock, daemons, provider, id: fake.devices()[0]!.id };
}

type ProviderOrder = (provider: FleetProvider, id: string, how: FleetCall) => Promise<unknown>;
const ORDERS: readonly (readonly [string, string, ProviderOrder])[] = [
  ['a reboot', ACT, (provider, id, how) => provider.rebootMachine(id, 'graceful', how)],
  ['power', ACT, (provider, id, how) => provider.setPower(id, 'off', how)],
  ['a reinstallation', ACT, (provider, id, how) => provider.reinstallMachine(id, how)],
  ['a deletion', DELETE, (provider, id, how) => provider.deprovisionMachine(id, how)],
];

test.each(ORDERS)(
  'A4: %s waits in the queue past its limit, and is checked just before it is sent',
  async (_, request, order) => {
    const { provider, id, sent, count } = await start();
    const sentBefore: number[] = [];
    const beforeSending = async () => void sentBefore.push(sent().length);
    await order(provider, id, { ...live, timeoutMs: LIMIT_MS, beforeSending });
    expect(count(request)).toBe(1);
    expect(sent()[sentBefore.at(-1)!], 'nothing was waited for after the check').toBe(request);
  },
);

test.each(ORDERS)('A4: %s is not sent once it is withdrawn', async (_, request, order) => {
  const { provider, id, count, fake } = await start();
  const cause = new NothingToDo('it came back');
  const how = { ...live, beforeSending: () => Promise.reject(cause) };
  await expect(order(provider, id, how)).rejects.toBe(cause);
  expect(count(request)).toBe(0);
  expect(fake.devices()[0]?.tags, 'what was prepared is put back').toEqual(OURS);
});

test('A4: counts an answer that takes too long against the limit', async () => {
  const { provider, id, fake } = await start();
  fake.addFault({ effect: { type: 'hang', phase: 'before' } });
  const late = provider.rebootMachine(id, 'graceful', { ...live, timeoutMs: LIMIT_MS });
  await expect(late).rejects.toMatchObject({ code: 'aborted', outcome: 'not-done' });
});

test('A4: does not count a wait that the server requests against any limit', async () => {
  const { provider, id, fake, count } = await start();
  const headers = { 'Retry-After': '30' };
  const match = { method: 'POST', route: '/devices/{id}/actions' };
  fake.addFault({ match, times: 1, effect: { type: 'status', code: 429, headers } });
  await provider.rebootMachine(id, 'graceful', { ...live, timeoutMs: LIMIT_MS });
  expect(count(ACT)).toBe(2);
});

test('A3: looks just before each request of a reboot, of power, and of a deletion', async () => {
  const { provider, id, sent, lastSeq } = await start();
  const look = 'GET /devices/{id}';
  await provider.rebootMachine(id, 'graceful', live);
  expect(sent()).toEqual(['GET /devices/{id}/events', look, ACT]);
  const seq = lastSeq();
  await provider.setPower(id, 'off', live);
  await provider.deprovisionMachine(id, live);
  expect(sent(seq)).toEqual([look, ACT, look, 'PUT /devices/{id}', DELETE]);
});

test("sends the requests of a give-back before all others in the API's queue", async () => {
  const { provider, id, sent } = await start();
  const looks = [1, 2, 3].map(() => provider.getMachine(id, live));
  await Promise.allSettled([...looks, provider.deprovisionMachine(id, live)]);
  expect(sent().indexOf(DELETE), 'two looks were begun before it').toBeLessThanOrEqual(4);
});

test('A4: sends a reboot within a minute from each of three daemons that also list', async () => {
  const { daemons, fake, clock, count } = await start(['a', 'b', 'c'], { profile: 'real' });
  const ids = fake.devices().map(({ id }) => id);
  const startMs = clock.monotonic();
  const reboots = daemons.map(async (daemon, n) => {
    const listing = daemon.listMachines(live);
    // The ladder checks whose machine it is before it sends a request.
    await daemon.getMachine(ids[n]!, live);
    await daemon.rebootMachine(ids[n]!, 'graceful', { ...live, timeoutMs: LIMIT_MS });
    const seconds = (clock.monotonic() - startMs) / 1_000;
    await listing;
    return seconds;
  });
  const seconds = await runOut(clock, Promise.all(reboots));
  expect(count(ACT)).toBe(DAEMONS);
  expect(Math.max(...seconds), `asked after ${seconds.join(', ')} s`).toBeLessThanOrEqual(60);
});
