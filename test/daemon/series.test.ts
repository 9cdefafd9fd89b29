import { tellHardware } from '../../src/actors/statistics.ts';
import { tellCensus } from '../../src/daemon/views/state-gauges.ts';
import { expect, test } from 'vitest';
import { createBoard } from '../../src/actors/fleet-state.ts';
import { createPromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { createOverdueRule, overdueCounts } from '../../src/daemon/views/overdue.ts';
import { createStays } from '../../src/domain/explanation/overdue.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { DEFAULT_LADDER } from '../../src/domain/recovery/ladder.ts';
import { createHardwareSums } from '../../src/domain/hardware-sums.ts';
import { viewAt } from '../support/views.ts';
import { touchAll } from '../adapters/metrics/every-metric.ts';

const MINUTE_MS = 60_000;
const PLACES = [
  ['Running', 'healthy'],
  ['Running', 'silent'],
  ['Provisioned', 'installing'],
  ['Quarantined', 'needsHuman'],
] as const;

/** Metrics of a fleet whose machines each move once, and the time to find the overdue. */
async function exported(machines: number) {
  const metrics = createPromMetrics({ version: '1', schema: '1' });
  touchAll(metrics);
  let nowMs = 0;
  const board = createBoard({ nowMs: () => nowMs, metrics, changes: { next: () => undefined } });
  const stays = createStays();
  const sums = createHardwareSums();
  for (let at = 0; at < machines; at += 1) {
    const provider = providerName(`p${at % 3}`);
    const name = slot(provider, `s${at}`);
    board.onView({ ...viewAt('Reserved', 'available'), slot: name, provider });
    const [state, substate] = PLACES[at % PLACES.length]!;
    board.onShown({ slot: name, state, substate, working: false });
    stays.note({ provider, plan: null, state, substate }, MINUTE_MS);
    sums.add({ provider, location: `l${at % 5}`, report: { report: { cpu: [] } } });
  }
  tellCensus(metrics, board.census());
  tellHardware(metrics, sums.sums());
  nowMs = 31 * MINUTE_MS;
  const begun = process.cpuUsage();
  const overdue = overdueCounts(
    board.entries.values(),
    createOverdueRule({
      ...{ stays, loss: DEFAULT_LOSS, facts: () => new Map(), ladderOf: () => DEFAULT_LADDER },
    }),
    nowMs,
  );
  const { user, system } = process.cpuUsage(begun);
  const series = (await metrics.expose()).body
    .split('\n')
    .filter((line) => /^(shepherd|bmdb|tls|driver|equinix|redfish)_/.test(line))
    .map((line) => line.replace(/ \S+$/, ''));
  return { series, overdue, computedMs: (user + system) / 1_000 };
}

test('V53 exports as many series for 100,000 machines as for 100, and finds the overdue at once', async () => {
  const [small, large] = [await exported(120), await exported(100_020)];
  expect(large.series).toEqual(small.series);
  expect(small.series.length).toBeGreaterThan(300);
  expect(large.overdue.map(({ state, count }) => [state, count])).toEqual(
    Array(3).fill(['Provisioned', 8_335]),
  );
  expect(large.computedMs).toBeLessThan(1_000);
});

test('counts no machine as overdue in a resting state, nor within the limit of the step', async () => {
  const { overdue } = await exported(4);
  expect(overdue, 'of one sample nobody knows what is usual').toEqual([]);
});
