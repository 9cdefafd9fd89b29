import { expect, onTestFinished, test } from 'vitest';
import { balancerJob } from '../../../src/actors/balancing/deps.ts';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import type { MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';
import { testRows } from '../../support/rows.ts';
import { memoryPool, memoryWorld } from './memory-world.ts';
import { MINUTE } from './vector-world.ts';

/** Daemons that lose their session, overlap or follow each other, or name a pool differently. */

const JOB = balancerJob('edge');

test('does not release a job that the next session has taken', async () => {
  const { clock, memory, stand, start, life: one } = await memoryPool();
  const goOn = memory.hang('create');
  stand.wish(serve(M3));
  await advance(clock, 2_000);
  expect(memory.calls.findLast(({ operation }) => operation === 'create')?.name).toContain(M3);
  await one.renew();
  await advance(clock, 1_000);
  const held = one.leases.held(JOB);
  expect(held).not.toBeNull();
  const two = await start();
  goOn();
  await advance(clock, MINUTE);
  expect(one.leases.held(JOB)?.epoch).toBe(held!.epoch);
  expect([one.state(), two.state()]).toEqual(['settled', 'awaitingLease']);
  expect(stand.states()[M3]).toBe('active');
  await one.stop();
  await advance(clock, 10_000);
  expect(two.state(), 'what it has is given back when it stops').toBe('settled');
});

test('writes nothing for a call of the previous session', async () => {
  const signal = new AbortController().signal;
  // This balancer finishes what it has begun, even after its caller gave up.
  const world = memoryWorld();
  const { balancer } = world;
  const setMember: LoadBalancer['setMember'] = (ref, mode, owner) =>
    balancer.setMember!(ref, mode, owner, { signal });
  const balancers = { edge: { ...balancer, setMember } };
  const { clock, memory, stand, life } = await memoryPool({ world, balancers });
  for (const server of memory.servers(M1)) server.sessions = 1;
  stand.wish(drain(M1));
  await advance(clock, 25_000);
  const goOn = memory.hang('setMember');
  await advance(clock, 10_000);
  expect(memory.calls.findLast(({ operation }) => operation === 'setMember')?.name).toMatch(/^off/);
  expect(stand.states()[M1]).toBe('draining');
  stand.wish(serve(M1));
  await life.renew();
  await advance(clock, 1_000);
  expect(life.leases.held(JOB)).not.toBeNull();
  expect(stand.states()[M1]).toBe('active');
  const { sinceMs } = stand.row(M1)!;
  goOn();
  await advance(clock, MINUTE);
  expect(stand.row(M1)?.sinceMs, 'it was let go meanwhile').toBe(sinceMs);
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
  expect(memory.servers(M1).map(({ mode }) => mode)).toEqual(['active', 'active']);
});

test('changes nothing when a process wakes after its session has ended', async () => {
  let isLate = false;
  const bmdb = (own: MemBmdb): MemBmdb => ({
    ...own,
    async openSession(...asked) {
      const session = await own.openSession(...asked);
      return { ...session, remainingMs: () => (isLate ? 0 : session.remainingMs()) };
    },
  });
  const { clock, memory, stand } = await memoryPool({ bmdb });
  const goOn = memory.hang('setMember');
  stand.wish(drop(M1), serve(M3));
  await advance(clock, MINUTE);
  const writes = memory.writes().length;
  expect(memory.writes().at(-1)?.name, 'it is under way').toMatch(/^off/);
  isLate = true;
  goOn();
  await advance(clock, 2 * MINUTE);
  expect(memory.writes()).toHaveLength(writes);
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
  isLate = false;
  await advance(clock, 2 * MINUTE);
  expect(stand.states()).toMatchObject({ [M1]: 'drained gone', [M3]: 'active' });
});

test('drains no member because of a reading that is older than the last change', async () => {
  const capabilities = { drain: 'remove', sessions: false, health: false } as const;
  const { clock, memory, stand } = await memoryPool({ world: memoryWorld({ capabilities }) });
  const release = memory.hang('create');
  stand.wish(serve(M3));
  await advance(clock, 1_000);
  expect(stand.states()[M3]).toBe('joining');
  stand.wish(drop(M3));
  await advance(clock, 1_000);
  const letDestroy = memory.hang('destroy');
  release();
  await settled();
  await advance(clock, 1_000);
  expect(memory.servers(M3)).not.toEqual([]);
  expect(stand.states()[M3]).not.toMatch(/^drained/);
  letDestroy();
  await advance(clock, MINUTE);
  expect(stand.states()[M3]).toBe('drained gone');
  expect(memory.servers(M3)).toEqual([]);
});

test('reports the health of members although no row changes', async () => {
  let health: 'up' | 'down' = 'up';
  const world = memoryWorld({ healthOf: () => health });
  const { clock, stand, life } = await memoryPool({ world, machines: [M1] });
  await advance(clock, MINUTE);
  const row = stand.row(M1);
  health = 'down';
  await advance(clock, 20_000);
  expect(stand.row(M1), 'the row is as it was').toEqual(row);
  expect(life.board.tended()[0]?.members.get(M1)?.health).toBe('down');
});

test('waits only for the tending daemon when an operator forgets a pool', async () => {
  const clock = createSimulatedClock();
  const { balancer } = createMemoryBalancer({ clock });
  const stand = createBalancingStand({ clock, balancers: { edge: balancer } });
  stand.wish(serve(M1));
  const operator = await stand.bmdb.openSession({
    component: 'operator',
    runtimeInfo: 'test',
    intervalMs: 3_600_000,
  });
  const before = await operator.lease('pool/edge/api');
  const life = await stand.life();
  await advance(clock, MINUTE);
  expect(stand.states()).toEqual({});
  await before!.release();
  await advance(clock, MINUTE);
  expect(stand.states()).toEqual({ [M1]: 'active' });
  expect(await operator.lease('pool/edge/api')).toBeNull();
  expect(await operator.lease('pool/edge/web')).not.toBeNull();
  await life.stop();
  await advance(clock, 1_000);
  expect(await operator.lease('pool/edge/api')).not.toBeNull();
});

testRows([
  ['uid', { uid: 'pool-uid-2' }],
  ['fleet', { suffix: 'api.us' }],
])('leaves a pool alone whose %s changed while it serves, and reports it', async (_, change) => {
  const pools = [pool()];
  const { clock, memory, stand, start, life: before } = await memoryPool({ pools });
  await before.stop();
  const writes = memory.writes().length;

  pools[0] = pool(change);
  stand.wish(drain(M1));
  const after = await start();
  await advance(clock, 5 * MINUTE);
  expect(memory.writes().length).toBe(writes);
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
  expect(after.state()).toBe('barred');
  expect(stand.standing()).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('uid pool-uid-1, names in api.eu'),
  });
  await after.stop();

  pools[0] = pool();
  stand.wish(serve(M1));
  const again = await start();
  await advance(clock, MINUTE);
  expect([again.state(), stand.standing()?.reason]).toEqual(['settled', null]);
  stand.wish(drop(M1), drop(M2));
  await stand.ask('teardown-pool');
  await advance(clock, 2 * MINUTE);
  expect(memory.held.size).toBe(0);
  await again.stop();

  pools[0] = pool(change);
  await stand.ask('resume-pool');
  stand.wish(serve(M1), serve(M2));
  const anew = await start();
  await advance(clock, 2 * MINUTE);
  expect(anew.state()).toBe('settled');
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
});

/** As in docs/balancing.md: on each of two hosts a daemon with only its own balancer. */
test('lets two daemons with a balancer each tend one pool and both drain a machine', async () => {
  const clock = createSimulatedClock();
  const [edge, core] = [createMemoryBalancer({ clock }), createMemoryBalancer({ clock })];
  const stand = createBalancingStand({ clock, balancers: {} });
  stand.wish(serve(M1), serve(M2));
  const one = await stand.life({
    pools: [pool({ balancers: ['edge'] })],
    balancers: { edge: edge.balancer },
  });
  const two = await stand.life({
    pools: [pool({ balancers: ['core'] })],
    balancers: { core: core.balancer },
  });
  for (const life of [one, two]) onTestFinished(() => life.stop());
  await advance(clock, 2 * MINUTE);
  expect([one.state('edge'), two.state('core')]).toEqual(['settled', 'settled']);
  const both = () => [stand.states('edge'), stand.states('core')];
  expect(both()).toEqual(Array(2).fill({ [M1]: 'active', [M2]: 'active' }));

  for (const server of core.servers(M1)) server.sessions = 1;
  stand.wish(drain(M1));
  await advance(clock, 10_000);
  expect(both().map((states) => states[M1])).toEqual(['drained no-sessions', 'draining']);
  await advance(clock, MINUTE);
  expect(both().map((states) => states[M1])).toEqual(['drained no-sessions', 'drained grace']);
  expect(core.servers(M1)).toEqual([]);
  stand.wish(serve(M1));
  await advance(clock, 2 * MINUTE);
  expect(both()).toEqual(Array(2).fill({ [M1]: 'active', [M2]: 'active' }));
});
