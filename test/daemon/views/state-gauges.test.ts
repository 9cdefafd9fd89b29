import { expect, test } from 'vitest';
import { slotIdOf } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import type { HealthReport } from '../../../src/console/port.ts';
import { createStateGauges, tellCensus } from '../../../src/daemon/views/state-gauges.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../../support/played-world.ts';

const MINUTE = 60_000;

test('shows the daemon’s present state at each scrape, and nothing of the scrape before', async () => {
  const world = createPlayedWorld({ seed: 3, locations: { hall: 3 } });
  const { daemon } = await world.start({ name: 'one', roles: ['loops', 'console'] });
  await advance(world.clock, 12 * MINUTE);
  const metrics = createMemMetrics();
  const checks = { session: { ok: true }, database: { ok: false } };
  const deps = {
    health: async () => ({ checks }) as unknown as HealthReport,
    consoleNotAfterMs: () => 1_800_000_000_000,
  };
  const parts = { ...daemon.parts, metrics };
  const tell = createStateGauges(parts, deps);
  metrics.set('shepherd_ready', { check: 'of yore' }, 1);
  metrics.set('shepherd_machines', { provider: 'gone', state: 'x', substate: 'y' }, 4);
  metrics.set('shepherd_provision_intents_open', { provider: 'stub' }, 5);
  metrics.set('shepherd_provision_intents_open', { provider: 'other' }, 6);
  metrics.set('shepherd_machine_conditions', { provider: 'x', type: 'y', status: 'True' }, 1);
  const [{ provider, slot: name }] = [...parts.mirror.facts().values()] as [SlotFacts];
  await world.bmdb.conditions.report([
    {
      ...{
        provider,
        slotId: slotIdOf(name),
        machineId: null,
        type: 'disk-failing',
        source: 'agent',
      },
      ...{ status: 'True', reason: 'sda', detail: '', validForMs: null },
    },
  ]);
  await advance(world.clock, MINUTE);
  await tell();
  expect(metrics.series('shepherd_machine_conditions')).toEqual([['stub disk-failing True', 1]]);

  const figures = (
    [
      ...['shepherd_ready', 'shepherd_machines', 'shepherd_loop_workers', 'shepherd_role'],
      ...['tls_certificate_not_after_seconds', 'shepherd_guard_permits', 'shepherd_guard_budget'],
      ...['shepherd_provision_intent_oldest_seconds', 'shepherd_events_waiting_seconds'],
      ...['shepherd_provision_intents_open', 'shepherd_machines_need_human'],
    ] as Parameters<typeof metrics.series>[0][]
  ).flatMap((name) => metrics.series(name).map((each) => `${name} ${each.join(': ')}`));
  await expect(`${figures.join('\n')}\n`).toMatchFileSnapshot('state-gauges.txt');
  const [, listingSeconds] = metrics.series('shepherd_listing_age_seconds')[0]!;
  expect(listingSeconds).toBeGreaterThanOrEqual(0);
  expect(listingSeconds).toBeLessThan(120);
  const [, leftSeconds] = metrics.series('shepherd_session_deadline_remaining_seconds')[0]!;
  expect(leftSeconds).toBeGreaterThan(0);
  const loops = metrics.series('shepherd_loop_last_success_timestamp_seconds');
  expect(loops.map(([loop]) => loop)).toEqual(
    expect.arrayContaining(['session', 'rows', 'guard', 'listing stub', 'provisioner stub']),
  );
  for (const [loop, seconds] of loops) {
    expect(daemon.parts.mirror.nowMs() / 1_000 - seconds, loop).toBeLessThan(12 * 60);
  }
  // They exist before their first increase, or an alert would miss the first event.
  for (const name of [
    'shepherd_ssh_insecure_connections_total',
    'shepherd_ssh_hostkey_changes_total',
    'shepherd_deprovisions_stuck_total',
    'shepherd_reinstalls_total',
  ]) {
    expect(metrics.calls).toContainEqual(
      expect.objectContaining({
        name,
        labels: expect.objectContaining({ provider: 'stub' }),
        value: 0,
      }),
    );
  }
  const leases = { ...daemon.parts.leases, held: () => null };
  const left = createStateGauges({ ...parts, leases }, deps);
  metrics.set('shepherd_provider_capacity', { provider: 'stub', kind: 'used' }, 7);
  await left();
  expect(metrics.series('shepherd_provider_capacity'), 'another daemon provisions it').toEqual([]);
  expect(metrics.series('shepherd_provision_intents_open')).toEqual([['other', 6]]);
  await Promise.all([daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

test('counts machines that need a human by provider, with 0 where there is none', () => {
  const metrics = createMemMetrics();
  const stuck = { provider: 'a', state: 'Quarantined', substate: 'needsHuman' };
  tellCensus(metrics, [
    { ...stuck, count: 2, needHuman: 2 },
    { ...stuck, substate: 'missing', count: 5, needHuman: 5 },
    { ...stuck, substate: 'byOperator', count: 9, needHuman: 0 },
    { ...stuck, state: 'Running', substate: 'silent', count: 4, needHuman: 1 },
    { ...stuck, provider: 'b', state: 'Running', substate: 'healthy', count: 7, needHuman: 0 },
  ]);
  expect(metrics.series('shepherd_machines_need_human')).toEqual([
    ['a', 8],
    ['b', 0],
  ]);
});
