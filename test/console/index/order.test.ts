import fc from 'fast-check';
import { expect, test } from 'vitest';
import { comparePlaces, createOrder, type Place } from '../../../src/console/index/order.ts';

const places = fc.uniqueArray(
  fc.record({ key: fc.integer({ min: 0, max: 9 }), name: fc.string({ maxLength: 3 }) }),
  { selector: ({ key, name }) => `${key} ${name}`, maxLength: 60 },
);

test('keeps an order equal to the sorted array of its items, whatever the operations', () => {
  fc.assert(
    fc.property(places, fc.array(fc.nat()), (all, gone) => {
      const order = createOrder<Place>((place) => place);
      for (const place of all) order.insert(place);
      const before = order.copy();
      const out = new Set(gone.map((at) => all[at % Math.max(1, all.length)]));
      for (const place of out) if (place) expect(order.remove(place)).toBe(true);
      const left = all.filter((place) => !out.has(place)).toSorted(comparePlaces);
      expect(order.slice(0, 100)).toEqual(left);
      expect(before.slice(0, 100)).toEqual(all.toSorted(comparePlaces));
      for (const [at, place] of left.entries()) {
        expect([order.rank(place, false), order.rank(place, true)]).toEqual([at, at + 1]);
        expect([order.has(place), order.slice(at, 1)]).toEqual([true, [place]]);
      }
    }),
  );
});

test('keeps the positions of a large order through its chunks', () => {
  const order = createOrder<Place>((place) => place);
  const all = Array.from({ length: 5_000 }, (_, at) => ({ key: (at * 7_919) % 5_000, name: '' }));
  for (const place of all) order.insert(place);
  for (const place of all.slice(0, 2_500)) order.remove(place);
  const left = all.slice(2_500).toSorted(comparePlaces);
  expect(order.slice(1_200, 300)).toEqual(left.slice(1_200, 1_500));
  expect([order.size, order.rank(left[2_000]!, false)]).toEqual([2_500, 2_000]);
});
