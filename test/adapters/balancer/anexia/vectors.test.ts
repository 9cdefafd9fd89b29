import { expect, test } from 'vitest';
import { createStand, desiredOf, TAG } from './stand.ts';

test('1: twelve objects are made, each is tagged straight after; a second look finds them all', async () => {
  const stand = await createStand();
  await stand.observe();
  expect(await stand.observe()).toEqual([]);
  stand.forget();
  await stand.build();
  const writes = stand.writes();
  expect(stand.routes()).toEqual(writes);
  expect(writes).toHaveLength(24);
  expect(writes.filter((one) => one.includes('/tags/'))).toHaveLength(12);
  writes.forEach((one, n) => expect(one.includes('/tags/')).toBe(n % 2 === 1));
  expect(stand.fake.objects().every(({ tags }) => tags.join() === TAG)).toBe(true);
  const found = await stand.observe();
  expect(found.map(({ ref, spec }) => `${ref.kind} ${spec.name}`).toSorted()).toEqual(
    desiredOf()
      .map(({ key }) => key)
      .toSorted(),
  );
  expect(stand.fake.complaints()).toEqual([]);
});
