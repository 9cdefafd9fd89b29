import { describe, expect, it } from 'vitest';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { requestFor, targetOf } from '../contracts/requests-of.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import { createPlayedWorld, type PlayedDaemon, type PlayedWorld } from '../support/played-world.ts';

/**
 * Dead machines must not delay the others: two whole daemons with default settings, in virtual
 * time. Measures, in minutes, the time from an agent's death to its machine's next heartbeat, and
 * from a reboot request to its end.
 */

const MINUTE = 60_000;
const DEADLINE_MINUTES = DEFAULT_LOSS.heartbeatMs / MINUTE;
const SECONDS_STEP = 5_000;

const racks = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`rack${at}`, 20]));
/**
 * Minutes between two deaths, and how many die: of four machines, more than two at once freeze
 * recovery.
 */
type Fleet = readonly [string, Readonly<Record<string, number>>, number, readonly number[]];
const FLEETS: readonly Fleet[] = [
  ['4 machines', { hall: 4 }, 21, [1, 2]],
  ['12 machines', { hall: 12 }, 2, [1, 2]],
  ['six racks of 20', racks, 2, [2]],
];

describe.each(FLEETS)('a fleet of %s', (_, locations, apartMinutes, deaths) => {
  it.each(deaths)(
    'D1: recovers an agent and carries out a reboot beside %i dead machines',
    async (dead) => {
      const world = createPlayedWorld({
        seed: dead,
        locations,
        config: { provisioner: { maxMachines: 0 } },
      });
      const pass = (ms: number) => advance(world.clock, ms);
      const daemons: PlayedDaemon[] = [];
      for (const name of ['one', 'two']) {
        const random = createSeededRandom(dead + name.length);
        daemons.push(await world.start({ name, random }));
      }
      const size = Object.values(locations).reduce((sum, each) => sum + each, 0);
      const running = () => daemons.map(({ daemon }) => daemon.board.counts()['Running'] ?? 0);
      await minutesUntil(pass, () => running().every((count) => count === size), 60);
      expect(running()).toEqual([size, size]);
      // Silence counts once heartbeats have been received for as long as the deadline.
      await pass(DEADLINE_MINUTES * MINUTE);

      const group = groupOf(world);
      for (const machine of group.slice(0, dead)) {
        machine.die();
        await pass(apartMinutes * MINUTE);
      }
      const victim = group[dead]!;
      victim.killAgent();
      const restarted = await minutesUntil(
        pass,
        () => victim.executions === 2,
        3 * DEADLINE_MINUTES,
      );
      expect(restarted).toBeLessThanOrEqual(DEADLINE_MINUTES + 2);

      // The dead machines are being rebooted at this time, and none returns.
      const ordered = await orderReboot(world, group[dead + 1]!);
      const done = await minutesUntil(pass, () => ordered().state !== 'open', 70);
      expect(ordered()).toMatchObject({ state: 'done', outcome: 'it was rebooted' });
      expect(done).toBeLessThanOrEqual(5);

      await pass(5 * MINUTE);
      for (const count of running()) expect(count).toBeGreaterThanOrEqual(size - dead);
      await Promise.all([...daemons.map(({ daemon }) => daemon.stop()), pass(MINUTE)]);
      world.end();
    },
  );
});

/** The machines of one location. */
function groupOf(world: PlayedWorld): SimulatedMachine[] {
  const devices = world.provider.world.devices();
  const first = [...world.bmdb.tables.machines.values()][0]!.row.provided!.location;
  return [...world.bmdb.tables.machines.values()]
    .filter(({ row }) => row.provided!.location === first)
    .flatMap(({ row }) => devices.filter(({ id }) => id === row.provided!.providerId))
    .map(({ addresses }) => world.hosts.get(`${addresses[0]}:22`)!);
}

async function orderReboot(world: PlayedWorld, machine: SimulatedMachine) {
  const { tables } = world.bmdb;
  const [address] = [...world.hosts].find(([, host]) => host === machine)!;
  const { row } = [...tables.machines.values()].find(
    (each) => `${each.row.provided!.address}:22` === address,
  )!;
  const what = { verb: 'reboot', target: targetOf(row), force: false } as const;
  const { key } = await world.bmdb.requests.submit(requestFor(what));
  return () => tables.requests.get(key)!;
}

async function minutesUntil(
  pass: (ms: number) => Promise<unknown>,
  isDone: () => boolean,
  atMostMinutes: number,
): Promise<number> {
  let passedMs = 0;
  while (!isDone() && passedMs < atMostMinutes * MINUTE) {
    await pass(SECONDS_STEP);
    passedMs += SECONDS_STEP;
  }
  return passedMs / MINUTE;
}
