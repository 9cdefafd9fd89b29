import { expect, test } from 'vitest';
import { isAccepted } from '../../../src/domain/balancing/pool-row.ts';
import { M1, M2, M3 } from './pool.ts';

const AT = 1_700_000_000_000;
const frozen = { atMs: AT, reason: 'two would go', snapshot: `${M1} ${M2}` };
const accepted = { atMs: AT + 60_000, by: 'ann' };

test.each([
  ['those that the operator saw', [M1, M2], 61_000, true],
  ['some of them', [M2], 61_000, true],
  ['one that the operator did not see', [M1, M2, M3], 61_000, false],
  ['those of a day ago', [M1, M2], 86_400_000, false],
] as const)('a thaw lets go %s: %j after %i ms: %s', (_, going, afterMs, may) => {
  expect(isAccepted({ frozen, accepted }, going, AT + afterMs)).toBe(may);
});

test('nothing is accepted where nothing is frozen, or nobody accepted it', () => {
  expect(isAccepted({ frozen: null, accepted: null }, [M1], AT)).toBe(false);
  expect(isAccepted({ frozen, accepted: null }, [M1], AT)).toBe(false);
});
