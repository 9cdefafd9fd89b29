import { expect, test } from 'vitest';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import type { Walked } from '../../../../src/adapters/driver-kit/pages.ts';
import { type Reservation, reservation } from '../../../../src/adapters/provider/equinix/api.ts';
import { createReservationCache } from '../../../../src/adapters/provider/equinix/stock.ts';
import { reservationId } from './stand.ts';

const { signal } = new AbortController();
const [X, Y] = [reservationId(1), reservationId(2)];
const free = (id: string): Reservation =>
  reservation.parse({ id, provisionable: true, plan: { slug: 'm3' }, facility: { code: 'fr2' } });

/** A cache whose listings end when the test says so. */
function start() {
  const clock = createSimulatedClock();
  const lists: PromiseWithResolvers<Walked<Reservation>>[] = [];
  const list = () => {
    const one = Promise.withResolvers<Walked<Reservation>>();
    lists.push(one);
    return one.promise;
  };
  const deps = { clock, list, onRefresh: () => undefined };
  const cache = createReservationCache({ timeoutMs: 900_000 }, deps);
  const end = (n: number, ids: readonly string[], complete = true) =>
    lists[n]!.resolve({ items: ids.map(free), complete, unread: [] });
  const available = async () => (await cache.available(signal)).items.map(({ id }) => id);
  return { clock, cache, end, available, listings: () => lists.length };
}

test('what leaves while a listing is read does not come back with it', async () => {
  const { clock, cache, end, available } = start();
  const reading = available();
  clock.increment(5);
  cache.evict(X);
  end(0, [X, Y]);
  expect(await reading).toEqual([Y]);
  expect(await available()).toEqual([Y]);
});

test('what left comes back with a listing begun later', async () => {
  const { clock, cache, end, available } = start();
  cache.evict(X);
  clock.increment(1);
  const reading = available();
  end(0, [X, Y]);
  expect(await reading).toEqual([X, Y]);
});

test('a listing that ends after a younger one changes nothing', async () => {
  const { clock, cache, end, available, listings } = start();
  const old = available();
  clock.increment(5);
  cache.evict(X);
  clock.increment(5);
  const young = available();
  clock.increment(2);
  end(1, [Y]);
  expect(await young).toEqual([Y]);
  clock.increment(8);
  end(0, [X, Y]);
  expect(await old).toEqual([Y]);
  expect(await available()).toEqual([Y]);
  expect(listings()).toBe(2);
});

test('something that contradicts the list while it is read has it read again', async () => {
  const { clock, cache, end, available, listings } = start();
  const reading = available();
  clock.increment(5);
  cache.expire();
  end(0, [X]);
  expect(await reading).toEqual([X]);
  clock.increment(1);
  const again = available();
  end(1, []);
  expect(await again).toEqual([]);
  expect(listings()).toBe(2);
});
