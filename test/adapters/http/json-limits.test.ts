import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createJsonLimits } from '../../../src/adapters/driver-kit/exchange.ts';

/** What is left of a text that comes in pieces of `size` bytes, or what is wrong with it. */
function limited(text: string, size = 65_536): string {
  const limits = createJsonLimits();
  const bytes = Buffer.from(text);
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const { kept, wrong } = limits(bytes.subarray(at, at + size));
    if (wrong !== null) return wrong;
    all.push(...kept);
  }
  return Buffer.concat(all).toString();
}

const nested = (levels: number, inner = '') => '['.repeat(levels) + inner + ']'.repeat(levels);

describe('a JSON text that arrives', () => {
  test('E2: keeps 100 levels, and null in place of what lies deeper', () => {
    expect(limited(nested(100))).toBe(nested(100));
    expect(limited(nested(101))).toBe(nested(100, 'null'));
    const deep = `[1,{"a":${nested(200_000, '"]"')}},2]`;
    expect(limited(deep)).toBe(`[1,{"a":${nested(98, 'null')}},2]`);
  });

  test('keeps no more than its first levels of any number of brackets that never end', () => {
    expect(limited('['.repeat(4_000_000))).toBe(`${'['.repeat(100)}null`);
    expect(limited('{"a":'.repeat(200_000))).toBe(`${'{"a":'.repeat(100)}null`);
  });

  test('may have many values on one level, but not any number', () => {
    const many = `[${'[],'.repeat(200_000)}[]]`;
    expect(limited(many)).toBe(many);
    expect(limited(`[${'0,'.repeat(500_000)}0]`)).toBe('the reply has more than 500000 values');
  });

  test('keeps the brackets within its strings', () => {
    const text = JSON.stringify([`"\\${'['.repeat(200)}\\"`, { '{{"': '}'.repeat(200) }]);
    for (const size of [1, 2, 3, 65_536]) expect(limited(text, size)).toBe(text);
  });

  test('passes as it is where it is no JSON object or array', () => {
    for (const text of [`<html>${'['.repeat(200)}`, `"${'['.repeat(200)}"`, '']) {
      expect(limited(text)).toBe(text);
    }
  });

  test('means the same as before, whatever its pieces are', () => {
    const sizes = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), sizes, (text, size) => {
        expect(limited(text, size)).toBe(text);
        const left = /^[[{]/.test(text) ? 'null' : text;
        expect(limited(nested(100, text), size)).toBe(nested(100, left));
        expect(limited(`[${nested(99, text)},1]`, size)).toBe(`[${nested(99, left)},1]`);
      }),
    );
  });
});
