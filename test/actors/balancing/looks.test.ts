import { beforeEach, expect, test } from 'vitest';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { Observed } from '../../../src/domain/balancing/objects.ts';
import { createMemoryBalancer, type MemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import type { BalancingStand, StandLife } from '../../support/balancing-stand.ts';

/** Which looks read everything again at a balancer that answers from memory whenever it may. */

const MINUTE = 60_000;
const DESELECTED = {
  reason: 'the pool does not select it',
  askedAtMs: null,
  leaves: true,
} as const;

let clock: VirtualClock;
let memory: MemoryBalancer;
let stand: BalancingStand;
let life: StandLife;
/** Each look since `take`: its start, and whether it was a full read. */
let looks: { readonly atMs: number; readonly isFull: boolean }[];
const take = () => looks.splice(0).map(({ isFull }) => isFull);

/** Repeats the last full read's objects while they exist. */
function recalling(balancer: LoadBalancer): LoadBalancer {
  const read = new Map<string, Observed>();
  return {
    ...balancer,
    async observe(owner, look) {
      const isFull = look.mayRecall !== true;
      looks.push({ atMs: clock.monotonic(), isFull });
      const now = await balancer.observe(owner, look);
      if (isFull) read.clear();
      return now.map((one) => {
        const known = read.get(one.ref.id) ?? one;
        if (one.phase === 'ready') read.set(one.ref.id, known);
        return known;
      });
    },
  };
}

beforeEach(async () => {
  clock = createSimulatedClock();
  looks = [];
  memory = createMemoryBalancer({
    clock,
    readyAfterMs: 2_000,
    capabilities: { drain: 'remove', sessions: false, health: false },
  });
  stand = createBalancingStand({ clock, balancers: { edge: recalling(memory.balancer) } });
  stand.wish(serve(M1), serve(M2));
  life = await stand.life();
  await advance(clock, MINUTE);
  return () => life.stop();
});

test('reads everything on the first look and less after own changes', () => {
  expect(looks.length).toBeGreaterThan(3);
  const [first, ...more] = take();
  expect([first, more.includes(true)]).toEqual([true, false]);
});

test('reads everything on every look of a settled pool', async () => {
  take();
  await advance(clock, 30 * MINUTE);
  expect(looks.length).toBeGreaterThanOrEqual(5);
  expect(take()).not.toContain(false);
});

test('reads everything as often for a pool that never settles', async () => {
  take();
  const beganMs = clock.monotonic();
  for (let minute = 0; minute < 30; minute += 1) {
    stand.wish(minute % 2 === 0 ? serve(M3) : drain(M3, DESELECTED));
    await advance(clock, MINUTE);
  }
  expect(looks.some(({ isFull }) => !isFull)).toBe(true);
  let lastMs = beganMs;
  for (const { atMs, isFull } of looks.filter((each) => each.isFull)) {
    expect([isFull, atMs - lastMs <= 6 * MINUTE]).toEqual([true, true]);
    lastMs = atMs;
  }
  expect(clock.monotonic() - lastMs).toBeLessThanOrEqual(6 * MINUTE);
});

test('remembers nothing when another daemon takes over', async () => {
  await life.stop();
  take();
  life = await stand.life();
  await advance(clock, 1_000);
  expect(take()[0]).toBe(true);
});

test('reads everything after a pause and after a failed look', async () => {
  await stand.ask('pause-pool');
  await advance(clock, 1_000);
  take();
  await stand.ask('resume-pool');
  await advance(clock, 1_000);
  expect(take()[0]).toBe(true);
  memory.inject({ operation: 'observe', effect: 'failBefore' });
  stand.wish(serve(M3));
  await advance(clock, 20_000);
  const [failed, next] = take();
  expect([failed, next]).toEqual([false, true]);
});

test('destroys nothing because of remembered readings', async () => {
  const bind = memory.find('bind', 'v4.http.');
  const { spec, parentId, owner } = bind;
  const twin = memory.put({ spec, parentId, owner });
  // By hand: the existing object no longer matches; its twin does.
  bind.spec = { ...spec, address: '192.0.2.99' } as typeof spec;
  stand.wish(serve(M3));
  await advance(clock, MINUTE);
  expect(memory.held.has(bind.id)).toBe(false);
  expect(memory.held.has(typeof twin === 'string' ? twin : twin.id)).toBe(true);
});
