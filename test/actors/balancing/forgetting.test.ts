import { expect, test } from 'vitest';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { createBalancingStand, serve } from '../../support/balancing-stand.ts';
import { M1 } from '../../domain/balancing/pool.ts';

test('who has a pool forgotten waits for nobody but the daemon that tends it, which waits for him', async () => {
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
  await advance(clock, 60_000);
  expect(stand.states()).toEqual({});
  await before!.release();
  await advance(clock, 60_000);
  expect(stand.states()).toEqual({ [M1]: 'active' });
  expect(await operator.lease('pool/edge/api')).toBeNull();
  expect(await operator.lease('pool/edge/web')).not.toBeNull();
  await life.stop();
  await advance(clock, 1_000);
  expect(await operator.lease('pool/edge/api')).not.toBeNull();
});
