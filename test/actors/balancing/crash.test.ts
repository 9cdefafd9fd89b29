import type { MetricName } from '../../../src/adapters/metrics/port.ts';
import { expect, test } from 'vitest';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, serve } from '../../support/balancing-stand.ts';
import { MINUTE } from './vector-world.ts';

const CRASHED =
  'the actor of a pool crashed; it restarts after a growing pause, and other pools continue';

/** A pool at two balancers. The balancer at `core` throws as often as requested. */
function standOf() {
  const clock = createSimulatedClock();
  const [edge, core] = [createMemoryBalancer({ clock }), createMemoryBalancer({ clock })];
  const stand = createBalancingStand({
    clock,
    pools: [pool({ balancers: ['edge', 'core'] })],
    balancers: { edge: edge.balancer, core: core.balancer },
  });
  let throws = 0;
  const { count, observe } = stand.metrics;
  const tended: string[] = [];
  stand.metrics.count = (name, labels, by) => {
    if (name === 'shepherd_lb_reconcile_created_total' && by === 0) {
      tended.push(...Object.values(labels).filter((value) => value === 'edge' || value === 'core'));
    }
    count(name, labels, by);
  };
  const isPass = (name: MetricName) => name === 'shepherd_lb_reconcile_total_duration_seconds';
  stand.metrics.observe = (name, labels, value) => {
    const isCore = Object.values(labels).includes('core');
    if (isPass(name) && isCore && throws-- > 0) throw new Error('a mistake of ours');
    observe(name, labels, value);
  };
  stand.wish(serve(M1), serve(M2));
  return { clock, core, stand, tended, crash: (times: number) => void (throws = times) };
}

test('recreates a pool whose actor crashed, unnoticed by other pools', async () => {
  const { clock, core, stand, crash, tended } = standOf();
  const life = await stand.life();
  await advance(clock, 2 * MINUTE);
  expect(tended).toEqual(['edge', 'core']);
  crash(1);
  core.held.delete(core.find('bind', 'v4.http.').id);
  await advance(clock, 6 * MINUTE);
  expect(stand.log.count(CRASHED)).toBe(1);
  expect(tended).toEqual(['edge', 'core', 'core']);
  expect(life.crashes(), 'the supervisor is not told').toEqual([]);
  expect(core.names()).toContain('bind v4.http.api.eu');
  stand.wish(serve(M3));
  await advance(clock, MINUTE);
  expect([life.state('edge'), life.state('core')]).toEqual(['settled', 'settled']);
  expect([stand.states('edge')[M3], stand.states('core')[M3]]).toEqual(['active', 'active']);
  expect(stand.metrics.series('shepherd_lb_frozen')).toHaveLength(2);
  await life.stop();
  for (const gauge of [
    'shepherd_lb_reconcile_resources_pending',
    'shepherd_lb_state',
    'shepherd_lb_members',
    'shepherd_lb_frozen',
    'shepherd_lb_last_settled_timestamp_seconds',
  ] as const) {
    expect(stand.metrics.series(gauge), 'a pool that was left shows nothing').toEqual([]);
  }
  expect(clock.pending).toBe(0);
});

test('recreates a pool later after each crash and keeps its lease', async () => {
  const { clock, core, stand, crash } = standOf();
  crash(1_000);
  const life = await stand.life();
  const two = await stand.life();
  await advance(clock, 10 * MINUTE);
  const crashes = stand.log.count(CRASHED);
  expect(crashes).toBeGreaterThan(5);
  expect(crashes).toBeLessThan(15);
  expect([life.state('edge'), two.state('edge')]).toEqual(['settled', 'awaitingLease']);
  expect(stand.standing('core')).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('a mistake of ours'),
  });
  crash(0);
  await advance(clock, 6 * MINUTE);
  expect(life.state('core')).toBe('settled');
  expect(stand.standing('core')).toMatchObject({ state: 'settled', reason: null });
  expect(core.servers(M1).map(({ mode }) => mode)).toEqual(['active', 'active']);
  await life.stop();
  await two.stop();
  expect(clock.pending).toBe(0);
});

test('recreates no pool after the stop, nor before its pending calls have ended', async () => {
  const { clock, core, stand, crash, tended } = standOf();
  const goOn = core.hang('setMember');
  const life = await stand.life();
  await advance(clock, 2 * MINUTE);
  expect(core.calls.at(-1)?.operation).toBe('setMember');
  crash(1);
  await advance(clock, 10 * MINUTE);
  expect([stand.log.count(CRASHED), tended]).toEqual([1, ['edge', 'core']]);
  await life.stop();
  goOn();
  const calls = core.calls.length;
  await advance(clock, 10 * MINUTE);
  expect([core.calls.length, tended.length, clock.pending]).toEqual([calls, 2, 0]);
});
