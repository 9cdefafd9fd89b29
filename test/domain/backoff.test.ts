import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextBackoffSeconds, type BackoffDescriptor } from '../../src/domain/backoff.ts';
import { BACKOFF_TABLE } from '../contracts/bmdb-vectors.ts';

const of = (initialS: number, exponent: number, maximumS: number): BackoffDescriptor => ({
  initialMs: initialS * 1000,
  exponent,
  maximumMs: maximumS * 1000,
});

/** The waits after this many consecutive failures, the first after a stored wait of `previous`. */
function waits(descriptor: BackoffDescriptor, previous: number | null, count: number): number[] {
  const result: number[] = [];
  let last = previous;
  for (let at = 0; at < count; at++) {
    last = nextBackoffSeconds(descriptor, last);
    result.push(last);
  }
  return result;
}

describe('backoff', () => {
  it.each(BACKOFF_TABLE)('follows the table: %s', (_, descriptor, previous, expected) => {
    const seconds = expected.split(' ').map(Number);
    expect(waits(descriptor, previous, seconds.length)).toEqual(seconds);
  });

  it('starts anew after a success', () => {
    expect([...waits(of(1, 2, 5), null, 5), ...waits(of(1, 2, 5), null, 2)]).toEqual([
      1, 2, 4, 5, 5, 1, 2,
    ]);
  });

  it('refuses a maximum above 90 days', () => {
    expect(() => nextBackoffSeconds(of(1, 2, 90 * 86_400 + 1), null)).toThrow(RangeError);
    expect(nextBackoffSeconds(of(1, 2, 90 * 86_400), 90 * 86_400)).toBe(90 * 86_400);
  });

  it.each([0, 1, 100])('refuses an initial wait above 90 days, whatever the maximum: %s', (max) => {
    expect(() => nextBackoffSeconds(of(400 * 86_400, 2, max), null)).toThrow(RangeError);
    expect(() => nextBackoffSeconds(of(400 * 86_400, 0, max), 60)).toThrow(RangeError);
    expect(nextBackoffSeconds(of(90 * 86_400, 2, max), null)).toBe(90 * 86_400);
  });

  const descriptors = fc.record({
    initialMs: fc.integer({ min: 0, max: 86_400_000 }),
    exponent: fc.double({ min: 0, max: 10, noNaN: true }),
    maximumMs: fc.integer({ min: 0, max: 90 * 86_400_000 }),
  });

  it('stays within its bounds in whole seconds', () => {
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

  it('never shrinks during consecutive failures', () => {
    fc.assert(
      fc.property(descriptors, (descriptor) => {
        const all = waits(descriptor, null, 30);
        expect(all).toEqual(all.toSorted((a, b) => a - b));
      }),
    );
  });
});
