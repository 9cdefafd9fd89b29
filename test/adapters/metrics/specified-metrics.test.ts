import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createPromMetrics } from '../../../src/adapters/metrics/prom-metrics.ts';
import { touchAll } from './every-metric.ts';
import { testRows } from '../../support/rows.ts';

/**
 * Compares the scrape with the agreed names, types, labels and label values of dashboards and
 * alerts. The recorded scrape can be overwritten by mistake. This table changes by hand only.
 */
const TABLE = readFileSync(join(import.meta.dirname, 'specified.txt'), 'utf8').split('\n');
const isOfValues = (line: string) => line.includes(':');
const SPECIFIED = TABLE.filter((line) => line !== '' && !isOfValues(line)).map((line) => {
  const [name = '', type = '', ...labels] = line.split(' ');
  return [name, type, labels] as const;
});
const VALUES = TABLE.filter(isOfValues).map((line) => {
  const [, name = '', label = '', values = ''] = /^(\S+) (\S+): (.*)$/.exec(line) ?? [];
  return [name, label, values.split(' ')] as const;
});

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
interface Family {
  readonly name: string;
  readonly type: string;
  readonly series: Series[];
}

/** Parses the text format by its own rules, without the library. */
function read(body: string): readonly Family[] {
  const families: Family[] = [];
  for (const line of body.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined) families.push({ name, type: type!, series: [] });
    const [, of, braces = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (of === undefined) continue;
    const family = families.at(-1)!;
    const suffix = family.type === 'histogram' ? /^(_bucket|_sum|_count)$/ : /^$/;
    expect(of.startsWith(family.name) && of.slice(family.name.length), line).toMatch(suffix);
    const pairs = [...braces.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key, text]) => [key, text]);
    family.series.push({ labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return families.filter(({ name }) => !/^(process|nodejs)_/.test(name));
}

const metrics = createPromMetrics({
  ...{ version: '1.2.3', schema: '7', commit: 'abc1234' },
  suppressed: () => 21,
});
touchAll(metrics);
const families = read((await metrics.expose()).body);

describe('V52, B6: the scrape', () => {
  testRows(families.map((family) => [family.name, family] as const))(
    'counts %s, and names each of its series alike',
    (_name, { type, series }) => {
      expect(series.some(({ value }) => value > 0)).toBe(true);
      const names = series.map(({ labels }) =>
        Object.keys(labels)
          .filter((name) => type !== 'histogram' || name !== 'le')
          .toSorted()
          .join(),
      );
      expect(new Set(names).size).toBe(1);
      const all = series.map(({ labels }) => JSON.stringify(labels));
      if (type !== 'histogram') expect(new Set(all).size).toBe(all.length);
    },
  );

  testRows(SPECIFIED)('gives %s its type and its labels', (name, type, labels) => {
    const family = families.find((each) => each.name === name)!;
    expect(family.type).toBe(type);
    for (const each of family.series) {
      const own = Object.keys(each.labels).filter((label) => label !== 'le');
      expect(own.toSorted()).toEqual(labels.toSorted());
    }
  });

  testRows(VALUES)('has the agreed values of %s', (name, label, values) => {
    const family = families.find((each) => each.name === name)!;
    expect(family.series.map(({ labels }) => labels[label]).toSorted()).toEqual(values);
  });
});
