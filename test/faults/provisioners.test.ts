import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { testSeed } from '../support/seeds.ts';
import { startFakequinix } from '../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../src/simulator/fakequinix/options.ts';
import { startRestartablePostgres, type RestartablePostgres } from './postgres.ts';

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');
const SECONDS = Number(process.env['PROVISIONERS_SECONDS'] ?? 40);
const SEED = testSeed();
const KILLS = 20;
const RESERVATIONS = 200;
/** Fewer than there are, so that the limit is met too. */
const MACHINES_MAX = 190;
/** A busy machine takes its time, but so long it does not do nothing. */
const STILL_MS = 300_000;
/** A daemon that had no time to ask for anything may as well not have been killed. */
const ASKED_BETWEEN_KILLS = 10;
const WAIT = { timeout: 600_000, interval: 50 };
const OWNER = 'fault-fleet-000000000000001';
const PREFIX = 'shepherd-faults-';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('two daemons, killed again and again, lose no device and use no reservation twice', async () => {
  const random = createSeededRandom(SEED);
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-provisioners-'));
  cleanups.push(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const postgres = await startRestartablePostgres(join(dir, 'postgres'));
  cleanups.push(() => postgres.stop());
  const fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    reservations: RESERVATIONS,
    seed: SEED,
  });
  cleanups.push(() => fake.close());
  const strangers = [fake.snatch(fake.reservations()[0]!.id)];
  const daemons = [0, 1].map((place) => createPlace(dir, place, fake, postgres));
  for (const daemon of daemons) cleanups.push(() => daemon.kill());

  // The first start makes the SSH key that both use.
  await daemons[0]!.start();
  await daemons[1]!.start();
  const fired = await havoc(fake, daemons, random);
  const { waitedMs, left } = await calm(fake, postgres);
  const verdict = await judge(fake, postgres, strangers);
  console.log(JSON.stringify({ fired, waitedMs, ...verdict.figures }));
  for (const daemon of daemons) await daemon.stop();

  const deaths = daemons.flatMap((daemon) => daemon.deaths());
  expect(deaths, logsOf(dir)).toEqual([]);
  expect(left, logsOf(dir)).toEqual({ unsettled: 0, missingDevices: 0 });
  expect(verdict.wrong).toEqual({});
  for (const [what, count] of Object.entries(fired)) {
    expect(count, `${what} must have happened`).toBeGreaterThan(0);
  }
}, 2_400_000);

interface Place {
  start(): Promise<void>;
  /** As the machine it runs on would, when the power fails. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Ends that nobody asked for. */
  deaths(): readonly string[];
}

function createPlace(dir: string, place: number, fake: Fakequinix, db: RestartablePostgres): Place {
  const file = join(dir, `config-${place}.yaml`);
  writeFileSync(file, stringify(configOf(dir, place, fake)));
  const log = openSync(join(dir, `daemon-${place}.log`), 'a');
  let child: ChildProcess | null = null;
  const deaths: string[] = [];
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = null;
    if (ending?.exitCode !== null || ending.signalCode !== null) return;
    ending.kill(signal);
    await once(ending, 'exit');
  };
  return {
    async start() {
      const url = db.daemonUrl(db.port());
      const env = { ...process.env, FAULTS_TOKEN: fake.tokens.project, FAULTS_DATABASE: url };
      const args = [LAUNCHER, 'run', '--config', file];
      const started = spawn(process.execPath, args, { stdio: ['ignore', log, log], env });
      child = started;
      started.on('exit', (code) => {
        if (child === started) deaths.push(`daemon ${place} ended by itself with ${code}`);
      });
    },
    deaths: () => deaths,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

const configOf = (dir: string, place: number, fake: Fakequinix) => ({
  database: { url: '${FAULTS_DATABASE}' },
  session: { interval: '2s' },
  providers: {
    equinix: {
      driver: 'equinix',
      baseUrl: fake.url,
      token: '${FAULTS_TOKEN}',
      username: 'faults',
      projectId: fake.projectId,
      devicePrefix: PREFIX,
      sshKeyLabel: 'shepherd-faults',
      instanceSetId: OWNER,
      parallelism: 8,
      apiRate: '2ms',
      callsPerSecond: 0,
      reservationCacheTimeout: '1s',
      probeGap: '200ms',
      settle: '2s',
      attemptTimeout: '2s',
      // No address is known without a port, so no machine of this world is ever called.
      sshPortFromCustomdata: true,
    },
  },
  provisioner: {
    maxMachines: MACHINES_MAX,
    reconcilerRate: '500ms',
    deviceCreationRate: `${SECONDS * 2}ms`,
    reservationChunkSize: 20,
    penalty: '1s',
  },
  ssh: { keyPath: join(dir, 'ssh-key') },
  agentServer: {
    listen: '127.0.0.1:0',
    devCertificates: { dir: join(dir, `certificates-${place}`) },
  },
  console: { listen: '127.0.0.1:0' },
  mirror: { listInterval: '5s' },
  log: { format: 'json' },
});

const LISTS = { method: 'GET', route: '/projects/{id}/devices' };

/** All of it at once, and a process that dies every few seconds. */
async function havoc(
  fake: Fakequinix,
  daemons: readonly Place[],
  random: ReturnType<typeof createSeededRandom>,
): Promise<Record<string, number>> {
  const faults = {
    error: fake.addFault({
      match: { probability: 0.05 },
      effect: { type: 'status', code: 500, executed: true },
    }),
    dropped: fake.addFault({
      match: { probability: 0.05 },
      effect: { type: 'drop', phase: 'after' },
    }),
    hung: fake.addFault({
      match: { probability: 0.02 },
      effect: { type: 'hang', phase: 'before' },
    }),
    pages: fake.addFault({
      match: { ...LISTS, probability: 0.2 },
      effect: { type: 'unstablePages', mode: 'omit' },
    }),
    shuffled: fake.addFault({
      match: { probability: 0.2 },
      effect: { type: 'unstablePages', mode: 'duplicate' },
    }),
    // New devices come late in lists, so that only a search of the reservation finds them.
    stale: fake.addFault({
      match: { ...LISTS },
      effect: { type: 'stale', resource: 'device', view: 'list', lagMs: 3_000 },
    }),
    races: fake.addFault({
      match: { method: 'POST', probability: 0.05 },
      times: 5,
      effect: { type: 'race', when: 'betweenCheckAndCreate' },
    }),
  };
  let bursts = 0;
  const applied = new Map<string, number>();
  const endsAt = performance.now() + SECONDS * 1_000;
  const gapMs = (SECONDS * 1_000) / KILLS;
  let kills = 0;
  const allFired = () =>
    bursts > 0 &&
    Object.values(faults).every(
      ({ id }) => fake.faults().find((one) => one.id === id)!.applied > 0,
    );
  const givesUpAt = endsAt + 600_000;
  while (
    performance.now() < endsAt ||
    kills < KILLS ||
    (!allFired() && performance.now() < givesUpAt)
  ) {
    const before = fake.requests().length;
    const isDead = () => daemons.some(({ deaths }) => deaths().length > 0);
    await setTimeout(gapMs * (0.5 + random.next()));
    const asked = () => fake.requests().length - before;
    await vi.waitUntil(() => isDead() || asked() >= ASKED_BETWEEN_KILLS, WAIT);
    if (isDead()) break;
    const daemon = daemons[Math.floor(random.next() * daemons.length)]!;
    await daemon.kill();
    await daemon.start();
    kills += 1;
    if (kills % 5 === 2) {
      const { id } = fake.addFault({
        effect: { type: 'rateLimit', limit: 3, windowMs: 1_000, retryAfter: 'seconds' },
      });
      await setTimeout(2_000);
      const applied = () => fake.faults().find((fault) => fault.id === id)!.applied;
      await vi.waitUntil(() => isDead() || applied() > 0, WAIT);
      bursts += applied();
      fake.removeFault(id);
    }
  }
  for (const fault of fake.faults()) applied.set(fault.id, fault.applied);
  fake.clearFaults();
  const counts = Object.entries(faults).map(([name, { id }]) => [name, applied.get(id) ?? 0]);
  return { kills, bursts, ...Object.fromEntries(counts) };
}

const isOurs = ({ tags }: { tags: readonly string[] }) => tags.includes(`shepherd-owner-${OWNER}`);

/** Waits until everything that can be made is made, and every intent is settled. */
async function calm(fake: Fakequinix, { sql }: RestartablePostgres) {
  const beganAt = performance.now();
  let best = { count: Infinity, atMs: beganAt };
  for (;;) {
    const [row] = await sql<{ unsettled: string }>(
      `SELECT count(*) AS unsettled FROM provision_intents WHERE state IN ('open', 'unresolved')`,
    );
    const devices = fake.devices();
    const strangers = devices.filter((device) => !isOurs(device)).length;
    const wanted = Math.min(MACHINES_MAX, RESERVATIONS - strangers);
    const left = {
      unsettled: Number(row!.unsettled),
      missingDevices: wanted - devices.filter(isOurs).length,
    };
    const nowMs = performance.now();
    const count = left.unsettled + left.missingDevices;
    if (count < best.count) best = { count, atMs: nowMs };
    const done = left.unsettled === 0 && left.missingDevices === 0;
    if (done || nowMs - best.atMs > STILL_MS)
      return { waitedMs: Math.round(nowMs - beganAt), left };
    await setTimeout(250);
  }
}

async function judge(
  fake: Fakequinix,
  { sql }: RestartablePostgres,
  strangers: readonly { readonly id: string }[],
) {
  const devices = fake.devices();
  const ours = devices.filter(isOurs);
  const foreign = devices.filter((device) => !isOurs(device));
  const known = await sql<{ provider_id: string; provider_reservation_id: string }>(
    `SELECT provider_id, provider_reservation_id FROM machine_provided`,
  );
  const recorded = new Map(known.map((row) => [row.provider_id, row.provider_reservation_id]));
  const journal = fake.requests();
  const touched = journal.filter(
    ({ method, path }) =>
      method !== 'GET' && foreign.some((device) => path.includes(`/devices/${device.id}`)),
  );
  const wrong = {
    invariants: fake.violations(),
    leaked: ours.filter(({ id }) => !recorded.has(id)).map(({ id }) => id),
    misplaced: ours
      .filter(({ id, reservationId }) => recorded.get(id) !== reservationId)
      .map(({ id }) => id),
    invented: [...recorded.keys()].filter((id) => !ours.some((device) => device.id === id)),
    doubled: doubles(ours.map(({ reservationId }) => reservationId!)),
    sharedWitness: doubles(
      ours.map(({ tags }) => tags.find((tag) => tag.startsWith('shepherd-idempotency-'))!),
    ),
    deleted: journal.filter(({ method }) => method === 'DELETE').map(({ path }) => path),
    strangersTouched: touched.map(({ method, path }) => `${method} ${path}`),
    strangersGone: strangers.filter(({ id }) => !foreign.some((device) => device.id === id)),
  };
  return {
    wrong: Object.fromEntries(Object.entries(wrong).filter(([, found]) => found.length > 0)),
    figures: {
      ours: ours.length,
      foreign: foreign.length,
      requests: journal.length,
      creations: journal.filter(
        ({ method, path }) => method === 'POST' && path.endsWith('/devices'),
      ).length,
    },
  };
}

const doubles = (names: readonly string[]): string[] =>
  names.filter((name, at) => names.indexOf(name) !== at);

/** The last warnings, for whoever has to find out. */
function logsOf(dir: string): string {
  const tail = (place: number) =>
    readFileSync(join(dir, `daemon-${place}.log`), 'utf8')
      .split('\n')
      .filter((line) => !/^\{.*"level":"?(20|30|debug|info)|agent start failed/.test(line))
      .slice(-15)
      .join('\n');
  return `daemon 0:\n${tail(0)}\ndaemon 1:\n${tail(1)}`;
}
