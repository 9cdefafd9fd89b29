import type { Label } from './families.ts';
import type { METRICS } from './table.ts';

export {
  CAPACITIES,
  COUNTED_PROCESSES,
  DISCREPANCIES,
  type HeartbeatEnd,
  JANITOR_KINDS,
  WEBHOOK_OUTCOMES,
} from './table.ts';

type Table = typeof METRICS;
export type MetricName = keyof Table;
type OfType<Type extends string> = {
  [Name in MetricName]: Table[Name]['type'] extends Type ? Name : never;
}[MetricName];
export type CounterName = OfType<'counter'>;
export type GaugeName = OfType<'gauge'>;
export type HistogramName = OfType<'histogram'>;

type NameOf<Of extends Label> = Of extends readonly [infer Name extends string, unknown]
  ? Name
  : Of & string;
type LabelValue<Of extends Label> = Of extends readonly [string, readonly (infer Value)[]]
  ? Value
  : string;
/** A metric's labels with their values. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Of in Table[Name]['labels'][number] as NameOf<Of>]: LabelValue<Of>;
};

/** Methods for all metrics, or for those of one part of the program. */
export interface MetricsOf<Known extends MetricName> {
  /** Counts events; for a gauge, adds or (negative) subtracts. 0 creates the series. */
  count<Name extends Known & (CounterName | GaugeName)>(
    name: Name,
    labels: LabelsOf<Name>,
    by?: number,
  ): void;
  set<Name extends Known & GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends Known & HistogramName>(
    name: Name,
    labels: LabelsOf<Name>,
    value: number,
  ): void;
  /** Creates the empty series of a histogram. */
  begin<Name extends Known & HistogramName>(name: Name, labels: LabelsOf<Name>): void;
  /** Removes the series of a gauge with these labels; without labels, all of them. */
  clear<Name extends Known & GaugeName>(name: Name, labels?: Partial<LabelsOf<Name>>): void;
}

/** The metrics of the table. Every method is total: it neither throws nor waits. */
export type Metrics = MetricsOf<MetricName>;

/** One call of the port. */
export interface MetricCall {
  readonly how: keyof Metrics;
  readonly name: MetricName;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Metrics that pass every call to one function. */
export const metricsTo = (hear: (told: MetricCall) => void): Metrics => ({
  count: (name, labels, value = 1) => hear({ how: 'count', name, labels, value }),
  set: (name, labels, value) => hear({ how: 'set', name, labels, value }),
  observe: (name, labels, value) => hear({ how: 'observe', name, labels, value }),
  begin: (name, labels) => hear({ how: 'begin', name, labels, value: 0 }),
  clear: (name, labels = {}) =>
    hear({ how: 'clear', name, labels: labels as MetricCall['labels'], value: 0 }),
});

/** The same metrics; `hear` also receives every call. */
export const heeding = (metrics: Metrics, hear: (told: MetricCall) => void): Metrics =>
  metricsTo((told) => {
    // The table assigns the method to each metric, but the union of all methods loses that.
    const { how, name, labels, value } = told;
    (metrics[how] as (name: MetricName, labels: object, value: number) => void)(
      name,
      labels,
      value,
    );
    hear(told);
  });

/** Counts nothing; for parts that run without a daemon. */
export const silentMetrics: Metrics = metricsTo(() => undefined);
