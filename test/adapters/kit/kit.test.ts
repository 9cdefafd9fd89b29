import { expect, test } from 'vitest';
import { httpRefusal } from '../../../src/adapters/driver-kit/errors.ts';
import { createLifetime } from '../../../src/adapters/driver-kit/time-limit.ts';
import { retryAtOf } from '../../../src/adapters/driver-kit/outcome.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { testRows } from '../../support/rows.ts';

const NOW = Date.UTC(2025, 10, 1, 12);
const at = (headers: Record<string, string>) =>
  (retryAtOf(new Headers(headers), NOW).getTime() - NOW) / 1_000;

test.each<[string, Record<string, string>, number]>([
  ['seconds count from now', { 'retry-after': '120' }, 120],
  ['absent: a minute', {}, 60],
  ['an hour at most', { 'retry-after': '86400' }, 3_600],
  [
    'a date in the past is one',
    { 'retry-after': 'Mon, 03 Feb 2031 10:00:00 GMT', date: 'Mon, 03 Feb 2031 10:00:30 GMT' },
    -30,
  ],
])('when to ask again: %s', (_, headers, seconds) => {
  expect(at(headers)).toBe(seconds);
});

const refusal = (status: number, changing: boolean, headers: Record<string, string> = {}) =>
  httpRefusal({ doing: 'x', status, changing, headers: new Headers(headers), nowMs: NOW });

testRows([
  [400, 'invalid', 'not-done'],
  [401, 'auth', 'not-done'],
  [404, 'transient', 'unknown'],
  [408, 'transient', 'unknown'],
  [409, 'conflict', 'not-done'],
  [418, 'permanent', 'not-done'],
  [429, 'transient', 'not-done'],
  [500, 'transient', 'unknown'],
  [501, 'not-implemented', 'not-done'],
  [503, 'transient', 'unknown'],
] as const)('status %i of a change is %s, %s', (status, kind, outcome) => {
  expect(refusal(status, true)).toMatchObject({ kind, outcome });
  expect(refusal(status, false)).toMatchObject({ kind, outcome: 'not-done' });
});

test("A2: 404 and 410 tell of absence only in the API's own form", () => {
  for (const status of [404, 410]) {
    const doing = { doing: 'x', status, changing: false, headers: new Headers(), nowMs: NOW };
    expect(httpRefusal(doing)).toMatchObject({
      kind: 'transient',
      message: expect.stringContaining('a proxy may have answered'),
    });
    expect(httpRefusal({ ...doing, isApisOwn: true })).toMatchObject({
      kind: 'not-found',
      outcome: 'not-done',
    });
  }
});

test('a retry time is taken from 429, and from a 503 that has one', () => {
  const soon = { 'retry-after': '30' };
  const retryAt = new Date(NOW + 30_000);
  expect(refusal(429, true, soon).rateLimit).toEqual({ retryAt });
  expect(refusal(503, true, soon).rateLimit).toEqual({ retryAt });
  expect(refusal(503, true).rateLimit).toBeUndefined();
  expect(refusal(500, true, soon).rateLimit).toBeUndefined();
});

/** Rejects with the signal's reason. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

test('a lifetime ends what is under way, waits for it, and refuses what comes later', async () => {
  const lifetime = createLifetime();
  const live = { signal: new AbortController().signal };
  const ended: string[] = [];
  const call = lifetime.run(live, async (signal) => {
    await untilAborted(signal).finally(() => ended.push('call'));
  });
  const outcome = expect(call).rejects.toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  await Promise.all([lifetime.stop(), lifetime.stop()]);
  ended.push('stopped');
  await outcome;
  expect(ended).toEqual(['call', 'stopped']);
  const later = lifetime.run(live, async () => 1);
  await expect(later).rejects.toMatchObject({ kind: 'stopped' });
});

test('a caller ends its own call, which is not begun when it is too late', async () => {
  const lifetime = createLifetime();
  const leaving = new AbortController();
  const call = lifetime.run(leaving, untilAborted, true);
  const outcome = expect(call).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  leaving.abort();
  await outcome;
  let begun = false;
  const late = lifetime.run(leaving, async () => void (begun = true));
  await expect(late).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  expect(begun).toBe(false);
  const better = new ProviderError('conflict', 'known');
  const failing = lifetime.run({ signal: new AbortController().signal }, () =>
    Promise.reject(better),
  );
  await expect(failing).rejects.toBe(better);
});
