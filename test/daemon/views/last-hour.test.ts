import { expect, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { metricsTo, type HeartbeatEnd } from '../../../src/adapters/metrics/port.ts';
import { createCloser } from '../../../src/daemon/closer.ts';
import { createSeries, SAMPLES_MAX } from '../../../src/daemon/views/last-hour.ts';
import { headlineOf } from '../../../src/domain/headline.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';

const HOUR_MS = 3_600_000;

test('counts heartbeats and recoveries per step, and keeps exactly an hour', async () => {
  const clock = createSimulatedClock();
  const closer = createCloser(silentLog);
  const series = createSeries({ clock, closer });
  const told: string[] = [];
  const metrics = series.heeding(
    metricsTo(({ labels: { outcome, to } }) => void told.push((outcome ?? to)!)),
  );
  const heartbeat = (outcome: HeartbeatEnd) =>
    metrics.count('shepherd_heartbeats_total', { outcome });
  const transition = (from: string, to: string) =>
    metrics.count('shepherd_machine_transitions_total', { provider: 'p', from, to });
  let running = 0;
  const headline = () => headlineOf([{ word: 'silent', machines: running }]);
  series.begin({ counts: () => ({ Running: running }), headline, nowMs: clock.now });
  const beganAtMs = clock.now();
  heartbeat('ok');
  heartbeat('invalid');
  transition('Running', 'Recovering');
  transition('Recovering', 'Provisioned');
  await advance(clock, series.stepMs);
  running = 2;
  heartbeat('ok');
  heartbeat('ok');
  await advance(clock, series.stepMs);
  expect(series.samples()).toEqual([
    { atMs: beganAtMs + 10_000, counts: { Running: 0 }, silent: 0, heartbeats: 1, recoveries: 1 },
    { atMs: beganAtMs + 20_000, counts: { Running: 2 }, silent: 2, heartbeats: 2, recoveries: 0 },
  ]);
  expect(told).toEqual(['ok', 'invalid', 'Recovering', 'Provisioned', 'ok', 'ok']);
  await advance(clock, 2 * HOUR_MS);
  const samples = series.samples();
  expect([samples.length, samples.at(-1)!.atMs - samples[0]!.atMs]).toEqual([
    SAMPLES_MAX,
    HOUR_MS - series.stepMs,
  ]);
  await closer.close();
  await advance(clock, HOUR_MS);
  expect(series.samples().at(-1)).toBe(samples.at(-1));
});
