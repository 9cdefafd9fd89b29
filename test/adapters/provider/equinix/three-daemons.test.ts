import { afterEach, expect, test } from 'vitest';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  runOut,
} from '../../../doubles/simulated-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import { openProvider } from '../../../../src/daemon/providers.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../../src/simulator/fakequinix/world.ts';
import { over } from './fleet.ts';
import { INSTANCE_SET_ID, publicKeyLine } from './setup.ts';
import { live, OURS } from './stand.ts';

const DAEMONS = 3;
const ACT = 'POST /devices/{id}/actions';
/** What a call may take, without its waits for a turn. */
const LIMIT_MS = 15_000;

let fake: Fakequinix;
const clock = createSimulatedClock();
const network = createMemoryNetwork(clock);
let daemons: FleetProvider[];
afterEach(async () => {
  await runOut(clock, Promise.all(daemons.map((daemon) => daemon.stop())));
  expect(fake.violations()).toEqual([]);
  await fake.close();
});

/** A daemon's provider, with the settings that it has when nothing is said of them. */
function open(n: number): FleetProvider {
  const around = { env: { TOKEN: fake.tokens.user }, baseDirectory: '/', checkFiles: false };
  const settings = equinixDriver
    .settings(around)
    .parse({
      baseUrl: fake.url,
      token: '${TOKEN}',
      username: 'tester',
      projectId: fake.projectId,
      devicePrefix: 'shepherd-ci-',
      sshKeyLabel: 'shepherd-ci',
    });
  const common = { instanceSetId: INSTANCE_SET_ID, sharedTags: {}, callsPerSecond: 0 };
  const { provider } = openProvider(
    providerName('equinix'),
    { driver: 'equinix', ...common, ...settings } as never,
    {
      clock,
      random: createSeededRandom(n + 1),
      log: silentLog,
      metrics: silentMetrics,
      version: '1',
      records: createMemoryRecords(createSeededRandom(2)),
      drivers: over(network),
      publicKey: publicKeyLine(1),
      daemons: () => DAEMONS,
    },
  );
  return provider;
}

async function start(): Promise<void> {
  const named = (hostname: string) => ({ hostname, tags: OURS });
  const world = { devices: ['a', 'b', 'c'].map((name) => named(`shepherd-ci-${name}`)) };
  const listen = { host: '127.0.0.1', port: 0, network };
  fake = await startFakequinix({
    listen,
    profile: 'real',
    clock,
    world: parseWorld(world, 'test'),
  });
  daemons = Array.from({ length: DAEMONS }, (_, n) => open(n));
}

test('A4: each of three daemons that also lists asks for a reboot within a minute', async () => {
  await start();
  const ids = fake.devices().map(({ id }) => id);
  const startMs = clock.monotonic();
  const reboots = daemons.map(async (daemon, n) => {
    const listing = daemon.listMachines(live);
    // The ladder looks whose machine it is before it asks.
    await daemon.getMachine(ids[n]!, live);
    await daemon.rebootMachine(ids[n]!, 'graceful', { ...live, timeoutMs: LIMIT_MS });
    const seconds = (clock.monotonic() - startMs) / 1_000;
    await listing;
    return seconds;
  });
  const seconds = await runOut(clock, Promise.all(reboots));
  const asked = fake.requests().filter(({ method, route }) => `${method} ${route}` === ACT);
  expect(asked).toHaveLength(DAEMONS);
  expect(Math.max(...seconds), `asked after ${seconds.join(', ')} s`).toBeLessThanOrEqual(60);
});
