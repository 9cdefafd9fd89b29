import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { expect, test } from 'vitest';
import { PROCESSORS } from '../../../src/domain/processor.ts';
import { root } from '../../repo/sources.ts';
import { REGISTERED as families } from './every-metric.ts';

const DOCUMENT = join(root, 'docs/metrics.md');

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
type Family = (typeof families)[number];
const ACROSS = { fleet: '`max`', daemon: '`sum`', each: 'each' } as const;
const across = ({ type, scope }: Family): string => `${type}, ${scope ? ACROSS[scope] : '`sum`'}`;
const BY_PROVIDER = '_by_provider';
const nameOf = ({ name }: Family): string => name;
const names = new Set(families.map(nameOf));
const isSecond = (name: string) =>
  name.endsWith(BY_PROVIDER) && names.has(name.slice(0, -BY_PROVIDER.length));
/** One line covers a metric and the same metric by provider. */
const namesIn = (family: Family): readonly string[] => {
  const second = `${family.name}${BY_PROVIDER}`;
  return names.has(second) ? [family.name, second] : [family.name];
};
const list = families
  .filter(({ name }) => !isSecond(name))
  .map((family) => {
    const by = family.labelNames.length > 0 ? ` by ${code(family.labelNames)}` : '';
    return `- ${code(namesIn(family))} (${across(family)}${by}): ${family.help}`;
  })
  .join('\n');

test('V52 lists every metric, and no other, in the document', async () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const block = `<!-- metrics:begin -->\n\n${list}\n\n<!-- metrics:end -->`;
  const fresh = await prettier.format(
    text.replace(/<!-- metrics:begin -->[^]*<!-- metrics:end -->/, () => block),
    { ...(await prettier.resolveConfig(DOCUMENT)), parser: 'markdown' },
  );
  if (process.env['UPDATE']) writeFileSync(DOCUMENT, fresh);
  expect(readFileSync(DOCUMENT, 'utf8'), 'stale: run it with UPDATE=1').toBe(fresh);
  expect(families.length).toBeGreaterThan(20);
});

test('explains every label and every processor in the document', () => {
  const text = readFileSync(DOCUMENT, 'utf8').split('## Labels')[1]!;
  // The constant of the build needs no explanation.
  const own = new Set(['version', 'commit', 'schema']);
  const labels = new Set(families.flatMap(({ labelNames }) => labelNames));
  expect([...labels].filter((name) => !own.has(name) && !text.includes(`\`${name}\``))).toEqual([]);
  expect(PROCESSORS.filter((name) => !text.includes(`| \`${name}\``))).toEqual([]);
});
