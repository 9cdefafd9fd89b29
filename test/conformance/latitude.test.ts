import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startFakelatitude } from '../../src/simulator/fakelatitude/fakelatitude.ts';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

/** The lifecycle of the emulator takes seconds where the stub takes milliseconds. */
const PATIENCE = { bootMs: 60_000, rebootMs: 30_000, destroyMs: 30_000, cleanUpMs: 30_000 };

test('passes every step against the emulator, with machines behind it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-latitude-'));
  const sshPort = await takeFreePort(new Set());
  const hosts = createSimulatedHosts({
    ...{ dir, log: silentLog, random: systemRandom, throwaway: true, sshPort },
  });
  const fake = await startFakelatitude({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    timings: { startingMs: 20, flashMs: 20, deployingMs: 200, erasingMs: 50, rebootUpMs: 200 },
    hooks: hosts,
    log: silentLog,
  });
  onTestFinished(async () => {
    await fake.close();
    await hosts.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const section = {
    driver: 'latitude',
    baseUrl: fake.url,
    token: '${TOKEN}',
    project: fake.project,
    slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 2 }],
    namePrefix: 'conformance-',
    sshKeyName: 'conformance',
    readsPerMinute: 600,
    writesPerMinute: 200,
    staleOn: '1ms',
    settle: '1s',
    callsPerSecond: 0,
  };
  const around = {
    env: { TOKEN: fake.token },
    patience: { ...PATIENCE, probeMs: 250, syncMs: 250, callMs: 30_000, stopMs: 10_000 },
  };
  const options = { command: 'true', allowDestructive: true, ssh: { port: sshPort } };
  const { exitCode, report } = await runTest(section, options, around);
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    claims: 'the driver keeps nothing of its machines on record',
    'claims-dropped': 'the driver keeps nothing of its machines on record',
    pause: expect.stringMatching(/^no --pause was given; ssh -p PORT ubuntu@127\.[\d.]+$/),
  });
  expect(resultOf(report, 'host-key').message).toBe('the machine showed its instance secret');
  expect(resultOf(report, 'stop').message).toBe('a creation was under way');
  expect(hosts.list(), 'no machine is left').toEqual([]);
  expect(fake.userData(), 'nor a record').toEqual([]);
});
