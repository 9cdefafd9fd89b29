import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareSchema, complaintAbout } from '../../../../src/adapters/bmdb/schema/state.ts';

const KNOWN = ['1_a', '2_b', '3_c'];

it.each([
  [['1_a', '2_b', '3_c'], 'current', '3_c', [], []],
  [[], 'empty', 'none', KNOWN, []],
  [['1_a'], 'older', '1_a', ['2_b', '3_c'], []],
  [['1_a', '2_b', '3_c', '4_d'], 'newer', '4_d', [], ['4_d']],
  [['1_a', '3_c'], 'dirty', '3_c DIRTY!!!', ['2_b'], []],
  [['2_b', '3_c'], 'dirty', '3_c DIRTY!!!', ['1_a'], []],
  [['1_a', '2_b', '4_d'], 'dirty', '4_d DIRTY!!!', ['3_c'], ['4_d']],
  [['1_a', '1_other', '2_b', '3_c'], 'dirty', '3_c DIRTY!!!', [], ['1_other']],
  [['2_b', '1_a', '3_c'], 'dirty', '3_c DIRTY!!!', [], []],
  [['1_a', '2_b', '3_c', '3_c'], 'dirty', '3_c DIRTY!!!', [], []],
  [['1_a', '2_b', '3_c', '0_d'], 'dirty', '3_c DIRTY!!!', [], ['0_d']],
] as const)('classifies %j as %s', (applied, kind, version, pending, unknown) => {
  expect(compareSchema(applied, KNOWN)).toEqual({ kind, version, pending, unknown });
});

it('treats only states that the program itself would reach in order as clean', () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[1-9]_[a-z]$/), { maxLength: 6 });
  fc.assert(
    fc.property(names, fc.nat({ max: 6 }), (all, upTo) => {
      const known = all.toSorted();
      const { kind, pending } = compareSchema(known.slice(0, upTo), known);
      expect(pending).toEqual(known.slice(upTo));
      expect(kind).toBe(pending.length === 0 ? 'current' : upTo === 0 ? 'empty' : 'older');
    }),
  );
  fc.assert(
    fc.property(fc.shuffledSubarray(KNOWN), (applied) => {
      const isPrefix = applied.every((name, at) => name === KNOWN[at]);
      const { kind } = compareSchema(applied, KNOWN);
      expect(kind === 'dirty').toBe(!isPrefix);
    }),
  );
});

it('states what to do in every state except the current one', () => {
  for (const applied of [[], ['1_a'], [...KNOWN, '4_d'], ['3_c']]) {
    expect(complaintAbout(compareSchema(applied, KNOWN))).toMatch(/; (run|restore) /);
  }
  expect(complaintAbout(compareSchema(KNOWN, KNOWN))).toBeNull();
});
