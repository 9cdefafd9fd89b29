import { expect, test } from 'vitest';
import { retiresAt, type RetireWhen } from '../../../src/domain/recovery/retirement.ts';

test.each([
  ['never', undefined, undefined],
  ['never', 'chronic', undefined],
  ['chronic', undefined, undefined],
  ['chronic', 'chronic', 'keep'],
  ['always', undefined, 'keep'],
  ['always', 'chronic', 'keep'],
] as const)('with %s, an end of the ladder by %s retires: %s', (when, cause, expected) => {
  const end = { end: 'all was tried', ...(cause && { cause }) };
  expect(retiresAt(end, { when: when satisfies RetireWhen, then: 'keep' })).toBe(expected);
});
