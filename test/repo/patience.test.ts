import { Visitor, parseSync, type CallExpression, type Expression } from 'oxc-parser';
import { expect, test } from 'vitest';
import { PATIENCE, TEST_LIMIT_MS } from '../support/patience.ts';
import { lineOf, sources } from './sources.ts';

const files = sources('test/**/*.ts');

/** The waiting functions of vitest, with a default limit of one second. */
const WAITS = new Set(['waitFor', 'waitUntil']);
/** Waits in tests of a page, of programs and of sockets have limits of their own. */
const POLLS = new Set([...WAITS, 'poll']);

/** Functions with a limit of their own, as the last argument or among the options. */
const LIMITED = /^(test|it|describe|(before|after)(All|Each)|vi\.setConfig)\b/;

/** Numbers with a name in the file. */
function namedNumbers(text: string): ReadonlyMap<string, number> {
  const found = text.matchAll(/^(?:export )?const ([A-Z][A-Z_]*) = ([\d_]+);$/gm);
  return new Map([...found].map(([, name, value]) => [name!, Number(value!.replaceAll('_', ''))]));
}

/** Null: not a number, or not determined in this file. */
function numberOf(node: Expression | undefined, named: ReadonlyMap<string, number>): number | null {
  if (node?.type === 'Identifier') return named.get(node.name) ?? null;
  return node?.type === 'Literal' && typeof node.value === 'number' ? node.value : null;
}

/** The shortest limit that a call sets for a test or a hook (milliseconds), or null. */
function limitOf(
  { arguments: given }: CallExpression,
  named: ReadonlyMap<string, number>,
): number | null {
  const limits = given.flatMap((each) => {
    if (each.type === 'SpreadElement') return [];
    if (each.type !== 'ObjectExpression') return numberOf(each, named) ?? [];
    return each.properties.flatMap((property) =>
      property.type === 'Property' &&
      property.key.type === 'Identifier' &&
      /^(timeout|testTimeout|hookTimeout)$/.test(property.key.name)
        ? (numberOf(property.value, named) ?? [])
        : [],
    );
  });
  return limits.length > 0 ? Math.min(...limits) : null;
}

/** Waits and limits that are missing, or shorter than a busy machine needs. */
function impatient(text: string): string[] {
  const { program, errors } = parseSync('a.ts', text);
  if (errors.length > 0) return [`it cannot be read: ${errors[0]!.message}`];
  const found: string[] = [];
  const named = namedNumbers(text);
  new Visitor({
    CallExpression(call) {
      const { start, end, callee } = call;
      const [first, limit] = call.arguments;
      const whole = text.slice(start, end);
      const own = LIMITED.test(whole) ? limitOf(call, named) : null;
      if (own !== null && own < TEST_LIMIT_MS) found.push(`${lineOf(text, start)}: short limit`);
      const isSignal = whole.startsWith('AbortSignal.timeout(') && first?.type === 'Literal';
      if (isSignal && Number(first.value) < PATIENCE.timeout)
        found.push(`${lineOf(text, start)}: too short`);
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      const { name } = callee.property;
      const isVitests = callee.object.type === 'Identifier' && callee.object.name === 'vi';
      if (isVitests && WAITS.has(name) && !limit) found.push(`${lineOf(text, start)}: no limit`);
      if (!POLLS.has(name) || limit?.type !== 'ObjectExpression') return;
      for (const property of limit.properties) {
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue;
        const { key, value } = property;
        const timeout = key.name === 'timeout' ? numberOf(value, named) : null;
        if (timeout !== null && timeout < PATIENCE.timeout)
          found.push(`${lineOf(text, start)}: too short`);
      }
    },
  }).visit(program);
  return found;
}

test('finds waits that are too short', () => {
  const text = [
    'await vi.waitFor(() => x);',
    'await vi.waitUntil(() => x, { timeout: 1_000 });',
    'await expect.poll(() => x, { timeout: 900, interval: 5 }).toBe(1);',
    'await expect.poll(() => x).toBe(1);',
    'await vi.waitFor(() => x, PATIENCE);',
    'await vi.waitFor(() => x, { ...PATIENCE, interval: 5 });',
    'await vi.waitFor(() => x, { timeout: 600_000 });',
    'await x(AbortSignal.timeout(60_000));',
    'test("x", async () => {}, 60_000);',
    'test.each([1])("x", { timeout: 60_000 }, async () => {});',
    'beforeAll(() => x, 60_000);',
    'test("x", async () => {}, 1_800_000);',
    'const LIMIT_MS = 60_000;',
    'test("x", async () => {}, LIMIT_MS);',
    'vi.setConfig({ testTimeout: LIMIT_MS });',
  ].join('\n');
  expect(impatient(text)).toEqual([
    ...['1: no limit', '2: too short', '3: too short', '8: too short'],
    ...['9: short limit', '10: short limit', '11: short limit'],
    ...['14: short limit', '15: short limit'],
  ]);
});

test('has only waits that are long enough for a busy machine', () => {
  const found = files.flatMap(({ path, text }) =>
    impatient(text).map((fault) => `${path}:${fault}`),
  );
  expect(found).toEqual([]);
});
