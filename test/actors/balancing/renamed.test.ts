import { expect, test } from 'vitest';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';

const MINUTE = 60_000;

test.each([
  ['uid', { uid: 'pool-uid-2' }],
  ['fleet', { suffix: 'api.us' }],
])('a pool whose %s changed while it serves is left alone, and says so', async (_, change) => {
  const clock = createSimulatedClock();
  const memory = createMemoryBalancer({ clock });
  const pools = [pool()];
  const stand = createBalancingStand({ clock, pools, balancers: { edge: memory.balancer } });
  stand.wish(serve(M1), serve(M2));
  const before = await stand.life();
  await advance(clock, 2 * MINUTE);
  await before.stop();
  const writes = memory.writes().length;

  pools[0] = pool(change);
  stand.wish(drain(M1));
  const after = await stand.life();
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
  const again = await stand.life();
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
  const anew = await stand.life();
  await advance(clock, 2 * MINUTE);
  expect(anew.state()).toBe('settled');
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
  await anew.stop();
});
