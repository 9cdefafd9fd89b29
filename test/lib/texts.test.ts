import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText, plainTextOr, TEXT_MAX, visibleText } from '../../src/lib/texts.ts';
import { testRows } from '../support/rows.ts';

testRows([
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

test('cuts a long text, marks the cut, and splits no character', () => {
  const exact = 'x'.repeat(TEXT_MAX);
  expect(plainText(exact)).toBe(exact);
  expect(plainText(`${exact}x`)).toMatch(/^x{1993}… \(cut\)$/);
  for (const pad of ['', 'x']) {
    const cut = plainText(pad + '😀'.repeat(TEXT_MAX));
    expect(cut).toMatch(/😀… \(cut\)$/u);
    expect(cut.length).toBeGreaterThan(TEXT_MAX - 2);
  }
});

test('makes any text storable, in one pass', () => {
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

test('keeps a missing text missing', () => {
  expect([plainTextOr(null), plainTextOr(undefined), plainTextOr('a\0')]).toEqual([
    null,
    undefined,
    'a\ufffd',
  ]);
});

testRows([
  ['nothing special: ümläut, 漢字, 😀', 'nothing special: ümläut, 漢字, 😀'],
  ['', ''],
  ['\u001b[31mred\u001b[0m\u009b2J', '\\u{1b}[31mred\\u{1b}[0m\\u{9b}2J'],
  ['gpj\u202eexe', 'gpj\\u{202e}exe'],
  ['a\u200bb\u2028c\ufeffd\u00ade', 'a\\u{200b}b\\u{2028}c\\u{feff}d\\u{ad}e'],
  ['half \ud83d', 'half \\u{d83d}'],
  ['one\r\ntwo\rthree\tfour\0', 'one\ntwo\nthree\tfour\\u{0}'],
])('B6: shows %j as %j', (text, expected) => {
  expect(visibleText(text)).toBe(expected);
});

test('B6: shows a short, whole text without invisible characters, which stays the same when shown again', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.integer({ min: 10, max: 60 }),
      (given, max) => {
        const shown = visibleText(given, max);
        expect(shown.length).toBeLessThanOrEqual(max);
        expect(shown).toMatch(/^[\P{C}\t\n]*$/u);
        expect(visibleText(shown, max)).toBe(shown);
      },
    ),
  );
  expect(visibleText('x'.repeat(TEXT_MAX))).toBe('x'.repeat(TEXT_MAX));
  expect(visibleText('\0'.repeat(1_000_000))).toMatch(/^(\\u\{0\})+… \(cut\)$/);
});
