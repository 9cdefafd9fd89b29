import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { balancingFamilies } from '../../../src/adapters/metrics/balancing-families.ts';
import {
  bmdbFamilies,
  driverFamilies,
  equinixFamilies,
  fleetFamilies,
  guardFamilies,
  provisionerFamilies,
  timingFamilies,
} from '../../../src/adapters/metrics/families.ts';
import { PROCESSORS } from '../../../src/domain/processor.ts';
import { root } from '../../repo/sources.ts';

const DOCUMENT = join(root, 'docs/metrics.md');

/** As the library keeps them, some of it undeclared. */
interface Family {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly constructor: { readonly name: string };
}
const registry = new Registry();
const families = [
  balancingFamilies,
  bmdbFamilies,
  driverFamilies,
  equinixFamilies,
  fleetFamilies,
  guardFamilies,
  provisionerFamilies,
  timingFamilies,
]
  .flatMap((register) => Object.values(register(registry)) as unknown as Family[])
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
const lines = families.map(({ name, help, labelNames, constructor }) =>
  ['', code([name]), constructor.name.toLowerCase(), code(labelNames), help, ''].join(' | '),
);
const table = ['| name | type | labels | meaning |', '|---|---|---|---|', ...lines].join('\n');

test('the document lists every metric, and no other', async () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const block = `<!-- metrics:begin -->\n\n${table}\n\n<!-- metrics:end -->`;
  const fresh = await prettier.format(
    text.replace(/<!-- metrics:begin -->[^]*<!-- metrics:end -->/, () => block),
    { ...(await prettier.resolveConfig(DOCUMENT)), parser: 'markdown' },
  );
  if (process.env['UPDATE']) writeFileSync(DOCUMENT, fresh);
  expect(readFileSync(DOCUMENT, 'utf8'), 'stale: run it with UPDATE=1').toBe(fresh);
  expect(families.length).toBeGreaterThan(20);
});

test('the document explains every label and every processor', () => {
  const text = readFileSync(DOCUMENT, 'utf8').split('## Labels')[1]!;
  // What the constant of the build says explains itself.
  const own = new Set(['version', 'commit', 'schema']);
  const labels = new Set(families.flatMap(({ labelNames }) => labelNames));
  expect([...labels].filter((name) => !own.has(name) && !text.includes(`\`${name}\``))).toEqual([]);
  expect(PROCESSORS.filter((name) => !text.includes(`| \`${name}\``))).toEqual([]);
});
