import { expect, test } from 'vitest';
import { withTimeLimit } from '../../src/daemon/time-limit.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';

test('what takes too long is aborted by the clock that is given, and no timer is left', async () => {
  const clock = createSimulatedClock();
  const aborted = withTimeLimit(
    clock,
    5_000,
    (signal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      ),
  );
  const end = expect(aborted).rejects.toMatchObject({ code: 'timed-out' });
  await advance(clock, 4_999);
  expect(clock.pending).toBe(1);
  await advance(clock, 1);
  await end;
  expect(clock.pending).toBe(0);
});

test('what ends in time is answered, and no timer is left', async () => {
  const clock = createSimulatedClock();
  expect(await withTimeLimit(clock, 5_000, async () => 'done')).toBe('done');
  expect(clock.pending).toBe(0);
  await expect(withTimeLimit(clock, 1, () => Promise.reject(new Error('no')))).rejects.toThrow(
    'no',
  );
  expect(clock.pending).toBe(0);
});
