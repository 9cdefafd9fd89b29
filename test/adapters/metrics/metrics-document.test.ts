import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { expect, test } from 'vitest';
import { PROCESSORS } from '../../../src/domain/processor.ts';
import { root } from '../../repo/sources.ts';
import { REGISTERED as families } from './every-metric.ts';

const DOCUMENT = join(root, 'docs/metrics.md');

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
type Family = (typeof families)[number];
const ACROSS = { fleet: '`max`', daemon: '`sum`', each: 'each' } as const;
const across = ({ type, scope }: Family): string => `${type}, ${scope ? ACROSS[scope] : '`sum`'}`;
const BY_PROVIDER = '_by_provider';
const nameOf = ({ name }: Family): string => name;
const names = new Set(families.map(nameOf));
const isSecond = (name: string) =>
  name.endsWith(BY_PROVIDER) && names.has(name.slice(0, -BY_PROVIDER.length));
/** One row for a metric and for the same metric by provider. */
const namesIn = (family: Family): readonly string[] => {
  const second = `${family.name}${BY_PROVIDER}`;
  return names.has(second) ? [family.name, second] : [family.name];
};
const lines = families
  .filter(({ name }) => !isSecond(name))
  .map((family) =>
    ['', code(namesIn(family)), across(family), code(family.labelNames), family.help, ''].join(
      ' | ',
    ),
  );
const table = [
  '| name | kind, over daemons | labels | meaning |',
  '|---|---|---|---|',
  ...lines,
].join('\n');

test('V52 the document lists every metric, and no other', async () => {
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
