import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPenalties } from '../../../src/domain/provisioning/provider-holds.ts';

test('unknown keys are free; known ones until their time, inclusive', () => {
  const penalties = createPenalties<string>();
  penalties.add('a', 10, 0);
  expect([
    penalties.penalised('b', 0),
    penalties.penalised('a', 10),
    penalties.penalised('a', 11),
  ]).toEqual([false, true, false]);
  expect(penalties.size, 'what is over is removed on lookup').toBe(0);
});

test('a later time extends, an earlier one never shortens', () => {
  const penalties = createPenalties<string>();
  penalties.add('a', 10, 0);
  penalties.add('a', 20, 0);
  penalties.add('a', 5, 0);
  expect(penalties.list()).toEqual([{ key: 'a', untilMs: 20 }]);
});

test('it sweeps on add, at most once a minute', () => {
  const penalties = createPenalties<string>();
  penalties.add('a', 10, 0);
  penalties.add('b', 70_000, 59_999);
  expect(penalties.size).toBe(2);
  penalties.add('c', 70_000, 60_000);
  expect(penalties.list().map(({ key }) => key)).toEqual(['b', 'c']);
});

test('a sweep leaves what still holds at its very time', () => {
  const penalties = createPenalties<string>();
  penalties.add('a', 60_000, 0);
  penalties.add('b', 70_000, 60_000);
  expect(penalties.penalised('a', 60_000)).toBe(true);
});

test('never more keys than allowed; the oldest makes room', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.integer({ min: 1, max: 5 }), (keys, max) => {
      const penalties = createPenalties<number>(max);
      for (const key of keys) {
        penalties.add(key, 1_000, 0);
        expect(penalties.penalised(key, 0)).toBe(true);
        expect(penalties.size).toBeLessThanOrEqual(max);
      }
    }),
  );
  const usual = createPenalties<number>();
  for (let key = 0; key < 10_001; key += 1) usual.add(key, 1_000, 0);
  expect([usual.size, usual.penalised(0, 0), usual.penalised(1, 0)]).toEqual([10_000, false, true]);
});
