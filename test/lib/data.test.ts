import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byBytes, sameData } from '../../src/lib/data.ts';

const data = fc.letrec((tie) => ({
  leaf: fc.constantFrom(null, true, 0, 1, 'a', '', 1n, undefined),
  list: fc.array(tie('any'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { noNullPrototype: true }),
  any: fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('list'), tie('object')),
})).any;

test('compares plain data like the general comparison', () => {
  let same = 0;
  fc.assert(
    fc.property(data, data, (a, b) => {
      same += Number(sameData(a, b));
      expect(sameData(a, b)).toBe(isDeepStrictEqual(a, b));
      expect(sameData(a, structuredClone(a))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(same).toBeGreaterThan(0);
});

test('byBytes orders texts by their UTF-8 bytes', () => {
  const text = fc.string({ unit: 'binary', maxLength: 4 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(byBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    {
      numRuns: 2_000,
      examples: [
        ['\u{10000}', '\uffff'],
        ['a', 'ab'],
        ['', ''],
      ],
    },
  );
});
