import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startFakequinix } from '../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../src/simulator/fakequinix/options.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import type { SimulatedHosts } from '../../src/simulator/hosts/options.ts';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

let dir: string;
let hosts: SimulatedHosts;
let fake: Fakequinix;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'conformance-equinix-'));
  hosts = createSimulatedHosts({ dir, log: silentLog, random: systemRandom, throwaway: true });
  fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    reservations: 3,
    hooks: hosts,
    log: silentLog,
  });
});
afterEach(async () => {
  await fake.close();
  await hosts.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The lifecycle of the emulator takes seconds where the stub takes milliseconds. */
const PATIENCE = { bootMs: 30_000, rebootMs: 20_000, destroyMs: 30_000, cleanUpMs: 30_000 };

const sectionOf = ({ url, projectId }: Fakequinix) => ({
  driver: 'equinix',
  baseUrl: url,
  token: '${TOKEN}',
  username: 'test',
  projectId,
  devicePrefix: 'conformance-',
  sshKeyLabel: 'conformance',
  apiRate: '1ms',
  reservationCacheTimeout: '1s',
  probeGap: '200ms',
  settle: '2s',
  sshPortFromCustomdata: true,
  callsPerSecond: 0,
});

test('passes every step against the emulator, with machines behind it', async () => {
  const around = {
    env: { TOKEN: fake.tokens.project },
    patience: { ...PATIENCE, probeMs: 250, syncMs: 250, callMs: 30_000, stopMs: 10_000 },
  };
  const { exitCode, report } = await runTest(sectionOf(fake), { command: 'true' }, around);
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    claims: 'the driver keeps nothing of its machines on record',
    'claims-dropped': 'the driver keeps nothing of its machines on record',
    pause: 'no --pause was given; ssh -p PORT root@127.0.0.1',
  });
  expect(resultOf(report, 'host-key').message).toBe('the machine showed its instance secret');
  expect(resultOf(report, 'stop').message).toBe('a creation was under way');
  expect(hosts.list(), 'no machine is left').toEqual([]);
});
