import { Visitor, parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { PATIENCE } from '../support/patience.ts';
import { lineOf, sources } from './sources.ts';

const files = sources('test/**/*.ts');

/** The functions of vitest that wait, and by default a second only. */
const WAITS = new Set(['waitFor', 'waitUntil']);
/** What waits in the tests of a page, of programs and of sockets has limits of its own. */
const POLLS = new Set([...WAITS, 'poll']);

/** Waits whose limit is left out, or shorter than a busy machine needs. */
function impatient(text: string): string[] {
  const { program, errors } = parseSync('a.ts', text);
  if (errors.length > 0) return [`it cannot be read: ${errors[0]!.message}`];
  const found: string[] = [];
  new Visitor({
    CallExpression({ start, callee, arguments: [, limit] }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      const { name } = callee.property;
      const isVitests = callee.object.type === 'Identifier' && callee.object.name === 'vi';
      if (isVitests && WAITS.has(name) && !limit) found.push(`${lineOf(text, start)}: no limit`);
      if (!POLLS.has(name) || limit?.type !== 'ObjectExpression') return;
      for (const property of limit.properties) {
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue;
        const { key, value } = property;
        if (key.name !== 'timeout' || value.type !== 'Literal') continue;
        if (Number(value.value) < PATIENCE.timeout) found.push(`${lineOf(text, start)}: too short`);
      }
    },
  }).visit(program);
  return found;
}

test('what waits too shortly is found', () => {
  const text = [
    'await vi.waitFor(() => x);',
    'await vi.waitUntil(() => x, { timeout: 1_000 });',
    'await expect.poll(() => x, { timeout: 900, interval: 5 }).toBe(1);',
    'await expect.poll(() => x).toBe(1);',
    'await vi.waitFor(() => x, PATIENCE);',
    'await vi.waitFor(() => x, { ...PATIENCE, interval: 5 });',
    'await vi.waitFor(() => x, { timeout: 60_000 });',
  ].join('\n');
  expect(impatient(text)).toEqual(['1: no limit', '2: too short', '3: too short']);
});

test('every wait of a test is long enough for a busy machine', () => {
  const found = files.flatMap(({ path, text }) =>
    impatient(text).map((fault) => `${path}:${fault}`),
  );
  expect(found).toEqual([]);
});
