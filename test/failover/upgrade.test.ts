import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { shepherd, WAIT } from '../e2e/commands.ts';
import { installAudit } from '../faults/audit.ts';
import { startTestPostgres } from '../support/postgres.ts';
import { testSeed } from '../support/seeds.ts';
import { createDeeds, lossesOf, wrongsOf } from './judgement.ts';
import { createOperator, type Operator } from './load.ts';
import { checkOutOld, type OldVersion } from './old-version.ts';
import { allRun, MACHINES, openDirectory, setStage, type FailoverStage } from './stage.ts';

const ROUNDS = Number(process.env['UPGRADE_ROUNDS'] ?? 20);
const SEED = testSeed();
/** Both versions work side by side at least this long. */
const TOGETHER_MS = 3_000;

const cleanups: (() => Promise<void> | void)[] = [];
let hasFailed = false;
afterEach(async ({ task }) => {
  hasFailed = task.result?.state === 'fail';
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** One line of the table. Times in seconds. */
interface Round {
  readonly first: string;
  readonly migrated: number;
  /** From the order to restart a daemon until it carries out requests. */
  readonly 'first ready': number;
  readonly 'second ready': number;
  /** Longest time without any daemon that is ready, upwards. */
  readonly nobody: number;
  /** Both daemons away, as going back requires. */
  readonly 'back ready': number;
}

test('upgrades two daemons one after the other, and back', async () => {
  const begunAtMs = performance.now();
  const random = createSeededRandom(SEED);
  const dir = openDirectory(cleanups, () => hasFailed);
  const old = checkOutOld(dir);
  const postgres = await startTestPostgres(join(dir, 'postgres'));
  cleanups.push(() => postgres.stop());
  const owner = join(dir, 'owner-url');
  writeFileSync(owner, postgres.ownerUrl, { mode: 0o600 });
  const database = new pg.Pool({ connectionString: postgres.ownerUrl, max: 2 });
  cleanups.push(() => database.end());
  const sql = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await database.query(text, [...values])).rows as Row[];
  const migrate = async (config: string, launcher?: string) => {
    const args = ['--config', config, '--url', `file:${owner}`, '--grant-to', postgres.role];
    const { code, stderr } = await shepherd(['db', 'migrate', ...args], {}, launcher).ended;
    expect(code, stderr).toBe(0);
  };
  const stage = await setStage({
    ...{ dir, databaseUrl: postgres.url, launcher: old.launcher, cleanups },
    heartbeatDeadline: '60s',
    async prepare(config) {
      await migrate(config, old.launcher);
      await installAudit({ sql });
    },
  });
  const operator = createOperator(stage, random);
  const deeds = createDeeds(stage.world, cleanups);
  await allRun(stage, operator);
  operator.slots = (await operator.machines(stage.units[0]!)).map(({ slot }) => slot).toSorted();
  const watch = watchMachines(stage, operator);
  const load = operator.begin();

  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const units = random.next() < 0.5 ? stage.units : stage.units.toReversed();
    const [migrated] = await timed(() => migrate(stage.config));
    watch.reset();
    const ready: number[] = [];
    for (const unit of units) {
      const [took] = await timed(async () => {
        await unit.restart(NEW);
        await vi.waitUntil(() => operator.isServed(unit), WAIT);
      });
      ready.push(took);
      await setTimeout(TOGETHER_MS);
      for (const each of stage.units) await vi.waitUntil(() => operator.isServed(each), WAIT);
    }
    const nobody = watch.nobodyMs();
    const [back] = await timed(() => goBack(stage, operator, old, sql));
    const line = {
      first: units[0]!.name,
      migrated,
      'first ready': ready[0]!,
      'second ready': ready[1]!,
      nobody: Math.round(nobody / 100) / 10,
      'back ready': back,
    };
    console.log(JSON.stringify(line));
    rounds.push(line);
    deeds.take();
  }
  await load.stop();
  await allRun(stage, operator);
  await watch.stop();
  deeds.take();
  const losses = await lossesOf(stage, operator, sql);
  console.table(rounds);
  const errors = stage.units.flatMap((unit) => unit.errors);
  console.log(
    JSON.stringify({
      ...{ seed: SEED, old: old.commit, ...losses, errors: errors.length },
      ...{ memory: stage.memory(), tookSeconds: (await timed(async () => {}, begunAtMs))[0] },
    }),
  );
  expect([...watch.left]).toEqual([]);
  expect(wrongsOf(stage, operator, deeds)).toEqual([]);
  expect(deeds.interrupted, 'nobody needed it').toEqual([]);
  expect(losses.heartbeats.lost, 'acknowledged heartbeats').toBe(0);
  expect(losses.requests.lost, 'acknowledged requests').toBe(0);
  expect(errors).toEqual([]);
  expect(stage.units.map((unit) => unit.restarts())).toEqual([0, 0]);
}, 7_200_000);

const NEW = join(import.meta.dirname, '../../bin/shepherd.mjs');

/** What `docs/upgrade.md` says; the schema of the backup instead of the backup, which would lose requests. */
async function goBack(
  { units }: FailoverStage,
  operator: Operator,
  old: OldVersion,
  sql: (text: string) => Promise<unknown>,
): Promise<void> {
  await Promise.all(units.map((unit) => unit.stop()));
  for (const { migration, sql: down } of old.undo) {
    await sql(`BEGIN; ${down}; DELETE FROM schema_migrations WHERE name = '${migration}'; COMMIT`);
  }
  for (const unit of units) await unit.restart(old.launcher);
  for (const unit of units) await vi.waitUntil(() => operator.isServed(unit), WAIT);
}

/** Asks every daemon for every machine, again and again. */
function watchMachines({ units }: FailoverStage, operator: Operator) {
  const left = new Set<string>();
  let seenAtMs = performance.now();
  let longestMs = 0;
  let isOver = false;
  const going = (async () => {
    while (!isOver) {
      for (const unit of units) {
        const shown = await operator.machines(unit).catch(() => null);
        if (!shown) continue;
        longestMs = Math.max(longestMs, performance.now() - seenAtMs);
        seenAtMs = performance.now();
        if (shown.length < MACHINES) continue;
        for (const { slot, state, substate, reason } of shown)
          if (state !== 'Running') left.add(`${slot}: ${state}/${substate} ${reason}`);
      }
      await setTimeout(200);
    }
  })();
  return {
    left,
    reset() {
      longestMs = 0;
      seenAtMs = performance.now();
    },
    nobodyMs: () => longestMs,
    stop: async () => {
      isOver = true;
      await going;
    },
  };
}

async function timed<T>(run: () => Promise<T>, fromMs = performance.now()): Promise<[number, T]> {
  const result = await run();
  return [Math.round((performance.now() - fromMs) / 100) / 10, result];
}
