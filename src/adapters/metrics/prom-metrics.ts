import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Family } from './families.ts';
import type { Metrics } from './port.ts';
import { METRICS } from './table.ts';

/** One scrape in Prometheus' text format. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

export interface PromMetrics extends Metrics {
  /** Everything registered, collected now. */
  expose(): Promise<Exposition>;
}

export interface PromMetricsOptions {
  readonly version: string;
  /** Version of the BMDB schema that this program works with. */
  readonly schema: string;
  /** Source revision of the build, if known. */
  readonly commit?: string;
  /** Number of log lines that were counted instead of written; absent if that never happens. */
  readonly suppressed?: (() => number) | undefined;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Metrics on prom-client, in their own registry: two daemons in one process (a test) stay separate.
 * Includes the runtime's defaults: memory, CPU, event loop lag, garbage collection.
 */
export function createPromMetrics(options: PromMetricsOptions): PromMetrics {
  const { version, schema, commit = 'unknown', suppressed } = options;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  /** Series of each gauge, because prom-client returns them only through a promise. */
  const series = new Map<string, Map<string, Labels>>();
  const setGauge = (name: string, labels: Labels, change: (gauge: Gauge) => void) => {
    series.get(name)!.set(JSON.stringify(labels), labels);
    change(gauges.get(name)!);
  };

  for (const [name, family] of Object.entries<Family>(METRICS)) {
    const { help, type, buckets = [] } = family;
    const labelNames = family.labels.map((label) => (typeof label === 'string' ? label : label[0]));
    const shared = { name, help, labelNames, registers };
    if (type === 'counter') counters.set(name, new Counter(shared));
    else if (type === 'histogram') {
      histograms.set(name, new Histogram({ ...shared, buckets: [...buckets] }));
    } else {
      gauges.set(name, new Gauge(shared));
      series.set(name, new Map());
      if (family.isAbsent) gauges.get(name)!.remove();
    }
    if (type === 'histogram' || family.labels.length === 0) continue;
    for (const labels of combinations(family.labels)) {
      if (type === 'counter') counters.get(name)!.inc(labels, 0);
      else setGauge(name, labels, (gauge) => gauge.set(labels, 0));
    }
  }
  gauges.get('shepherd_build_info')!.set({ version, commit, schema }, 1);

  return {
    count(name, labels: Labels, by = 1) {
      const counter = counters.get(name);
      if (counter) counter.inc(labels, by);
      else setGauge(name, labels, (gauge) => gauge.inc(labels, by));
    },
    set: (name, labels: Labels, value) =>
      setGauge(name, labels, (gauge) => gauge.set(labels, value)),
    observe: (name, labels: Labels, value) => histograms.get(name)!.observe(labels, value),
    begin: (name, labels: Labels) => histograms.get(name)!.zero(labels),
    clear(name, within = {}) {
      const wanted = Object.entries<string>(within as Labels);
      const known = series.get(name)!;
      for (const [key, labels] of known) {
        if (!wanted.every(([label, value]) => labels[label] === value)) continue;
        gauges.get(name)!.remove(labels);
        known.delete(key);
      }
    },
    async expose() {
      const told = counters.get('shepherd_log_suppressed_total')!;
      told.reset();
      told.inc(suppressed?.() ?? 0);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** Every combination of labels, if each label has a list of values; otherwise none. */
const combinations = (labels: Family['labels']): readonly Labels[] =>
  labels.reduce<readonly Labels[]>(
    (all, label) =>
      typeof label === 'string'
        ? []
        : all.flatMap((each) => label[1].map((value) => ({ ...each, [label[0]]: value }))),
    [{}],
  );
