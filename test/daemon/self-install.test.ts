import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { staticDriver } from '../../src/adapters/provider/static/driver.ts';
import { acceptancePolicies, parseConfig } from '../../src/config.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { guardPolicyOf, TUNING } from '../../src/daemon/tuning.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { publicKeyLine } from '../adapters/provider/driver-stand.ts';
import { SOUND } from '../adapters/provider/static/install/sound.ts';
import { requestFor, targetOf } from '../contracts/requests-of.ts';
import { createFakeShell } from '../doubles/fake-shell.ts';
import type { MemAgentServer } from '../doubles/mem-agent-server.ts';
import { createMemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { createMemMachines } from '../doubles/mem-machines.ts';
import { createMemoryNetwork } from '../doubles/memory-network.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { advance, createSeededRandom, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { memPorts } from '../support/mem-ports.ts';

/** A machine of a list that is installed from its own system, and the daemon that orders it. */

const MINUTE = 60_000;
const ADDRESS = '192.0.2.1';
const LISTED_KEY = publicKeyLine(1);

/** @param recoveryMayEraseDisks of the provider. */
async function start(recoveryMayEraseDisks = false) {
  const clock = createSimulatedClock();
  const random = createSeededRandom(7);
  const network = createMemoryNetwork(clock);
  const log = recordingLog();
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-daemon-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const name of ['linux', 'initrd', 'arguments']) writeFileSync(join(dir, name), name);
  writeFileSync(join(dir, 'seed-key'), 'k'.repeat(40), { mode: 0o600 });
  const entry = { ID: 'srv-1', Location: '', Addr: ADDRESS, HostKey: LISTED_KEY };
  writeFileSync(join(dir, 'machines.json'), JSON.stringify([entry]));

  let agents: MemAgentServer | null = null;
  const land = createMemMachines({
    ...{ clock, random, bootMs: MINUTE },
    report: (record) => agents!.report(record),
  });
  onTestFinished(land.end);
  land.raise({} as never, '');
  await advance(clock, MINUTE);
  const host = land.hosts.get(`${ADDRESS}:22`)!;
  host.hostKey = LISTED_KEY.split(' ')[1]!;
  network.listen(new EventEmitter(), { host: ADDRESS, port: 22 });
  const orders: string[] = [];
  /** What its installer reports; null: it never asks. */
  const installer = { report: 'done' as 'done' | 'failed' | null };
  const { run } = host;
  host.run = (argv, stdin) => {
    const script = stdin.toString();
    const told = Object.entries({ ...SOUND, secret: host.secret ?? '' }).map(
      ([name, value]) => `${name} ${value}\n`,
    );
    if (script.includes('tell hostname')) return { stdout: Buffer.from(told.join('')) };
    if (argv[0] === 'mkdir') return {};
    if (!script.includes('kexec -l')) return run(argv, stdin);
    const seed = /shepherd\.seed=(\S+)/.exec(script)![1]!;
    orders.push(seed);
    clock.setTimeout(() => void install(seed), 2_000);
    return {};
  };
  async function install(seed: string): Promise<void> {
    land.down(ADDRESS);
    if (installer.report === null) return;
    await network.fetch(`${seed}install`);
    const data = parse(await (await network.fetch(`${seed}user-data`)).text()) as {
      readonly runcmd: readonly string[];
    };
    await network.fetch(`${seed}${installer.report}`, { method: 'POST' });
    land.up(ADDRESS, installer.report === 'done' ? data.runcmd[0]! : null);
  }

  const config = parseConfig(
    {
      database: { embedded: { dataDir: 'unused' } },
      providers: {
        rack: {
          ...{ driver: 'static', instanceSetId: 'rack1-fleet-000000000000001' },
          ...{ inventory: 'file:machines.json', recoveryMayEraseDisks },
          install: {
            ...{ installer: '.', seedListen: '127.0.0.1:8080', seedUrl: 'http://127.0.0.1:8080' },
            image: { url: 'http://images.test/a.raw', sha256: 'ab'.repeat(32) },
            seedKey: 'file:seed-key',
          },
        } as never,
      },
      agent: { endpoint: '192.0.2.100:7000' },
      ssh: { keyPath: 'unused' },
      agentServer: { devCertificates: { dir: 'unused' } },
    },
    { baseDirectory: dir },
    { providers: driverTable([staticDriver]), balancers: driverTable([]) },
  );
  const policies = {
    ...{ loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET, guard: guardPolicyOf(config, TUNING) },
    acceptance: acceptancePolicies(config.providers),
  };
  const bmdb = createMemBmdb({ clock, random, ...policies });
  const connect: typeof network.connect = (to) => {
    if (host.unreachable) network.silent.add(`${ADDRESS}:22`);
    else network.silent.delete(`${ADDRESS}:22`);
    return network.connect(to);
  };
  const open: typeof staticDriver.open = (settings, context) =>
    staticDriver.open(settings, { ...context, network: { ...network, connect } });
  const ports = memPorts({
    ...{ log, clock, random, bmdb, drivers: [{ ...staticDriver, open }] },
    shell: createFakeShell({ hosts: land.hosts, clock }),
    onAgentServer: (server) => (agents = server),
  });
  const daemon = await startDaemon({ config, ports, version: '0.0.0' });
  onTestFinished(() => Promise.all([daemon.stop(), advance(clock, MINUTE)]).then(() => undefined));
  /** Virtual time does not wait for files. */
  const pass = async (minutes: number) => {
    for (let second = 0; second < minutes * 60; second += 5) {
      await advance(clock, 5_000);
      await new Promise(setImmediate);
    }
  };
  const row = () => [...bmdb.tables.machines.values()][0]!.row;
  const state = () => [...daemon.board.entries.values()].map((each) => each.state);
  const lines = () => bmdb.tables.events.map(({ kind }) => kind);
  return { clock, bmdb, host, lines, orders, installer, log, pass, row, state, daemon };
}

const reinstall = async ({ bmdb, row }: Awaited<ReturnType<typeof start>>) => {
  const request = requestFor({ verb: 'reinstall', target: targetOf(row()) });
  const { key } = await bmdb.requests.submit(request);
  return () => bmdb.tables.requests.get(key)!;
};

test('a person reinstalls a machine of a list, and it serves again by nobody’s hand', async () => {
  const fleet = await start();
  const { orders, pass, row, state, host, lines } = fleet;
  await pass(15);
  expect([state(), row().hostKey]).toEqual([['Running'], host.hostKey]);
  const before = host.hostKey;
  const request = await reinstall(fleet);
  await pass(20);
  expect(request()).toMatchObject({ state: 'done', outcome: 'it was installed anew' });
  expect(orders).toHaveLength(1);
  expect(host.hostKey).not.toBe(before);
  // The list still has the key of the system before.
  expect(row()).toMatchObject({ hostKey: host.hostKey, acceptance: { state: 'passed' } });
  expect(state()).toEqual(['Running']);
  expect(lines()).toEqual([
    'adopted',
    'agentStarted',
    'accepted',
    'recoveryAsked',
    'requestDone',
    'recovered',
    'agentStarted',
    'accepted',
  ]);
  await reinstall(fleet);
  await pass(20);
  expect([orders.length, state()]).toEqual([2, ['Running']]);
});

test('after an installation that changed nothing, the machine serves as before', async () => {
  const fleet = await start();
  const { installer, orders, pass, row, state, host } = fleet;
  installer.report = 'failed';
  await pass(15);
  const { hostKey } = host;
  const request = await reinstall(fleet);
  await pass(60);
  expect(request()).toMatchObject({ state: 'refused' });
  expect([orders.length, state(), row().hostKey]).toEqual([1, ['Running'], hostKey]);
});

test('a machine without SSH is not installed, nor when it is back, even where disks may be erased', async () => {
  const { orders, pass, host, state, lines, daemon } = await start(true);
  await pass(15);
  host.die('reboot');
  await pass(90);
  expect(lines()).not.toContain('recoveryAsked');
  const [entry] = [...daemon.board.entries.values()];
  expect(entry?.state).not.toBe('Recovering');
  host.repair();
  host.boot('00000000-0000-4000-8000-000000000002');
  await pass(60);
  expect([orders, state()]).toEqual([[], ['Running']]);
  expect(lines()).toContain('heardAgain');
});
