import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import type { SimulatedHosts } from '../../src/simulator/hosts/options.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import { badIn, outcomes, resultOf, runTest, skippedIn } from './stand.ts';

/** What only a driver that makes and changes machines is tested for. */
const NOT_FOR_LISTS = {
  unannounced: 'not supported, and refuses so: create',
  create: 'not supported, and refuses so: create',
  claims: 'not supported, and refuses so: create',
  listed: 'not supported, and refuses so: create',
  tags: 'not supported, and refuses so: create',
  idempotent: 'not supported, and refuses so: create',
  witness: 'not supported, and refuses so: create',
  rival: 'not supported, and refuses so: create',
  sweep: 'not supported, and refuses so: create',
  'tag-changes': 'not supported, and refuses so: tags',
  reboot: 'not supported, and refuses so: reboot',
  power: 'not supported, and refuses so: power',
  reinstall: 'not supported, and refuses so: reinstall',
  destroy: 'not supported, and refuses so: create',
  'destroy-again': 'not supported, and refuses so: create',
  reusable: 'not supported, and refuses so: create',
  'claims-dropped': 'not supported, and refuses so: create',
};
const NOT_ASKED = {
  command: 'no --command was given',
  pause: expect.stringContaining('no --pause was given'),
};

let dir: string;
let hosts: SimulatedHosts;
let section: Record<string, unknown>;
let ssh: { keyPath: string };
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'static-'));
  ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  hosts = createSimulatedHosts({ dir: join(dir, 'hosts'), log: silentLog, random: systemRandom });
  await hosts.assign({ id: 'rack-1', hostname: 'rack-1', authorizedKeys: [publicLine] });
  await hosts.up('rack-1');
  section = {
    driver: 'static',
    inventory: `file:${join(dir, 'machines.json')}`,
    callsPerSecond: 0,
  };
});
afterEach(async () => {
  await hosts.close();
  rmSync(dir, { recursive: true, force: true });
});

function list(hostKey: string | null): void {
  const { port } = hosts.list()[0]!;
  const entry = { ID: 'rack-1', Addr: '127.0.0.1', Location: 'lab', SshPort: port };
  const key = hostKey === null ? {} : { HostKey: `ssh-ed25519 ${hostKey}` };
  writeFileSync(join(dir, 'machines.json'), JSON.stringify([{ ...entry, ...key }]));
}

test('a listed machine with a known key is tested as far as a list goes', async () => {
  list(hosts.list()[0]!.hostKey);
  const { exitCode, report } = await runTest(section, { ssh });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({ ...NOT_FOR_LISTS, ...NOT_ASKED });
  expect(resultOf(report, 'host-key').message).toBe('the key is the one of the inventory');
});

test('B4: a listed machine without a key: its policy decides, strict unless it says another', async () => {
  list(null);
  const tofu = await runTest({ ...section, hostKeyPolicy: 'tofu' }, { ssh });
  expect(badIn(tofu.report)).toEqual([]);
  expect(resultOf(tofu.report, 'host-key').message).toMatch(/^nothing proves it; the policy pins/);

  const strict = await runTest(section, { ssh: { ...ssh, hostKeyPolicy: 'tofu' } });
  expect(badIn(strict.report)).toEqual([]);
  expect(strict.exitCode).toBe(0);
  expect(skippedIn(strict.report)).toEqual({
    ...NOT_FOR_LISTS,
    'host-key': 'the inventory knows no host key, and policy is strict',
    boot: 'builds on "host-key", which was skipped',
    command: 'builds on "boot", which was skipped',
    pause: 'builds on "boot", which was skipped',
  });
});

test('a listed machine with another key fails', async () => {
  await hosts.assign({ id: 'rack-2', hostname: 'rack-2', authorizedKeys: [] });
  list(hosts.list().find(({ deviceId }) => deviceId === 'rack-2')!.hostKey);
  const { exitCode, report } = await runTest(section, { ssh });
  expect(exitCode).toBe(1);
  expect(outcomes(report)).toMatchObject({ ssh: 'passed', 'host-key': 'failed', boot: 'not-run' });
  expect(resultOf(report, 'host-key').message).toMatch(/differs from the one in the inventory/);
});

test('the machine is chosen by its id', async () => {
  list(null);
  const wrong = await runTest(section, { ssh, reservation: 'rack-9' });
  expect(wrong.report.passed).toBe(true);
  expect(skippedIn(wrong.report)).toMatchObject({ existing: 'the inventory has no such machine' });
  const known = { ...section, hostKeyPolicy: 'tofu' };
  const right = await runTest(known, { ssh, reservation: 'rack-1', only: ['boot'] });
  expect(resultOf(right.report, 'existing').message).toBe('rack-1');
});
