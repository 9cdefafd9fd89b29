import { expect, test } from 'vitest';
import { jsonLine, printable, printableLines, toTable } from '../../src/commands/text-table.ts';

const DECEIVING = 'a\u202egpj.b\u200bc\u2028d\u2066e\ufefff\u0000g\u009bh\u00adi\u3164j\u00a0k';

test('A6: what cannot be seen is shown', () => {
  const shown =
    'a\\u{202e}gpj.b\\u{200b}c\\u{2028}d\\u{2066}e\\u{feff}f\\u{0}g\\u{9b}h\\u{ad}i\\u{3164}j\\u{a0}k';
  expect(printable(DECEIVING)).toBe(shown);
  expect(toTable([['name', DECEIVING]])).toBe(`name  ${shown}`);
  expect(printableLines(`x\n${DECEIVING}`)).toBe(`x\n${shown}`);
});

test('A6: what can be seen stays', () => {
  for (const text of ['m3.large.x86', 'Zürich 日本 🚀', 'a b·c…', '\u{fffd}']) {
    expect(printable(text)).toBe(text);
  }
});

test('A6: JSON means the same, and can be seen', () => {
  const value = { [DECEIVING]: [DECEIVING, 'tab\tline\n', '\u{e0041}'] };
  const line = jsonLine(value);
  expect(line).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(line)).toEqual(value);
});
