import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Random } from '../../src/adapters/clock/port.ts';
import { fleetBudget, groupBudget } from '../../src/domain/policy.ts';
import { installAudit, readAudit } from './audit.ts';
import type { Budget, Evidence } from './evidence.ts';
import type { Noticed } from './figures.ts';
import type { Note } from './messages.ts';
import type { Violation } from './oracle.ts';
import { HURRY } from './pace.ts';
import { startRestartablePostgres, type RestartablePostgres } from './postgres.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { createWorkers, type Workers } from './workers.ts';
import { createWorld, type FaultWorld } from './world.ts';

/**
 * After the faults, dedicated cores need 10 s until all is well. Shared cores need longer because
 * of their load. So the test fails only if no further machine becomes well for this long.
 */
const STILL_MS = 300_000;

/** Daemons as processes, each behind its own proxy to one database, and their machines. */
export interface FaultStage {
  readonly dir: string;
  readonly random: Random;
  readonly postgres: RestartablePostgres;
  readonly proxies: readonly TcpProxy[];
  readonly world: FaultWorld;
  readonly workers: Workers;
}
export interface StageOptions {
  readonly random: Random;
  readonly daemons: number;
  readonly machines: number;
  /** Place of the daemon that fences nothing itself. */
  readonly unfenced?: number;
  /** Called in reverse order at the end of the test. */
  readonly cleanups: (() => Promise<void> | void)[];
}

export async function setStage({
  random,
  cleanups,
  ...options
}: StageOptions): Promise<FaultStage> {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-faults-'));
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  const postgres = await startRestartablePostgres(join(dir, 'postgres'));
  cleanups.push(() => postgres.stop());
  const proxies: TcpProxy[] = [];
  for (let at = 0; at < options.daemons; at += 1) {
    const proxy = await startTcpProxy(postgres.port);
    cleanups.push(() => proxy.close());
    proxies.push(proxy);
  }
  const world = createWorld({
    random,
    machines: options.machines,
    periodMs: HURRY.loss.periodMs,
    refusals: 0.05,
    tell: (message) => workers.tellAll(message),
  });
  cleanups.push(() => world.end());
  const workers = createWorkers({
    cacheDir: join(dir, 'cache'),
    setupFor: (place, run) => ({
      run,
      url: postgres.daemonUrl(proxies[place]!.port),
      machines: world.info(),
      seed: Math.floor(random.next() * 1e9),
      logPath: join(dir, `daemon-${place}.log`),
      isUnfenced: place === options.unfenced,
    }),
    onEffect: world.act,
  });
  cleanups.push(() => workers.killAll());
  await insertMachines(postgres, world);
  await installAudit(postgres);
  const beating = setInterval(() => sendBeats(world, workers, random), 100);
  cleanups.push(() => clearInterval(beating));
  return { dir, random, postgres, proxies, world, workers };
}

async function insertMachines(
  { sql }: RestartablePostgres,
  { machines }: FaultWorld,
): Promise<void> {
  const column = (name: keyof FaultWorld['machines'][number]) => machines.map((each) => each[name]);
  await sql(`INSERT INTO machines (machine_id) SELECT unnest($1::uuid[])`, [column('machineId')]);
  await sql(
    `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_reservation_id,
       provider_ip_address, provider_location, provider_status)
     SELECT *, 'Running' FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[],
       $6::text[])`,
    (['machineId', 'provider', 'deviceId', 'reservationId', 'address', 'location'] as const).map(
      column,
    ),
  );
}

/** Each agent reports to any daemon that it finds. */
function sendBeats(world: FaultWorld, workers: Workers, random: Random): void {
  const ready = workers.ready();
  if (ready.length === 0) return;
  const shares = new Map(ready.map((run) => [run, [] as ReturnType<FaultWorld['dueBeats']>]));
  for (const beat of world.dueBeats()) {
    shares.get(ready[Math.floor(random.next() * ready.length)]!)!.push(beat);
  }
  for (const [run, beats] of shares)
    if (beats.length > 0) workers.send(run, { type: 'beats', beats });
}

/** Logs the run's steps if FAULTS_LOG is set. */
export function trace(what: unknown): void {
  if (process.env['FAULTS_LOG']) console.log(Math.round(performance.now()), JSON.stringify(what));
}

/** A few violations of each rule. */
export const samplesOf = (violations: readonly Violation[]) =>
  Object.fromEntries(
    [...Map.groupBy(violations, ({ rule }) => rule)].map(([rule, all]) => [
      `${rule} (${all.length})`,
      all.slice(0, 5).map(({ detail }) => detail),
    ]),
  );

/** Machines without a reporting agent, and machines whose lease a live or dead session holds. */
export interface Unrest {
  readonly unwell: number;
  readonly held: number;
}
export const ALL_WELL: Unrest = { unwell: 0, held: 0 };

/**
 * L1, L2: without faults everything is well again soon.
 * @returns how soon, and what is not well.
 */
export async function calm({
  postgres,
  workers,
}: FaultStage): Promise<{ calmMs: number; left: Unrest }> {
  const begunAtMs = performance.now();
  let best = { count: Infinity, atMs: begunAtMs };
  for (;;) {
    const [left] = await postgres.sql<Unrest>(
      `SELECT (SELECT count(*) FROM machines m WHERE NOT EXISTS (
           SELECT 1 FROM machine_agent_started a JOIN machine_agent_heartbeat h USING (machine_id)
           WHERE a.machine_id = m.machine_id AND h.agent_heartbeat_at >= a.agent_started_at
             AND h.agent_heartbeat_at > now() - interval '4 s')
         AND NOT EXISTS (SELECT 1 FROM machine_quarantined q WHERE q.machine_id = m.machine_id)
         )::int4 AS unwell,
         (SELECT count(*) FROM work WHERE session_id IS NOT NULL)::int4 AS held`,
    );
    trace(left);
    const [nowMs, count] = [performance.now(), left!.unwell + left!.held];
    const calmMs = Math.round(nowMs - begunAtMs);
    if (count < best.count) best = { count, atMs: nowMs };
    const done = count === 0 || nowMs - best.atMs > STILL_MS;
    if (done || workers.surprises.length > 0) return { calmMs, left: left! };
    await setTimeout(200);
  }
}

/** The record of the run, once all daemons have ended. */
export async function gather(stage: FaultStage): Promise<Evidence & Noticed> {
  const { dir, postgres, proxies, world, workers } = stage;
  const audit = await readAudit(postgres);
  const notes = proxies.flatMap((_, place) => notesOf(join(dir, `daemon-${place}.log`)));
  const machines = await postgres.sql<Evidence['end']['machines'][number]>(
    `SELECT machine_id AS "machineId",
       (extract(epoch FROM agent_heartbeat_at) * 1000)::float8 AS "heartbeatMs"
     FROM machines LEFT JOIN machine_agent_heartbeat USING (machine_id)`,
  );
  const held = await postgres.sql<{ machine_id: string }>(
    `SELECT machine_id FROM work WHERE session_id IS NOT NULL`,
  );
  const [counted] = await postgres.sql<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM work_history`,
  );
  return {
    ...audit,
    notes,
    acknowledged: {
      beats: notes.filter((note) => note.t === 'beat'),
      claims: notes.filter((note) => note.t === 'claim').filter(({ result }) => result === 'ok'),
      ends: notes.filter((note) => note.t === 'end'),
    },
    effects: world.effects,
    unfenced: new Set(workers.runs.flatMap(({ name, isUnfenced }) => (isUnfenced ? [name] : []))),
    writerOf: writerFinder(proxies, workers),
    budget: budgetOf(world),
    grace: { heartbeatMs: HURRY.loss.heartbeatMs, gapMs: HURRY.guard.ingestGapMs },
    end: { machines, held: held.map((row) => row.machine_id), historyRows: counted!.count },
  };
}

/** The last line may be cut off, if its process was killed. */
const notesOf = (path: string): Note[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Note);

/**
 * By the connection's port and time: the proxy that it used, and the run behind that proxy then.
 */
function writerFinder(proxies: readonly TcpProxy[], { runs }: Workers): Evidence['writerOf'] {
  const passages = Map.groupBy(
    proxies
      .flatMap(({ passages }, place) => passages.map((each) => ({ ...each, place })))
      .toSorted((a, b) => a.openedAtMs - b.openedAtMs),
    ({ port }) => port,
  );
  return ({ port, atMs }) => {
    const passage = (passages.get(port ?? -1) ?? []).findLast(
      ({ openedAtMs }) => openedAtMs <= atMs,
    );
    if (!passage) return null;
    const run = runs.findLast(
      ({ name, startedAtMs }) =>
        name.startsWith(`daemon ${passage.place} `) && startedAtMs <= passage.openedAtMs,
    );
    return run?.name ?? null;
  };
}

/** The shares of all machines, an upper limit because only started machines count. */
function budgetOf({ machines }: FaultWorld): Budget {
  const groups = new Map<string, number>();
  for (const { provider, location } of machines) {
    for (const name of [provider, location]) groups.set(name, (groups.get(name) ?? 0) + 1);
  }
  for (const [name, count] of groups) groups.set(name, groupBudget(HURRY.budget, count));
  return { groups, fleet: fleetBudget(HURRY.budget, machines.length) };
}
