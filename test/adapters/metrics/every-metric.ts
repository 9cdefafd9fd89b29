import type { Family } from '../../../src/adapters/metrics/families.ts';
import { type MetricName, type Metrics, type Told } from '../../../src/adapters/metrics/port.ts';
import { METRICS } from '../../../src/adapters/metrics/table.ts';

/** Every family of ours by name: the names that documents, rules and dashboards may use. */
export const REGISTERED = Object.entries<Family>(METRICS)
  .map(([name, { labels, ...family }]) => ({
    ...{ ...family, name: name as MetricName },
    labels,
    labelNames: labels.map((label) => (typeof label === 'string' ? label : label[0])),
  }))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));

const HOW = { counter: 'count', gauge: 'set', histogram: 'observe' } as const;

/**
 * Every series that the table names, and one value of each free-text label. Values differ where two
 * series could be confused.
 */
export function touchAll(metrics: Metrics): void {
  for (const [at, { name, type, labels }] of REGISTERED.entries()) {
    const sets = labels.reduce<readonly Told['labels'][]>(
      (all, label) => {
        const [key, values] = typeof label === 'string' ? [label, [`a-${label}`]] : label;
        return all.flatMap((each) => values.map((value) => ({ ...each, [key]: value })));
      },
      [{}],
    );
    for (const [nth, each] of sets.entries()) {
      const tell = metrics[HOW[type]] as (name: string, labels: object, value: number) => void;
      tell(name, each, at + 1 + nth / 100);
    }
  }
}
