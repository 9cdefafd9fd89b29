import { expect, test } from 'vitest';
import { M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import { memoryWorld } from './memory-world.ts';

const MINUTE = 60_000;

test('a machine serves again that one balancer let go and another does not, until both can', async () => {
  const world = memoryWorld();
  const core = createMemoryBalancer({ clock: world.clock });
  const stand = createBalancingStand({
    clock: world.clock,
    balancers: { edge: world.balancer, core: core.balancer },
    pools: [pool({ balancers: ['edge', 'core'] })],
  });
  stand.wish(serve(M1), serve(M2), serve(M3));
  const life = await stand.life();
  await world.pass(3 * MINUTE);
  expect(stand.states('core')).toMatchObject({ [M1]: 'active', [M2]: 'active' });
  core.cutOff(true);
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }));
  await world.pass(MINUTE);
  expect([stand.row(M1)?.state, stand.row(M1, 'core')?.state]).toEqual(['drained', 'draining']);
  await world.pass(5 * MINUTE);
  expect(stand.states('edge')).toMatchObject({ [M1]: 'active' });
  expect(stand.row(M1)?.note).toContain('it serves until its other pools let it go');
  core.cutOff(false);
  await world.pass(MINUTE);
  expect(stand.states('core')).toMatchObject({ [M1]: 'drained no-sessions' });
  expect(stand.states('edge')).toMatchObject({ [M1]: 'drained no-sessions' });
  await life.stop();
});
