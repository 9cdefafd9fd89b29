import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { expect, test } from 'vitest';
import { PROCESSORS } from '../../../src/domain/processor.ts';
import { root } from '../../repo/sources.ts';
import { REGISTERED as families } from './every-metric.ts';

const DOCUMENT = join(root, 'docs/metrics.md');

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
const WHOSE = {
  fleet: "the fleet's: `max by`",
  daemon: "the daemon's: `sum by`",
  each: "the daemon's, each for itself",
} as const;
const whose = ({ scope }: (typeof families)[number]): string => (scope ? WHOSE[scope] : '`sum by`');
const lines = families.map((family) =>
  [
    '',
    code([family.name]),
    family.type,
    whose(family),
    code(family.labelNames),
    family.help,
    '',
  ].join(' | '),
);
const table = [
  '| name | type | over several daemons | labels | meaning |',
  '|---|---|---|---|---|',
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
