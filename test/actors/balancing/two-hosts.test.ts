import { expect, test } from 'vitest';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';

const MINUTE = 60_000;

/** As docs/haproxy.md has it: on each of two hosts a daemon that has only its own balancer. */
test('two daemons, each with a balancer of its own, tend one pool, and both let a machine go', async () => {
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
  await one.stop();
  await two.stop();
});
