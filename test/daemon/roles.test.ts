import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Bmdb, BmdbSession } from '../../src/adapters/bmdb/port.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import { createMemoryBalancer, type MemoryBalancer } from '../doubles/memory-balancer.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedDaemon } from '../support/played-world.ts';

const MINUTE = 60_000;
const MACHINES = 6;

const countsOf = ({ daemon }: PlayedDaemon) => daemon.board.counts();
const sessionOf = ({ daemon }: PlayedDaemon) => daemon.parts.keeper.current()!.sessionId;

test('a console-only daemon sees the fleet, and leaves the work to the other daemon, even a dead one', async () => {
  const world = createPlayedWorld({ seed: 17, locations: { hall: MACHINES } });
  const works = await world.start({ name: 'works', roles: ['loops', 'agent-server', 'janitor'] });
  const shows = await world.start({ name: 'shows', roles: ['console'] });
  await advance(world.clock, 20 * MINUTE);
  expect(countsOf(works)).toEqual({ Running: MACHINES });
  expect(countsOf(shows), 'it mirrors').toEqual({ Running: MACHINES });
  expect(shows.daemon.guard().state, 'and knows how the guard stands').toBe('watching');

  const ranked = [sessionOf(works)];
  expect(shows.daemon.parts.mirror.sessions(), 'who shows is not ranked').toEqual(ranked);
  expect(works.daemon.parts.mirror.sessions()).toEqual(ranked);
  const told = [...world.bmdb.tables.sessions.values()];
  expect(told.map(({ component }) => component).toSorted()).toEqual(['shepherd', 'srv']);
  const { sessions } = await shows.daemon.bmdb.inspection.sessions(new AbortController().signal);
  const rolesOf = (daemon: PlayedDaemon) =>
    sessions.find(({ sessionId }) => sessionId === sessionOf(daemon))?.about?.roles;
  expect(rolesOf(shows)).toEqual(['console']);
  expect(rolesOf(works)).toEqual(['loops', 'agent-server', 'janitor']);

  works.kill();
  const [lost] = world.hosts.values();
  const { executions } = lost!;
  lost!.killAgent();
  const devices = () =>
    world.provider.devices().map((device) => ({ ...device, observedAtMs: undefined }));
  const before = devices();
  await advance(world.clock, 60 * MINUTE);
  expect(countsOf(shows), 'no agent server is left').toEqual({ Running: MACHINES });
  expect(lost!.executions, 'nothing is done').toBe(executions);
  expect(devices()).toEqual(before);

  await Promise.all([shows.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

test('agents report to one daemon while another recovers: the guard learns of the intake', async () => {
  const world = createPlayedWorld({ seed: 18, locations: { hall: MACHINES } });
  const hears = await world.start({ name: 'hears', roles: ['agent-server'] });
  const works = await world.start({ name: 'works', roles: ['loops'] });
  await advance(world.clock, 20 * MINUTE);
  expect(countsOf(works)).toEqual({ Running: MACHINES });
  expect(hears.daemon.parts.mirror.lastScanAt(), 'it reads no fleet').toBeNull();
  const [lost] = world.hosts.values();
  const { executions } = lost!;
  lost!.killAgent();
  await advance(world.clock, 25 * MINUTE);
  expect(lost!.executions, 'its agent was started again').toBe(executions + 1);
  expect(countsOf(works)).toEqual({ Running: MACHINES });

  await Promise.all([hears.daemon.stop(), works.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

test('one daemon only tends the pools, another does everything else', async () => {
  const held: { balancer?: MemoryBalancer } = {};
  const driver = {
    name: 'memory',
    settings: () => z.strictObject({}),
    open: () => held.balancer!.balancer,
  };
  const addresses = {
    addresses: ['192.0.2.10'],
    ports: { http: { external: 80, internal: 8080 } },
  };
  const world = createPlayedWorld({
    ...{ seed: 19, locations: { hall: MACHINES }, balancerDrivers: [driver] },
    config: {
      ...{ fleet: 'eu', balancers: { edge: { driver: 'memory' } } },
      pools: { api: { balancers: ['edge'], select: {}, ...addresses } },
    },
  });
  const balancer = (held.balancer = createMemoryBalancer({ clock: world.clock }));
  const works = await world.start({ name: 'works', roles: ['loops', 'agent-server'] });
  await advance(world.clock, 20 * MINUTE);
  expect(countsOf(works)).toEqual({ Running: MACHINES });
  const rows = () => [...world.bmdb.tables.machines.values()].map(({ row }) => row);
  expect(rows().flatMap(({ machineId }) => balancer.servers(machineId))).toEqual([]);

  const tends = await world.start({ name: 'tends', roles: ['balancer'] });
  await advance(world.clock, 10 * MINUTE);
  expect(rows().map(({ members }) => members.map(({ state }) => state))).toEqual(
    Array.from({ length: MACHINES }, () => ['active']),
  );
  for (const { machineId } of rows())
    expect(balancer.servers(machineId)).toMatchObject([{ mode: 'active' }]);
  expect(tends.metrics.total('bmdb_work_started')).toBe(0);
  expect(tends.metrics.total('shepherd_heartbeats_total')).toBe(0);

  await Promise.all([tends.daemon.stop(), works.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

test('one daemon only counts the fleet, another does everything else', async () => {
  const world = createPlayedWorld({ seed: 20, locations: { hall: MACHINES } });
  const works = await world.start({ name: 'works', roles: ['loops', 'agent-server', 'janitor'] });
  const counts = await world.start({ name: 'counts', roles: ['stats'] });
  await advance(world.clock, 20 * MINUTE);
  const toldBy = ({ metrics }: PlayedDaemon) =>
    metrics.series('bmdb_stats_machines').map(([, machines]) => machines);
  expect(toldBy(works)).toEqual([]);
  expect(toldBy(counts)).toEqual([MACHINES]);
  expect(counts.daemon.parts.mirror.lastScanAt(), 'it reads no fleet').toBeNull();
  expect(counts.metrics.total('bmdb_work_started')).toBe(0);

  await Promise.all([counts.daemon.stop(), works.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

/** The answer to its first claim is lost: the machine is claimed without the daemon's knowledge. */
function losingAnAnswer(bmdb: Bmdb): Bmdb & { lost: string | null } {
  const losing: Bmdb & { lost: string | null } = {
    ...bmdb,
    lost: null,
    async openSession(options) {
      const session = await bmdb.openSession(options);
      const claim: BmdbSession['claim'] = async (process, machineId) => {
        const work = await session.claim(process, machineId);
        if (losing.lost !== null) return work;
        losing.lost = machineId;
        throw new Unreachable('the answer was lost');
      };
      return { ...session, claim };
    },
  };
  return losing;
}

test('without a janitor, a working daemon returns its own work that nobody holds', async () => {
  const world = createPlayedWorld({ seed: 21, locations: { hall: MACHINES } });
  let losing: ReturnType<typeof losingAnAnswer> | undefined;
  const works = await world.start({
    ...{ name: 'works', roles: ['loops', 'agent-server'] },
    bmdb: (bmdb) => (losing = losingAnAnswer(bmdb)),
  });
  await advance(world.clock, 20 * MINUTE);
  expect(losing!.lost, 'a claim was lost').not.toBeNull();
  expect(works.log.count('work without a task is released')).toBe(1);
  expect(countsOf(works)).toEqual({ Running: MACHINES });

  await Promise.all([works.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});
