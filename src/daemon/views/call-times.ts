import type { Clock } from '../../adapters/clock/port.ts';
import { heeding, type Metrics } from '../../adapters/metrics/port.ts';
import type { CallTimes } from '../../console/views.ts';

/** Number of remembered call times per kind. */
const SAMPLES_MAX = 200;

interface Tally {
  calls: number;
  failed: number;
  /** Monotonic milliseconds. */
  lastAtMs: number;
  /** The latest times, milliseconds, oldest first. */
  readonly times: number[];
}

/** Records durations of provider calls for views, besides the exported metrics. */
export function createCallTimes(clock: Pick<Clock, 'monotonic'>) {
  const tallies = new Map<string, Map<string, Tally>>();
  const tallyOf = (provider: string, operation: string): Tally => {
    const own = tallies.get(provider) ?? new Map<string, Tally>();
    tallies.set(provider, own);
    const tally = own.get(operation) ?? { calls: 0, failed: 0, lastAtMs: 0, times: [] };
    own.set(operation, tally);
    return tally;
  };
  return {
    /** Wraps the metrics and records call durations. */
    heeding: (metrics: Metrics): Metrics =>
      heeding(metrics, ({ how, name, labels: { provider, operation, error }, value }) => {
        if (name === 'driver_operations' && error === '1' && value > 0) {
          tallyOf(provider!, operation!).failed += value;
        }
        if (name !== 'shepherd_driver_operation_seconds' || how !== 'observe') return;
        const tally = tallyOf(provider!, operation!);
        tally.calls += 1;
        tally.lastAtMs = clock.monotonic();
        tally.times.push(value * 1_000);
        if (tally.times.length > SAMPLES_MAX) tally.times.shift();
      }),
    /** By operation. @param nowMs database clock, epoch ms. */
    of: (provider: string, nowMs: number): readonly CallTimes[] =>
      [...(tallies.get(provider) ?? [])]
        .map(([operation, { times, lastAtMs, calls, failed }]) => ({
          ...{ operation, calls, failed },
          p50Ms: percentile(times, 50),
          p95Ms: percentile(times, 95),
          lastAtMs: Math.round(nowMs - (clock.monotonic() - lastAtMs)),
        }))
        .toSorted((a, b) => (a.operation < b.operation ? -1 : 1)),
  };
}

/** The smallest sample that this percentage of all samples does not exceed, whole milliseconds. */
function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.ceil((percent / 100) * sorted.length) - 1]!);
}
