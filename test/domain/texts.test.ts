import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText, plainTextOr, TEXT_MAX } from '../../src/domain/texts.ts';

test.each([
  ['nothing special', 'nothing special'],
  ['', ''],
  ['a\0b', 'a\ufffdb'],
  ['\u001b[31mred\u001b[0m', '\ufffd[31mred\ufffd[0m'],
  ['a\u007fb\u009fc', 'a\ufffdb\ufffdc'],
  ['a\ufffeb\uffffc', 'a\ufffdb\ufffdc'],
  ['one\r\ntwo\rthree\tfour', 'one\ntwo\nthree\tfour'],
  ['half \ud83d, whole 😀', 'half \ufffd, whole 😀'],
])('%j becomes %j', (text, expected) => {
  expect(plainText(text)).toBe(expected);
});

test('what is too long is cut, says so, and cuts no character in two', () => {
  const exact = 'x'.repeat(TEXT_MAX);
  expect(plainText(exact)).toBe(exact);
  expect(plainText(`${exact}x`)).toMatch(/^x{1993}… \(cut\)$/);
  for (const pad of ['', 'x']) {
    const cut = plainText(pad + '😀'.repeat(TEXT_MAX));
    expect(cut).toMatch(/😀… \(cut\)$/u);
    expect(cut.length).toBeGreaterThan(TEXT_MAX - 2);
  }
});

test('any text becomes one that can be stored, once', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.nat(65_535).map((at) => String.fromCharCode(at)) }),
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 10, max: 60 }), (given, max) => {
      const plain = plainText(given, max);
      expect(plain.length).toBeLessThanOrEqual(max);
      expect(plain.isWellFormed()).toBe(true);
      expect(Buffer.from(plain).includes(0)).toBe(false);
      expect(plainText(plain, max)).toBe(plain);
    }),
  );
});

test('a missing text stays missing', () => {
  expect([plainTextOr(null), plainTextOr(undefined), plainTextOr('a\0')]).toEqual([
    null,
    undefined,
    'a\ufffd',
  ]);
});
