import { expect, test } from 'vitest';
import type { Provider } from '../../src/adapters/provider/port.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedDaemon } from '../support/played-world.ts';

/**
 * Three whole daemons in one process, with one database, one provider and sixty machines: in
 * virtual time, with default settings and pacing.
 */

const MINUTE = 60_000;
const LOCATIONS = { hall: 40, rack: 20 };
const MACHINES = 60;

const sessionOf = ({ daemon }: PlayedDaemon) => daemon.parts.keeper.current()?.sessionId;
const countsOf = ({ daemon }: PlayedDaemon) => daemon.board.counts();
const healthyOf = ({ daemon }: PlayedDaemon) =>
  [...daemon.board.entries.values()].filter(({ substate }) => substate === 'healthy').length;

/** The life of a fleet: it starts, a daemon dies, two agents fall silent and are recovered. */
async function live() {
  const world = createPlayedWorld({
    seed: 1,
    locations: LOCATIONS,
    config: { provisioner: { maxMachines: 0 } },
  });
  const calls: number[] = [];
  const counted =
    <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args) => {
      calls.push(world.clock.monotonic());
      return call(...args);
    };
  const driven = (provider: Provider): Provider => ({
    ...provider,
    listMachines: counted(provider.listMachines),
    getMachine: counted(provider.getMachine),
    createMachine: counted(provider.createMachine),
    setTags: counted(provider.setTags),
  });
  const pass = (ms: number) => advance(world.clock, ms);
  const daemons: PlayedDaemon[] = [];
  for (const [at, name] of ['one', 'two', 'three'].entries()) {
    const random = createSeededRandom(1_000 + at);
    daemons.push(await world.start({ name, random, driven }));
    await pass(137);
  }
  await pass(4 * MINUTE);

  // The daemon that provisions, during creations and agent starts.
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
    callsInASecond: most(calls.filter((atMs) => atMs > MINUTE)),
    saidAfterDeath: dead.log.lines.length - linesAtDeath,
    timersLeft: world.clock.pending,
    sessionsLeft: world.bmdb.tables.sessions.size,
  };
}

/** The most of these ordered times within one second. */
const most = (times: readonly number[]): number =>
  Math.max(...times.map((atMs, at) => at + 1 - times.findIndex((from) => from > atMs - 1_000)));

test('F1: machines start, outlive a daemon, and are recovered, within the budget of calls', async () => {
  const life = await live();
  // The budget of the default configuration, for all daemons together.
  expect(life.callsInASecond).toBeLessThanOrEqual(10);
  expect(life.atDeath.devices).toBeGreaterThan(10);
  expect(life.atDeath.devices).toBeLessThan(MACHINES);
  expect(life.afterDeath).toEqual([{ Running: MACHINES }, { Running: MACHINES }]);
  expect(life.ended).toEqual([{ Running: MACHINES }, { Running: MACHINES }]);
  // A daemon learns of heartbeats at another daemon only by a full scan of the database.
  expect(life.healthy).toEqual([MACHINES, MACHINES]);
  expect(life.executions).toEqual({ silent: 2, hanging: 2 });
  expect(life.saidAfterDeath).toBe(0);
  expect([life.timersLeft, life.sessionsLeft]).toEqual([0, 0]);
});
