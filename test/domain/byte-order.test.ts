import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byBytes } from '../../src/domain/byte-order.ts';

test('it is the order of the UTF-8 bytes', () => {
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
