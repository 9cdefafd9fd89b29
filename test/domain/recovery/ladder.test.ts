import { describe, expect, test } from 'vitest';
import {
  isStillAsked,
  ladderEnd,
  rebootMode,
  REBOOTS_MAX,
} from '../../../src/domain/recovery/ladder.ts';

const NOW_MS = 1_700_000_000_000;
const AGAIN_MS = 300_000;
const ladder = (attempts: number, askedAtMs: number | null = null) => ({
  ...{ attempts, askedAtMs, rung: 'rebooting' as const },
  ...{ operationRef: null, nextAtMs: null },
});

describe('the end of the ladder', () => {
  test('is not reached before the last reboot was tried', () => {
    expect(ladderEnd(null)).toBeNull();
    for (let attempts = 0; attempts < REBOOTS_MAX; attempts += 1) {
      expect(ladderEnd(ladder(attempts))).toBeNull();
    }
  });

  test.each([REBOOTS_MAX, REBOOTS_MAX + 1])('is reached with %i, and says so', (attempts) => {
    expect(ladderEnd(ladder(attempts))).toContain(`${attempts} reboots were asked for`);
  });
});

test('a reboot is gentle, unless one was asked for and never proved', () => {
  expect(rebootMode(null)).toBe('graceful');
  expect(rebootMode(ladder(2))).toBe('graceful');
  expect(rebootMode(ladder(1, NOW_MS))).toBe('force');
});

test.each([
  ['none', null, false],
  ['a fresh one', NOW_MS, true],
  ['one just young enough', NOW_MS - AGAIN_MS + 1, true],
  ['one just too old', NOW_MS - AGAIN_MS, false],
])('a request may still come true: %s', (_, askedAtMs, still) => {
  expect(isStillAsked(ladder(1, askedAtMs), NOW_MS, AGAIN_MS)).toBe(still);
});

test('nothing is asked where the ladder was never touched', () => {
  expect(isStillAsked(null, NOW_MS, AGAIN_MS)).toBe(false);
});
