import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  entriesOf,
  type Page,
  PageOrderError,
  walkPages,
} from '../../../src/adapters/driver-kit/pages.ts';

type Item = { id: string };
const page = (number: number, ids: readonly string[], total: number, last: number): Page<Item> => ({
  items: ids.map((id) => ({ id })),
  unread: [],
  total,
  number,
  isLast: number >= last,
});

/** Answers scripted pages, one after another, whatever number is asked. */
const scripted = (pages: readonly Page<Item>[]) => {
  let asked = 0;
  const fetch = async () => pages[asked++]!;
  return { fetch, asked: () => asked };
};

test('one consistent walk is complete', async () => {
  const { fetch, asked } = scripted([page(1, ['a', 'b'], 3, 2), page(2, ['c'], 3, 2)]);
  const walked = await walkPages(fetch);
  expect(walked).toEqual({
    items: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
    unread: [],
    complete: true,
  });
  expect(asked()).toBe(2);
});

test('an empty list is complete', async () => {
  const { fetch } = scripted([page(1, [], 0, 1)]);
  expect(await walkPages(fetch)).toEqual({ items: [], unread: [], complete: true });
});

test('A5: what cannot be read counts as there; without an id it may be anything', async () => {
  const one = (id: string | null) => ({ id, reservationId: null, fault: 'x' });
  const with_ = (...ids: (string | null)[]) => ({ ...page(1, ['a'], 2, 1), unread: ids.map(one) });
  expect(await walkPages(scripted([with_('b')]).fetch)).toEqual({
    items: [{ id: 'a' }],
    unread: [one('b')],
    complete: true,
  });
  const nameless = scripted([with_(null)]);
  expect(await walkPages(nameless.fetch)).toMatchObject({ unread: [], complete: false });
  expect(nameless.asked()).toBe(1);
  // Read in one walk, it is read.
  const twice = scripted([with_('b', 'b'), { ...page(1, ['a', 'b'], 2, 1), unread: [one('a')] }]);
  expect(await walkPages(twice.fetch)).toEqual({
    items: [{ id: 'a' }, { id: 'b' }],
    unread: [],
    complete: true,
  });
});

test('a duplicate makes a second walk; the union counts when two walks agree on its size', async () => {
  const { fetch } = scripted([
    page(1, ['a', 'b'], 3, 2),
    page(2, ['b'], 3, 2),
    page(1, ['a', 'c'], 3, 2),
    page(2, ['a'], 3, 2),
  ]);
  const { items, complete } = await walkPages(fetch);
  expect(items.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
  expect(complete).toBe(true);
});

test('vector 24: what is always left out is never complete', async () => {
  let walks = 0;
  const { items, complete } = await walkPages(async () => {
    walks++;
    return page(1, ['a', 'b'], 3, 1);
  });
  expect(walks).toBe(3);
  expect({ size: items.length, complete }).toEqual({ size: 2, complete: false });
});

test('a drifting total is never complete by the union alone', async () => {
  let total = 2;
  const { complete } = await walkPages(async () => page(1, ['a', 'b', 'c'], ++total + 1, 1));
  expect(complete).toBe(false);
});

test('a union of the size that only the last walk tells of is not complete', async () => {
  const { fetch } = scripted([
    page(1, ['a', 'a'], 2, 1),
    page(1, ['a', 'b', 'b'], 3, 1),
    page(1, ['a', 'b', 'b'], 2, 1),
  ]);
  expect((await walkPages(fetch)).complete).toBe(false);
});

test('a page number that does not advance is refused', async () => {
  await expect(walkPages(async () => page(1, ['a'], 9, 5))).rejects.toBeInstanceOf(PageOrderError);
});

test('pages without end are refused', async () => {
  const endless = async (number: number) => page(number, [], 9, 1_000_000);
  await expect(walkPages(endless)).rejects.toBeInstanceOf(PageOrderError);
});

test('vector 23: whatever the shuffling, no id comes twice and complete means all', async () => {
  const sizes = fc.record({
    total: fc.integer({ min: 0, max: 40 }),
    seed: fc.infiniteStream(fc.nat()),
  });
  await fc.assert(
    fc.asyncProperty(sizes, async ({ total, seed }) => {
      const all = Array.from({ length: total }, (_, index) => `id-${index}`);
      const last = Math.max(1, Math.ceil(total / 10));
      let requests = 0;
      const { items, complete } = await walkPages(async (number) => {
        requests++;
        const keyed = all.map((id) => [seed.next().value % 1_000, id] as const);
        const shuffled = keyed.toSorted(([a], [b]) => a - b).map(([, id]) => id);
        return page(number, shuffled.slice((number - 1) * 10, number * 10), total, last);
      });
      const unique = new Set(items.map(({ id }) => id));
      expect(unique.size).toBe(items.length);
      if (complete) expect(unique.size).toBe(total);
      expect(requests).toBeLessThanOrEqual(3 * last);
    }),
  );
});

test('A5: an entry without an id makes up for no number of the total', async () => {
  const entry = { id: null, reservationId: null, fault: 'no id' };
  const place = { total: 2, number: 1, isLast: true };
  const twice = [{ id: 'a' }, { id: 'a' }];
  const walked = await walkPages(async () => ({ items: twice, unread: [entry], ...place }));
  expect(walked).toEqual({ items: [{ id: 'a' }], unread: [], complete: false });
});

test('E2: 20 000 odd entries of one page are read while others have their turns', async () => {
  const schema = entriesOf(z.object({ id: z.string() }), () => ({ id: null, reservationId: null }));
  let turns = 0;
  let waiting = setImmediate(function next() {
    turns += 1;
    waiting = setImmediate(next);
  });
  const { items, unread } = await schema.parseAsync([
    ...Array(20_000).fill({ id: 5 }),
    { id: 'a' },
  ]);
  clearImmediate(waiting);
  expect([items, unread.length]).toEqual([[{ id: 'a' }], 20_000]);
  expect(turns).toBeGreaterThan(3);
});

test('a page of more entries than any listing has is refused', async () => {
  const schema = entriesOf(z.unknown(), () => ({ id: null, reservationId: null }));
  expect((await schema.safeParseAsync(Array(50_001).fill(1))).success).toBe(false);
});
