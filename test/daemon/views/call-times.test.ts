import { expect, test } from 'vitest';
import { createCallTimes } from '../../../src/daemon/views/call-times.ts';
import type { Metrics } from '../../../src/adapters/metrics/port.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';

const callsTo = (metrics: Metrics) => (operation: string, isFailed: boolean, seconds: number) => {
  const labels = { provider: 'stub', operation };
  metrics.count('driver_operations', { ...labels, error: isFailed ? '1' : '0' });
  metrics.observe('shepherd_driver_operation_seconds', labels, seconds);
};

test('shows call times by operation, and passes them on to the metrics', () => {
  let atMs = 0;
  const times = createCallTimes({ monotonic: () => atMs });
  const metrics = createMemMetrics();
  const driverCall = callsTo(times.heeding(metrics));
  for (let at = 1; at <= 100; at += 1) driverCall('List', at > 97, at / 1_000);
  atMs = 4_000;
  driverCall('Create', false, 2.5);
  atMs = 10_000;
  expect(times.of('stub', 50_000)).toEqual([
    { operation: 'Create', calls: 1, failed: 0, p50Ms: 2_500, p95Ms: 2_500, lastAtMs: 44_000 },
    { operation: 'List', calls: 100, failed: 3, p50Ms: 50, p95Ms: 95, lastAtMs: 40_000 },
  ]);
  expect(times.of('other', 0)).toEqual([]);
  expect(metrics.total('driver_operations', { provider: 'stub', operation: 'List' })).toBe(100);
});

test('forgets old times, and keeps counting calls', () => {
  const times = createCallTimes({ monotonic: () => 0 });
  const driverCall = callsTo(times.heeding(createMemMetrics()));
  for (let at = 0; at < 300; at += 1) driverCall('List', false, at < 100 ? 9 : 0.001);
  expect(times.of('stub', 0)).toMatchObject([{ calls: 300, p50Ms: 1, p95Ms: 1 }]);
});
