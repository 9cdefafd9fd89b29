import { expect, test } from 'vitest';
import { withTimeLimit } from '../../../src/adapters/clock/port.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';

test('aborts an overdue task by the given clock, and leaves no timer', async () => {
  const clock = createSimulatedClock();
  const aborted = withTimeLimit(
    clock,
    { ms: 5_000 },
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

test('returns the result of a task that ends in time, and leaves no timer', async () => {
  const clock = createSimulatedClock();
  expect(await withTimeLimit(clock, { ms: 5_000 }, async () => 'done')).toBe('done');
  expect(clock.pending).toBe(0);
  await expect(
    withTimeLimit(clock, { ms: 1 }, () => Promise.reject(new Error('no'))),
  ).rejects.toThrow('no');
  expect(clock.pending).toBe(0);
});

test("does not report the caller's abort as a timeout, and names the task in the error", async () => {
  const clock = createSimulatedClock();
  const leaving = new AbortController();
  const waiting = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('torn'))));
  const left = withTimeLimit(clock, { ms: 9, signal: leaving.signal }, waiting);
  const torn = expect(left).rejects.toThrow('torn');
  leaving.abort();
  await torn;
  const late = withTimeLimit(clock, { ms: 9, what: 'a probe', signal: leaving.signal }, () =>
    Promise.reject(new Error('torn')),
  );
  await expect(late).rejects.toThrow('torn');
  const slow = withTimeLimit(clock, { ms: 9, what: 'a probe' }, waiting);
  const named = expect(slow).rejects.toThrow('a probe: no end after 9 ms');
  await advance(clock, 9);
  await named;
});
