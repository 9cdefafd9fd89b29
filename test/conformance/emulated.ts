import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { SimulatedHosts } from '../../emulators/hosts/options.ts';
import { createSimulatedHosts } from '../../emulators/hosts/simulated-hosts.ts';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import type { ProviderTestAround } from '../../src/commands/provider-test.ts';
import type { ConformanceReport } from '../../src/conformance/step.ts';
import type { Patience } from '../../src/conformance/subject.ts';
import { badIn, type RunOptions, runTest } from './stand.ts';

/** What takes milliseconds in memory takes seconds at an emulator. */
const AT_AN_EMULATOR: Partial<Patience> = {
  ...{ bootMs: 60_000, rebootMs: 40_000, destroyMs: 40_000, cleanUpMs: 40_000 },
  ...{ probeMs: 250, syncMs: 250, callMs: 60_000, stopMs: 10_000 },
};

/** A directory deleted with the test. */
export function takeDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Machines that answer SSH until the test ends. */
export function startHosts(
  change: Partial<Parameters<typeof createSimulatedHosts>[0]> = {},
): SimulatedHosts {
  const own = { dir: join(takeDirectory(), 'hosts'), log: silentLog, random: systemRandom };
  const hosts = createSimulatedHosts({ ...own, ...change });
  onTestFinished(() => hosts.close());
  return hosts;
}

/** Runs it with enough patience for an emulator, and expects no failed step. */
export async function runToPass(
  section: Readonly<Record<string, unknown>>,
  options: RunOptions,
  around: ProviderTestAround = {},
): Promise<ConformanceReport> {
  const patience = AT_AN_EMULATOR;
  const { exitCode, report } = await runTest(section, options, { patience, ...around });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  return report;
}

/** A list of one running machine, with its declared host key. */
export async function listOf(hostKeyOf: 'right' | 'wrong' | 'none') {
  const dir = takeDirectory();
  const ssh = { keyPath: join(dir, 'key') };
  const { publicLine } = await loadOrCreateSshKey(ssh.keyPath);
  const hosts = startHosts();
  for (const id of ['rack-1', 'rack-2']) {
    await hosts.assign({ id, hostname: id, authorizedKeys: [publicLine] });
  }
  await hosts.up('rack-1');
  const known = (id: string) => hosts.list().find(({ deviceId }) => deviceId === id)!;
  const { port } = known('rack-1');
  const key = known(hostKeyOf === 'right' ? 'rack-1' : 'rack-2').hostKey;
  const HostKey = hostKeyOf === 'none' ? undefined : `ssh-ed25519 ${key}`;
  const entry = { ID: 'rack-1', Addr: '127.0.0.1', Location: 'lab', SshPort: port, HostKey };
  const inventory = join(dir, 'machines.json');
  writeFileSync(inventory, JSON.stringify([entry]));
  return { section: { driver: 'static', inventory: `file:${inventory}`, callsPerSecond: 0 }, ssh };
}
