import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSinbin } from '../../../src/domain/provisioning/sinbin.ts';

test('unknown keys are free; known ones until their time, inclusive', () => {
  const bin = createSinbin<string>();
  bin.add('a', 10, 0);
  expect([bin.penalised('b', 0), bin.penalised('a', 10), bin.penalised('a', 11)]).toEqual([
    false,
    true,
    false,
  ]);
  expect(bin.size, 'what is over is removed on lookup').toBe(0);
});

test('a later time extends, an earlier one never shortens', () => {
  const bin = createSinbin<string>();
  bin.add('a', 10, 0);
  bin.add('a', 20, 0);
  bin.add('a', 5, 0);
  expect(bin.list()).toEqual([{ key: 'a', untilMs: 20 }]);
});

test('it sweeps on add, at most once a minute', () => {
  const bin = createSinbin<string>();
  bin.add('a', 10, 0);
  bin.add('b', 70_000, 59_999);
  expect(bin.size).toBe(2);
  bin.add('c', 70_000, 60_000);
  expect(bin.list().map(({ key }) => key)).toEqual(['b', 'c']);
});

test('a sweep leaves what still holds at its very time', () => {
  const bin = createSinbin<string>();
  bin.add('a', 60_000, 0);
  bin.add('b', 70_000, 60_000);
  expect(bin.penalised('a', 60_000)).toBe(true);
});

test('never more keys than allowed; the oldest makes room', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.integer({ min: 1, max: 5 }), (keys, max) => {
      const bin = createSinbin<number>(max);
      for (const key of keys) {
        bin.add(key, 1_000, 0);
        expect(bin.penalised(key, 0)).toBe(true);
        expect(bin.size).toBeLessThanOrEqual(max);
      }
    }),
  );
  const usual = createSinbin<number>();
  for (let key = 0; key < 10_001; key += 1) usual.add(key, 1_000, 0);
  expect([usual.size, usual.penalised(0, 0), usual.penalised(1, 0)]).toEqual([10_000, false, true]);
});
