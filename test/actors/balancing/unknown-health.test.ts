import { expect, test } from 'vitest';
import { M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import { memoryWorld } from './memory-world.ts';

test('members of whom a balancer that was just started knows nothing yet are what they were', async () => {
  let health: 'up' | 'unknown' = 'up';
  const world = memoryWorld({ healthOf: () => health });
  const stand = createBalancingStand({ clock: world.clock, balancers: { edge: world.balancer } });
  stand.wish(serve(M1), serve(M2), serve(M3));
  const life = await stand.life();
  await world.pass(3 * 60_000);
  world.takeWrites();
  health = 'unknown';
  await world.pass(10 * 60_000);
  expect(world.takeWrites()).toEqual([]);
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active', [M3]: 'active' });
  expect(stand.rows().map(({ note }) => note)).toEqual([null, null, null]);
  expect(stand.standing()?.frozen ?? null).toBeNull();
  // They count as serving: of those who are to leave for good the last one stays.
  const parked = { askedAtMs: null, leaves: true } as const;
  stand.wish(drain(M1, parked), drain(M2, parked), drain(M3, parked));
  await world.pass(10 * 60_000);
  const states = Object.values(stand.states());
  expect(states.filter((state) => state === 'active')).toHaveLength(1);
  expect(states.filter((state) => state.startsWith('drained'))).toHaveLength(2);
  await life.stop();
});
