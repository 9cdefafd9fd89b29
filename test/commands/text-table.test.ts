import { expect, test } from 'vitest';
import {
  factLines,
  noteLines,
  outputWidth,
  paragraph,
  jsonLine,
  printable,
  printableLines,
  toTable,
} from '../../src/commands/layout.ts';

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

test('the width of a text is COLUMNS, else that of the terminal, else without end', () => {
  const terminal = { isTTY: true, columns: 120 };
  expect(outputWidth(terminal, {})).toBe(120);
  expect(outputWidth(terminal, { COLUMNS: '100' })).toBe(100);
  expect(outputWidth(terminal, { COLUMNS: '20' })).toBe(60);
  expect(outputWidth({}, { COLUMNS: '100' })).toBe(100);
  for (const COLUMNS of [undefined, '', '0', '-1', 'wide']) {
    expect(outputWidth({}, { COLUMNS }), COLUMNS).toBe(Number.POSITIVE_INFINITY);
  }
});

test('a text of a pipe is wrapped nowhere', () => {
  const width = outputWidth({}, {});
  const long = 'Zürich '.repeat(40).trimEnd();
  expect(paragraph(long, width)).toBe(long);
  expect(noteLines(long, width)).toBe(`    ${long}`);
  expect(factLines([['reason', long]], width)).toBe(`reason  ${long}`);
  expect(factLines([['reason', 'two\nlines']], width)).toBe('reason  two\n        lines');
});
