import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { startFakefish } from '../../src/simulator/fakefish/fakefish.ts';
import { inventoryOf } from '../../src/simulator/fakefish/machines/inventory.ts';
import { createFishMachines } from '../../src/simulator/fakefish/machines/machines.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

const PATIENCE = { bootMs: 30_000, rebootMs: 30_000, destroyMs: 30_000, cleanUpMs: 30_000 };

test('a machine of a rack that is there already is tested with its BMC, power and all', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-redfish-'));
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const hosts = createSimulatedHosts({
    dir: join(dir, 'hosts'),
    log: silentLog,
    random: systemRandom,
  });
  const machines = createFishMachines({ hosts, installed: [publicLine], log: silentLog });
  const fake = await startFakefish({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'idrac9',
    pace: 'fast',
    hooks: machines.hooks,
  });
  onTestFinished(async () => {
    await fake.close();
    await hosts.close();
    rmSync(dir, { recursive: true, force: true });
  });
  fake.reset('system-1', 'On');
  const isUp = () => fake.bmcs()[0]!.systems[0]!.progress === 'OSRunning';
  await expect.poll(isUp).toBe(true);
  writeFileSync(join(dir, 'rack.json'), JSON.stringify(inventoryOf(fake, hosts, true)));

  const section = {
    driver: 'redfish',
    inventory: `file:${join(dir, 'rack.json')}`,
    credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
    bmcGap: '1ms',
    powerPoll: '1s',
    callsPerSecond: 0,
  };
  const around = {
    env: { BMC_PASSWORD: fake.credentials.password },
    patience: { ...PATIENCE, probeMs: 250, syncMs: 250, callMs: 30_000, stopMs: 10_000 },
  };
  const options = { ssh, allowDestructive: true };
  const { exitCode, report } = await runTest(section, options, around);
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  const create = 'not supported, and refuses so: create';
  expect(skippedIn(report)).toEqual({
    unannounced: create,
    claims: create,
    'claims-dropped': create,
    create,
    listed: create,
    tags: create,
    idempotent: create,
    witness: create,
    rival: create,
    sweep: create,
    command: 'no --command was given',
    pause: expect.stringContaining('no --pause was given'),
    'tag-changes': 'not supported, and refuses so: tags',
    reinstall: 'not supported, and refuses so: reinstall',
    destroy: create,
    'destroy-again': create,
    reusable: create,
  });
  expect(resultOf(report, 'host-key').message).toBe('the key is the one of the inventory');
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, requestsMost: expect.any(Number) });
});
