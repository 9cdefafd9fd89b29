import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { expect, test } from 'vitest';
import { STEPS } from '../../src/conformance/steps.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/provider-test.md');

const list = STEPS.map(({ id, title, needs, destructive }) => {
  const allowed = { always: 'only with', existing: 'for a machine that existed before only with' };
  const facts = [
    ...(needs.length > 0 ? [`needs ${needs.join(', ')}`] : []),
    ...(destructive ? [`${allowed[destructive]} \`--allow-destructive\``] : []),
  ];
  return `- \`${id}\`: ${title}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`;
}).join('\n');

test('writes the list of steps from the steps', async () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const fresh = text.replace(
    /<!-- steps:begin -->[^]*<!-- steps:end -->/,
    () => `<!-- steps:begin -->\n\n${list}\n\n<!-- steps:end -->`,
  );
  const options = await prettier.resolveConfig(DOCUMENT);
  const formatted = await prettier.format(fresh, { ...options, parser: 'markdown' });
  if (process.env['UPDATE']) writeFileSync(DOCUMENT, formatted);
  const now = readFileSync(DOCUMENT, 'utf8');
  expect(now, 'stale: run UPDATE=1 npx vitest run test/conformance/documented').toBe(formatted);
});

test('has unique ids, and an earlier step for each fact that a step needs', () => {
  const ids = STEPS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [at, { id, takes }] of STEPS.entries()) {
    const given = new Set(STEPS.slice(0, at).map(({ gives }) => gives));
    expect({ id, missing: takes.filter((fact) => !given.has(fact)) }).toEqual({ id, missing: [] });
  }
});
