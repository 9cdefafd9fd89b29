import {
  metricsTo,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  type Metrics,
  type MetricCall,
} from '../../src/adapters/metrics/port.ts';
import type { MetricsSource } from '../../src/console/port.ts';

export interface MemMetrics extends Metrics, MetricsSource {
  /** All calls so far, oldest first. */
  readonly calls: readonly MetricCall[];
  /** The counter's total, or the number of observations, over all series with these labels. */
  total<Name extends CounterName | HistogramName>(
    name: Name,
    labels?: Partial<LabelsOf<Name>>,
  ): number;
  /** A gauge's present series: labels in the order of the table, and values. */
  series(name: GaugeName): readonly (readonly [labels: string, value: number])[];
  /** Drops the calls so far, but keeps the gauges. */
  forget(): void;
}

/** Metrics that only record, for tests of what was counted. */
export function createMemMetrics(): MemMetrics {
  const calls: MetricCall[] = [];
  const gauges = new Map<MetricName, Map<string, MetricCall>>();
  const hold = (told: MetricCall) => {
    const { how, name, labels, value } = told;
    const own = gauges.get(name) ?? new Map<string, MetricCall>();
    gauges.set(name, own);
    const key = Object.values(labels).join(' ');
    if (how === 'set') own.set(key, told);
    if (how === 'count') own.set(key, { ...told, value: (own.get(key)?.value ?? 0) + value });
    if (how !== 'clear') return;
    for (const [each, known] of own) if (isWithin(known.labels, labels)) own.delete(each);
  };
  return {
    ...metricsTo((told) => {
      calls.push(told);
      hold(told);
    }),
    calls,
    total: (name, labels = {}) =>
      calls
        .filter(
          (told) => told.name === name && isWithin(told.labels, labels as MetricCall['labels']),
        )
        .reduce((sum, { how, value }) => sum + (how === 'observe' ? 1 : value), 0),
    series: (name) => [...(gauges.get(name) ?? [])].map(([labels, { value }]) => [labels, value]),
    forget: () => void calls.splice(0),
    expose: async () => ({ contentType: 'text/plain', body: '' }),
  };
}

const isWithin = (labels: MetricCall['labels'], wanted: MetricCall['labels']): boolean =>
  Object.entries(wanted).every(([label, value]) => labels[label] === value);
