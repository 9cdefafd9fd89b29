import { expect, test } from 'vitest';
import { explain } from '../../src/domain/errors.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import { watchInvariants } from '../support/invariants.ts';
import { createPlayedWorld, type PlayedDaemon } from '../support/played-world.ts';

/**
 * Three whole daemons in one process, over one database, one provider and sixty machines: all in
 * virtual time, with default settings and pacing.
 */

const MINUTE = 60_000;
const LOCATIONS = { hall: 40, rack: 20 };
const MACHINES = 60;

const sessionOf = ({ daemon }: PlayedDaemon) => daemon.parts.keeper.current()?.sessionId;
const countsOf = ({ daemon }: PlayedDaemon) => daemon.board.counts();
const healthyOf = ({ daemon }: PlayedDaemon) =>
  [...daemon.board.entries.values()].filter(({ substate }) => substate === 'healthy').length;

/** One life of a fleet: it comes up, a daemon dies, two agents fall silent and are brought back. */
async function live(seed: number) {
  const world = createPlayedWorld({
    seed,
    locations: LOCATIONS,
    config: { provisioner: { maxMachines: 0 } },
  });
  const watch = watchInvariants(world);
  const pass = (ms: number) => advance(world.clock, ms, watch.look);
  const daemons: PlayedDaemon[] = [];
  for (const [at, name] of ['one', 'two', 'three'].entries()) {
    const random = createSeededRandom(1_000 * seed + at);
    daemons.push(await world.start({ name, random, ...watch.ports() }));
    await pass(137);
  }
  await pass(4 * MINUTE);

  // The one that provisions, in the midst of creations and of agent starts.
  const [job] = world.bmdb.tables.jobs.values();
  const dead = daemons.find((daemon) => sessionOf(daemon) === job!.sessionId)!;
  const atDeath = { counts: countsOf(dead), devices: world.provider.devices().length };
  const linesAtDeath = dead.log.lines.length;
  dead.kill();
  await pass(14 * MINUTE);
  const alive = daemons.filter(({ isAlive }) => isAlive);
  const afterDeath = alive.map(countsOf);

  const [silent, hanging] = [[...world.hosts.values()][7]!, [...world.hosts.values()][20]!];
  silent.killAgent();
  hanging.unreachable = true;
  await pass(25 * MINUTE);
  const ended = alive.map(countsOf);
  const healthy = alive.map(healthyOf);
  const livedMs = world.clock.monotonic();

  await Promise.all([...alive.map(({ daemon }) => daemon.stop()), pass(MINUTE)]);
  world.end();
  return {
    atDeath,
    afterDeath,
    ended,
    healthy,
    livedMs,
    executions: { silent: silent.executions, hanging: hanging.executions },
    broken: watch.broken,
    deeds: watch.deeds,
    callsInASecond: most(watch.calls.filter((atMs) => atMs > MINUTE)),
    saidAfterDeath: dead.log.lines.length - linesAtDeath,
    timersLeft: world.clock.pending,
    sessionsLeft: world.bmdb.tables.sessions.size,
    told: toldBy(world, daemons),
  };
}

/** Most of these times, in order, that lie within a second. */
const most = (times: readonly number[]): number =>
  Math.max(...times.map((atMs, at) => at + 1 - times.findIndex((from) => from > atMs - 1_000)));

/** All that is remembered of a life, as text. */
function toldBy(world: ReturnType<typeof createPlayedWorld>, daemons: readonly PlayedDaemon[]) {
  const { history, events, machines, intents } = world.bmdb.tables;
  const rows = [history, events, [...machines.values()], [...intents.values()]];
  const logs = daemons.map(({ log }) => log.lines);
  return JSON.stringify(
    [...rows, world.provider.devices(), ...logs],
    (_, value: unknown) => (value instanceof Error ? explain(value) : value),
    1,
  );
}

const first = live(1);
const again = first.then(() => live(1));
const other = again.then(() => live(2));

test('F1: machines come up, outlive a daemon, and are brought back; no invariant is ever broken', async () => {
  const life = await first;
  expect(life.broken).toEqual([]);
  expect(life.deeds).toBeGreaterThan(MACHINES);
  // The budget of the default configuration, for all daemons together.
  expect(life.callsInASecond).toBeLessThanOrEqual(10);
  expect(life.atDeath.devices).toBeGreaterThan(10);
  expect(life.atDeath.devices).toBeLessThan(MACHINES);
  expect(life.afterDeath).toEqual([{ Running: MACHINES }, { Running: MACHINES }]);
  expect(life.ended).toEqual([{ Running: MACHINES }, { Running: MACHINES }]);
  // A daemon learns of heartbeats that the other one took in only when it reads the whole database.
  expect(life.healthy).toEqual([MACHINES, MACHINES]);
  expect(life.executions).toEqual({ silent: 2, hanging: 2 });
  expect(life.saidAfterDeath).toBe(0);
  expect([life.timersLeft, life.sessionsLeft]).toEqual([0, 0]);
});

test('the same seed gives the same life byte for byte, another seed another one', async () => {
  const lives = await Promise.all([first, again, other]);
  const [one, same, different] = lives.map(({ told }) => told);
  expect(one!.length).toBeGreaterThan(100_000);
  expect(same === one, 'the same seed, the same life').toBe(true);
  expect(different === one, 'another seed, another life').toBe(false);
  expect(lives[2].broken).toEqual([]);
  expect(lives[2].ended).toEqual([{ Running: MACHINES }, { Running: MACHINES }]);
});
