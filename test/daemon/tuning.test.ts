import { expect, test } from 'vitest';
import { TUNING } from '../../src/daemon/tuning.ts';

test('the janitor looks for dead sessions every 10 s', () => {
  expect(TUNING.sweepMs).toBe(10_000);
});
