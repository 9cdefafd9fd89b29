import { expect, test } from 'vitest';
import { IP, M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import { memoryWorld } from './memory-world.ts';

test('a machine waits with its address until another one at that address is let go', async () => {
  const world = memoryWorld();
  const stand = createBalancingStand({ clock: world.clock, balancers: { edge: world.balancer } });
  stand.wish(serve(M2), serve(M3));
  const life = await stand.life();
  await world.pass(3 * 60_000);
  for (const server of world.memory.servers(M2)) server.sessions = 3;
  stand.wish(drain(M2), serve(M1, IP[M2]));
  await world.pass(20_000);
  expect(stand.states()).toEqual({ [M2]: 'draining', [M3]: 'active' });
  expect(world.memory.servers(M2), 'its connections go on').toHaveLength(2);
  await world.pass(60_000);
  expect(stand.states()).toMatchObject({ [M1]: 'active', [M2]: 'drained grace' });
  expect(world.memory.servers(M2)).toEqual([]);
  await life.stop();
});
