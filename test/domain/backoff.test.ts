import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AGENT_START_BACKOFF,
  jitteredUntil,
  nextBackoffSeconds,
  RECOVERY_BACKOFF,
} from '../../src/domain/backoff.ts';
import type { BackoffDescriptor } from '../../src/domain/backoff.ts';

const of = (initialS: number, exponent: number, maximumS: number): BackoffDescriptor => ({
  initialMs: initialS * 1000,
  exponent,
  maximumMs: maximumS * 1000,
});

/** The waits of as many failures in a row, the first after a stored wait of `previous`. */
function waits(descriptor: BackoffDescriptor, previous: number | null, count: number): number[] {
  const result: number[] = [];
  let last = previous;
  for (let at = 0; at < count; at++) {
    last = nextBackoffSeconds(descriptor, last);
    result.push(last);
  }
  return result;
}

const LARGE = 30 * 24 * 3600;
const TABLE: [string, BackoffDescriptor, number | null, string][] = [
  ['empty', of(0, 0, 0), null, '1 1 1'],
  ['initial only', of(60, 0, 0), null, '60 60 60'],
  ['initial only, after 2 s', of(60, 0, 0), 2, '60 60 60'],
  ['exponent 1', of(60, 1, 600), 7, '60 60 60'],
  ['small growth', of(1, 1.1, LARGE), null, '1 2 3 4 5 6 7 8 9 10 11 13 15 17 19 21 24 27 30 33'],
  ['exact products', of(60, 1.1, 120), null, '60 66 73 81 90 99 109 120 120'],
  ['from a lower wait', of(60, 2, 120), 2, '4 8 16 32 64 120 120'],
  ['up to the maximum', of(1, 2, 5), null, '1 2 4 5 5'],
  ['no initial', of(0, 1.5, 10), null, '1 2 3 5 8 10 10'],
  ['maximum below initial', of(60, 2, 30), null, '60 60 60'],
  ['from above the maximum', of(60, 1.2, 120), 600, '120 120'],
  [
    'agent start',
    AGENT_START_BACKOFF,
    null,
    '300 360 432 519 623 748 898 1078 1294 1553 1864 2237 2685 3222 3867 4641 5570 6684 8021 ' +
      '9626 11552 13863 14400 14400',
  ],
  [
    'recovery',
    RECOVERY_BACKOFF,
    null,
    '60 72 87 105 126 152 183 220 264 317 381 458 550 660 792 951 1142 1371 1646 1976 2372 ' +
      '2847 3417 3600 3600',
  ],
  ['exponent below 1', of(60, 0.2, 600), 2, '60 60'],
  ['broken initial rounds up', of(1.5, 0, 0), null, '2 2'],
  ['broken maximum rounds down', of(1, 2, 2.5), null, '1 2 2'],
];

describe('backoff', () => {
  it.each(TABLE)('waits as the table says: %s', (_, descriptor, previous, expected) => {
    const seconds = expected.split(' ').map(Number);
    expect(waits(descriptor, previous, seconds.length)).toEqual(seconds);
  });

  it('begins anew after a success', () => {
    expect([...waits(of(1, 2, 5), null, 5), ...waits(of(1, 2, 5), null, 2)]).toEqual([
      1, 2, 4, 5, 5, 1, 2,
    ]);
  });

  it('refuses a maximum above 90 days', () => {
    expect(() => nextBackoffSeconds(of(1, 2, 90 * 86_400 + 1), null)).toThrow(RangeError);
    expect(nextBackoffSeconds(of(1, 2, 90 * 86_400), 90 * 86_400)).toBe(90 * 86_400);
  });

  const descriptors = fc.record({
    initialMs: fc.integer({ min: 0, max: 86_400_000 }),
    exponent: fc.double({ min: 0, max: 10, noNaN: true }),
    maximumMs: fc.integer({ min: 0, max: 90 * 86_400_000 }),
  });

  it('stays within its bounds, in whole seconds', () => {
    fc.assert(
      fc.property(descriptors, fc.option(fc.nat(10_000_000)), (descriptor, previous) => {
        const seconds = nextBackoffSeconds(descriptor, previous);
        const initial = Math.max(1, Math.ceil(descriptor.initialMs / 1000));
        expect(Number.isInteger(seconds)).toBe(true);
        expect(seconds).toBeGreaterThanOrEqual(1);
        expect(seconds).toBeLessThanOrEqual(
          Math.max(initial, Math.floor(descriptor.maximumMs / 1000)),
        );
      }),
    );
  });

  it('never shrinks while failures go on', () => {
    fc.assert(
      fc.property(descriptors, (descriptor) => {
        const all = waits(descriptor, null, 30);
        expect(all).toEqual(all.toSorted((a, b) => a - b));
      }),
    );
  });

  it('adds at most the jitter to the end of a wait', () => {
    expect(jitteredUntil(1_000, 10, 0)).toBe(11_000);
    expect(jitteredUntil(1_000, 10, 0.5)).toBe(11_500);
    expect(jitteredUntil(1_000, 10, 0.999, 0)).toBe(11_000);
  });
});
