import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LONGEST_DURATION_MS, formatDuration, parseDuration } from '../../src/settings/duration.ts';
import { testRows } from '../support/rows.ts';

testRows([
  ['250ms', 250],
  ['2s', 2000],
  ['15m', 900_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['1m500ms', 60_500],
  ['0s', 0],
])('reads %s as %d ms', (text, durationMs) => {
  expect(parseDuration(text)).toBe(durationMs);
});

testRows(['', '5', 's', '-1s', '1.5s', '2 s', '30m1h', '1s1s', '25d', '9'.repeat(400) + 's'])(
  'refuses %j as a duration',
  (text) => {
    expect(parseDuration(text)).toBeNull();
  },
);

test('reads every duration back as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: LONGEST_DURATION_MS }), (durationMs) => {
      expect(parseDuration(formatDuration(durationMs))).toBe(durationMs);
    }),
  );
});

test('never throws at a text, and never returns a value outside the range', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9dhms]{0,12}$/), (text) => {
      const durationMs = parseDuration(text);
      if (durationMs === null) return;
      expect(Number.isSafeInteger(durationMs)).toBe(true);
      expect(durationMs).toBeLessThanOrEqual(LONGEST_DURATION_MS);
    }),
  );
});
