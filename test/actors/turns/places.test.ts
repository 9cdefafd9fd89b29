import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPlaces } from '../../../src/actors/turns/places.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const live = () => new AbortController();

test('places are given in the order of asking', async () => {
  const places = createPlaces(1);
  const order: string[] = [];
  const take = (name: string) => places.take(live().signal).then(() => order.push(name));
  void take('first');
  void take('second');
  void take('third');
  await settled();
  expect(order).toEqual(['first']);
  places.give();
  await settled();
  places.give();
  await settled();
  expect(order).toEqual(['first', 'second', 'third']);
  expect(places.taken).toBe(1);
  places.give();
  expect(places.taken).toBe(0);
});

test('the oldest attempt is served first, then the least machine id', async () => {
  const places = createPlaces(1);
  await places.take(live().signal);
  const order: string[] = [];
  const asks = [
    ['b', 2_000],
    ['c', 1_000],
    ['a', 1_000],
    ['e', null],
    ['d', null],
  ] as const;
  for (const [machineId, lastAttemptMs] of asks) {
    const seniority = { machineId, lastAttemptMs };
    void places.take(live().signal, seniority).then(() => order.push(machineId));
  }
  for (let given = 0; given < asks.length; given += 1) {
    places.give();
    await settled();
  }
  expect(order).toEqual(['d', 'e', 'a', 'c', 'b']);
});

test('who gives up waiting is passed over', async () => {
  const places = createPlaces(1);
  await places.take(live().signal);
  const impatient = live();
  const refused = places.take(impatient.signal);
  const patient = places.take(live().signal);
  impatient.abort();
  await expect(refused).rejects.toMatchObject({ code: 'cancelled' });
  places.give();
  await patient;
  expect(places.taken).toBe(1);
});

test('an aborted signal is not even queued', async () => {
  await expect(createPlaces(1).take(AbortSignal.abort())).rejects.toMatchObject({
    code: 'cancelled',
  });
});

test('close refuses those who wait and those who come; places in use come back', async () => {
  const places = createPlaces(1);
  await places.take(live().signal);
  const waiting = places.take(live().signal);
  places.close();
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  await expect(places.take(live().signal)).rejects.toMatchObject({ code: 'cancelled' });
  places.give();
  expect(places.taken).toBe(0);
});

test('no interleaving of taking, giving and giving up loses or invents a place', async () => {
  const step = fc.oneof(
    fc.constant('take' as const),
    fc.constant('give' as const),
    fc.nat(10).map((at) => ({ abort: at })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { maxLength: 40 }),
      async (count, steps) => {
        const places = createPlaces(count);
        const asked: { controller: AbortController; state: 'waiting' | 'holding' | 'gone' }[] = [];
        for (const each of steps) {
          if (each === 'take') {
            const one = { controller: live(), state: 'waiting' as const } as (typeof asked)[number];
            asked.push(one);
            places.take(one.controller.signal).then(
              () => (one.state = 'holding'),
              () => (one.state = 'gone'),
            );
          } else if (each === 'give') {
            const holder = asked.find(({ state }) => state === 'holding');
            if (holder) {
              holder.state = 'gone';
              places.give();
            }
          } else {
            asked[each.abort]?.controller.abort();
          }
          await settled();
          const holding = asked.filter(({ state }) => state === 'holding').length;
          const waiting = asked.filter(({ state }) => state === 'waiting').length;
          expect(places.taken).toBe(holding);
          expect(holding).toBeLessThanOrEqual(count);
          if (waiting > 0) expect(holding).toBe(count);
        }
      },
    ),
    { numRuns: 60 },
  );
});
