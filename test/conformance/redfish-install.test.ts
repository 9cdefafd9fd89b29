import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startFakefish } from '../../src/simulator/fakefish/fakefish.ts';
import { inventoryOf } from '../../src/simulator/fakefish/machines/inventory.ts';
import { createFishMachines } from '../../src/simulator/fakefish/machines/machines.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

const PATIENCE = {
  ...{ bootMs: 60_000, rebootMs: 40_000, destroyMs: 40_000, cleanUpMs: 40_000 },
  ...{ probeMs: 250, syncMs: 250, callMs: 60_000, stopMs: 10_000 },
};
const TIMINGS = { offMs: 20, onMs: 20, gracefulMs: 50, postMs: 50, installMs: 100 };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A rack of empty machines, and the section of a provider that installs them. */
async function startRack() {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-redfish-'));
  const seedUrl = `http://127.0.0.1:${await freePort()}`;
  const hosts = createSimulatedHosts({
    ...{ dir: join(dir, 'hosts'), log: silentLog, random: systemRandom, light: true },
  });
  const machines = createFishMachines({ hosts, seedUrl, log: silentLog });
  const fake = await startFakefish({
    listen: { host: '127.0.0.1', port: 0 },
    systems: 3,
    timings: TIMINGS,
    hooks: machines.hooks,
  });
  onTestFinished(async () => {
    await fake.close();
    await hosts.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const inventory = join(dir, 'machines.json');
  writeFileSync(inventory, JSON.stringify(inventoryOf(fake, hosts, false)));
  const section = {
    driver: 'redfish',
    inventory: `file:${inventory}`,
    credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
    callsPerSecond: 0,
    bmcGap: '1ms',
    powerPoll: '1s',
    ownerMark: 'assetTag',
    install: {
      method: 'vmedia',
      iso: `${seedUrl}/images/{token}.iso`,
      seedListen: seedUrl.slice('http://'.length),
      seedKey: '${SEED_KEY}',
    },
  };
  const env = { BMC_PASSWORD: fake.credentials.password, SEED_KEY: 's'.repeat(43) };
  return { fake, section, env };
}

test('a rack that is installed passes every step, and is left as it was', async () => {
  const { fake, section, env } = await startRack();
  const options = { command: 'true', timeoutMs: 300_000 };
  const { exitCode, report } = await runTest(section, options, { env, patience: PATIENCE });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    pause: 'no --pause was given; ssh -p PORT root@127.0.0.1',
  });
  expect(resultOf(report, 'host-key').message).toBe('the machine showed its instance secret');
  for (const { sessions, sessionsMost, requestsMost, systems } of fake.bmcs()) {
    expect([sessions, sessionsMost <= 2, requestsMost <= 2]).toEqual([0, true, true]);
    for (const { assetTag, boot, media } of systems) {
      expect([assetTag, boot.enabled, media.map(({ image }) => image)]).toEqual([
        ...['', 'Disabled', [null, null]],
      ]);
    }
  }
});
