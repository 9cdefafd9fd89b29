import { beforeEach, describe, expect, test } from 'vitest';
import type { MachineState } from '../../src/domain/states.ts';
import { createSmallWorld } from '../support/small-world.ts';
import type { SmallWorld, SmallWorldOptions } from '../support/small-world.ts';
import { advance, settled } from '../doubles/simulated-clock.ts';

const MINUTE = 60_000;

/** The whole daemon over in-memory adapters, in virtual time. */
describe('the fleet chart', () => {
  let world: SmallWorld;
  let actor: Awaited<ReturnType<SmallWorld['fleet']>>;

  const begin = async (options: SmallWorldOptions = {}) => {
    world = createSmallWorld(options);
    actor = await world.fleet();
  };
  beforeEach(() => begin());

  const states = () => [...world.views.values()].map(({ state }) => state);
  const all = (state: MachineState) => states().every((each) => each === state);

  /** All machines run, and no command on them ever ends. */
  const workThatHangs = async () => {
    for (let waitedMs = 0; world.hosts.size < 3 && waitedMs < 5 * MINUTE; waitedMs += 100) {
      await advance(world.clock, 100);
      for (const host of world.hosts.values()) host.hangs = 'execute';
    }
    expect(world.hosts.size).toBe(3);
    for (let waitedMs = 0; world.taskPool.busy === 0 && waitedMs < 2 * MINUTE; waitedMs += 1_000) {
      await advance(world.clock, 1_000);
    }
    expect(world.taskPool.busy).toBeGreaterThan(0);
  };

  test('neither restarts services nor undoes a stop on renewals of the session', async () => {
    await advance(world.clock, 5 * MINUTE);
    expect(world.log.count('session opened')).toBe(1);
    expect(world.sweeps()).toBe(31);
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, 1_000);
    expect(actor.getSnapshot().value).toBe('stopped');
    expect(world.bmdb.tables.sessions.size).toBe(0);
    expect(world.watch.view().state, 'nobody looks any more').toBe('blind');
  });

  test('rebuilds a crashed service with the same cells and machines', async () => {
    await advance(world.clock, 5 * MINUTE);
    const [host] = world.hosts.values();
    host!.unreachable = true;
    await advance(world.clock, 10 * MINUTE + 20_000);
    expect(world.taskPool.busy).toBe(1);
    actor.send({ type: 'service.crashed', error: new Error('bug') });
    await settled();
    expect(world.taskPool.busy).toBe(0);
    await advance(world.clock, 30 * MINUTE);
    expect(all('Running')).toBe(true);
    expect(world.log.count('a service of the supervisor crashed; all services are rebuilt')).toBe(
      1,
    );
    expect(world.bmdb.tables.sessions.size).toBe(1);
  });

  test('rebuilds a crashed guard alone and reports the crash', async () => {
    let bugs = 0;
    const { take } = world.watch;
    const broken: typeof take = (picture, standings) => {
      if (bugs > 0) {
        bugs -= 1;
        throw new Error('bug');
      }
      take(picture, standings);
    };
    Object.assign(world.watch, { take: broken });
    await advance(world.clock, 15 * MINUTE);
    const [sweeps, host] = [world.sweeps(), [...world.hosts.values()][0]!];
    expect(world.watch.view().state).toBe('watching');
    bugs = 3;
    let waitedMs = 0;
    for (; bugs === 3 && waitedMs < MINUTE; waitedMs += 100) await advance(world.clock, 100);
    expect(world.watch.view().state).toBe('blind');
    expect(actor.getSnapshot().value).toMatchObject({
      active: { attended: { working: 'unguarded' } },
    });
    await advance(world.clock, 5 * MINUTE - waitedMs);
    expect(world.metrics.total('shepherd_service_crashes_total', { service: 'guard' })).toBe(3);
    expect(world.metrics.total('shepherd_service_crashes_total', { service: 'supervisor' })).toBe(
      0,
    );
    expect(world.log.count('the guard crashed; only the guard is rebuilt')).toBe(3);
    expect(world.watch.view().state).toBe('watching');
    expect(world.sweeps() - sweeps, 'the janitor went on').toBe(30);
    expect(world.log.count('session opened')).toBe(1);
    expect(host.executions).toBe(1);
    host.killAgent();
    await advance(world.clock, 12 * MINUTE);
    expect([all('Running'), host.executions]).toEqual([true, 2]);
  });

  test('waits for work at a stop, then cancels it', async () => {
    await workThatHangs();
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, 10_000);
    expect(actor.getSnapshot().value).toEqual({ active: { attended: 'draining' } });
    await advance(world.clock, 15_000);
    expect(actor.getSnapshot().value).toBe('stopped');
    expect(world.bmdb.tables.work).toEqual([]);
  });

  test('drops a slot after a complete listing without it, and none after a partial listing', async () => {
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, 1_000);
    world.end();
    await begin({ machines: 4, provisioner: { maxMachines: 2 } });
    await advance(world.clock, 5 * MINUTE);
    expect(states().toSorted()).toEqual(['Reserved', 'Reserved', 'Running', 'Running']);
    world.provider.inject({ operation: 'list', effect: 'incomplete', times: 6 });
    await advance(world.clock, 2 * MINUTE);
    expect(world.views.size).toBe(4);
    await advance(world.clock, 5 * MINUTE);
    const used = new Set(world.provider.devices().map(({ reservationId }) => reservationId));
    const free = world.provider.reservationIds().find((id) => !used.has(id));
    world.provider.snatch(free!);
    await advance(world.clock, 2 * MINUTE);
    expect(states().toSorted()).toEqual(['Reserved', 'Running', 'Running']);
    expect(world.board.counts()).toEqual({ Reserved: 1, Running: 2 });
  });
});
