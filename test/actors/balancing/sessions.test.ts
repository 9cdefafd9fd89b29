import { expect, test } from 'vitest';
import { balancerJob } from '../../../src/actors/balancing/deps.ts';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';
import type { BalancingStandOptions } from '../../support/balancing-stand.ts';

/** A daemon whose session ends while something is under way, and which has another one at once. */

const MINUTE = 60_000;
const JOB = balancerJob('edge');

function standOf(
  as: (balancer: LoadBalancer) => LoadBalancer = (same) => same,
  bmdb: BalancingStandOptions['bmdb'] = (same) => same,
) {
  const clock = createSimulatedClock();
  const memory = createMemoryBalancer({ clock });
  const stand = createBalancingStand({ clock, balancers: { edge: as(memory.balancer) }, bmdb });
  stand.wish(serve(M1), serve(M2));
  return { clock, memory, stand };
}

test('what the session before gives back is not what the next one has taken', async () => {
  const { clock, memory, stand } = standOf();
  const one = await stand.life();
  await advance(clock, 2 * MINUTE);
  const goOn = memory.hang('create');
  stand.wish(serve(M3));
  await advance(clock, 2_000);
  expect(memory.calls.findLast(({ operation }) => operation === 'create')?.name).toContain(M3);
  await one.renew();
  await advance(clock, 1_000);
  const held = one.leases.held(JOB);
  expect(held).not.toBeNull();
  const two = await stand.life();
  goOn();
  await advance(clock, MINUTE);
  expect(one.leases.held(JOB)?.epoch).toBe(held!.epoch);
  expect([one.state(), two.state()]).toEqual(['settled', 'awaitingLease']);
  expect(stand.states()[M3]).toBe('active');
  await one.stop();
  await advance(clock, 10_000);
  expect(two.state(), 'what it has is given back when it stops').toBe('settled');
  await two.stop();
});

test('nothing is written by what the session before began', async () => {
  const signal = new AbortController().signal;
  // This balancer ends what it has begun, whoever gives it up.
  const { clock, memory, stand } = standOf((balancer) => ({
    ...balancer,
    setMember: (ref, mode, owner) => balancer.setMember!(ref, mode, owner, { signal }),
  }));
  const life = await stand.life();
  await advance(clock, 2 * MINUTE);
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
  await life.stop();
});

test('a process that was stopped for longer than its session lives changes nothing when it wakes up', async () => {
  let isLate = false;
  const { clock, memory, stand } = standOf(undefined, (bmdb) => ({
    ...bmdb,
    async openSession(...asked) {
      const session = await bmdb.openSession(...asked);
      return { ...session, remainingMs: () => (isLate ? 0 : session.remainingMs()) };
    },
  }));
  const life = await stand.life();
  await advance(clock, 2 * MINUTE);
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
  await life.stop();
});
