import { expect, test } from 'vitest';
import { resyncMs, retryMs, waitMs } from '../../../src/domain/balancing/waiting.ts';

test('vector 25: waits are 1, 1.5, 2.25 … seconds times 1 to 2.5, and 300 s at most', () => {
  expect([1, 2, 3].map((looks) => waitMs(looks, 0))).toEqual([1_000, 1_500, 2_250]);
  expect([1, 2, 3].map((looks) => waitMs(looks, 1))).toEqual([2_500, 3_750, 5_625]);
  expect(waitMs(15, 0)).toBeCloseTo(291_929, 0);
  expect([16, 30, 1_000].map((looks) => waitMs(looks, 0))).toEqual([300_000, 300_000, 300_000]);
});

test('a pool that failed is tried again after 5, 10, 20 … seconds, 5 minutes at most', () => {
  expect([1, 2, 3, 4].map((failures) => retryMs(failures, null))).toEqual([
    5_000, 10_000, 20_000, 40_000,
  ]);
  expect(retryMs(7, null)).toBe(300_000);
  expect(retryMs(1_000, null)).toBe(300_000);
});

test('nor before its balancer wants to be asked', () => {
  expect(retryMs(1, 90_000)).toBe(90_000);
  expect(retryMs(3, 1_000)).toBe(20_000);
});

test('a settled pool is looked at every 5 minutes, give or take a fifth', () => {
  expect([resyncMs(0), resyncMs(0.5), resyncMs(1)]).toEqual([240_000, 300_000, 360_000]);
});
