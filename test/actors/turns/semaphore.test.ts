import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSemaphore } from '../../../src/actors/turns/task-pool.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const live = () => new AbortController();

test('places are given in the order of asking', async () => {
  const semaphore = createSemaphore(1);
  const order: string[] = [];
  const take = (name: string) => semaphore.acquire(live().signal).then(() => order.push(name));
  void take('first');
  void take('second');
  void take('third');
  await settled();
  expect(order).toEqual(['first']);
  semaphore.release();
  await settled();
  semaphore.release();
  await settled();
  expect(order).toEqual(['first', 'second', 'third']);
  expect(semaphore.taken).toBe(1);
  semaphore.release();
  expect(semaphore.taken).toBe(0);
});

test('the oldest attempt is served first, then the least machine id', async () => {
  const semaphore = createSemaphore(1);
  await semaphore.acquire(live().signal);
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
    void semaphore.acquire(live().signal, seniority).then(() => order.push(machineId));
  }
  for (let given = 0; given < asks.length; given += 1) {
    semaphore.release();
    await settled();
  }
  expect(order).toEqual(['d', 'e', 'a', 'c', 'b']);
});

test('who gives up waiting is passed over', async () => {
  const semaphore = createSemaphore(1);
  await semaphore.acquire(live().signal);
  const impatient = live();
  const refused = semaphore.acquire(impatient.signal);
  const patient = semaphore.acquire(live().signal);
  impatient.abort();
  await expect(refused).rejects.toMatchObject({ code: 'cancelled' });
  semaphore.release();
  await patient;
  expect(semaphore.taken).toBe(1);
});

test('an aborted signal is not even queued', async () => {
  await expect(createSemaphore(1).acquire(AbortSignal.abort())).rejects.toMatchObject({
    code: 'cancelled',
  });
});

test('close refuses those who wait and those who come; places in use come back', async () => {
  const semaphore = createSemaphore(1);
  await semaphore.acquire(live().signal);
  const waiting = semaphore.acquire(live().signal);
  semaphore.close();
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  await expect(semaphore.acquire(live().signal)).rejects.toMatchObject({ code: 'cancelled' });
  semaphore.release();
  expect(semaphore.taken).toBe(0);
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
        const semaphore = createSemaphore(count);
        const asked: { controller: AbortController; state: 'waiting' | 'holding' | 'gone' }[] = [];
        for (const each of steps) {
          if (each === 'take') {
            const one = { controller: live(), state: 'waiting' as const } as (typeof asked)[number];
            asked.push(one);
            semaphore.acquire(one.controller.signal).then(
              () => (one.state = 'holding'),
              () => (one.state = 'gone'),
            );
          } else if (each === 'give') {
            const holder = asked.find(({ state }) => state === 'holding');
            if (holder) {
              holder.state = 'gone';
              semaphore.release();
            }
          } else {
            asked[each.abort]?.controller.abort();
          }
          await settled();
          const holding = asked.filter(({ state }) => state === 'holding').length;
          const waiting = asked.filter(({ state }) => state === 'waiting').length;
          expect(semaphore.taken).toBe(holding);
          expect(holding).toBeLessThanOrEqual(count);
          if (waiting > 0) expect(holding).toBe(count);
        }
      },
    ),
    { numRuns: 60 },
  );
});
