import { expect, test } from 'vitest';
import { createSimulatedClock } from '../../../src/adapters/clock/simulated-clock.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { Clock } from '../../../src/adapters/clock/port.ts';
import { createSlots } from '../../../src/adapters/provider/equinix/slots.ts';

const live = new AbortController().signal;
const quick = { signal: live, bulk: false, onPause: () => undefined };
const bulk = { ...quick, bulk: true };

const slotsFor = (parallelism: number, apiRateMs = 0, clock: Clock = systemClock) =>
  createSlots({ parallelism, apiRateMs }, { clock, onChange: () => undefined });

/** A task that runs until it is released. */
function held() {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const task = () => {
    started.resolve();
    return release.promise;
  };
  return { task, started: started.promise, release: release.resolve };
}

test('vector 19: starts keep their distance', async () => {
  const slots = slotsFor(1, 40);
  const startsMs: number[] = [];
  const originMs = performance.now();
  await Promise.all(
    Array.from({ length: 5 }, () =>
      slots.run(async () => void startsMs.push(performance.now()), quick),
    ),
  );
  // Counted from the origin, a busy machine only makes starts later; timers may be 1 ms early.
  startsMs.forEach((atMs, index) => expect(atMs - originMs).toBeGreaterThan(index * 40 - 5));
  slots.stop();
});

test('first come, first served', async () => {
  const slots = slotsFor(1);
  const order: number[] = [];
  const run = (number: number) => slots.run(async () => void order.push(number), quick);
  await Promise.all([1, 2, 3, 4].map(run));
  expect(order).toEqual([1, 2, 3, 4]);
});

test('vector 20: bulk tasks leave one slot to the quick ones', async () => {
  const slots = slotsFor(3);
  const pages = [held(), held(), held()];
  const runs = pages.map(({ task }) => slots.run(task, bulk));
  await Promise.all([pages[0]!.started, pages[1]!.started]);
  await slots.run(async () => undefined, quick);
  const third = pages[2]!.started.then(() => 'started');
  expect(await Promise.race([third, slots.run(async () => 'quick', quick)])).toBe('quick');
  for (const { release } of pages) release();
  await Promise.all(runs);
});

test('who leaves while waiting costs no turn and gets the reason', async () => {
  const slots = slotsFor(1);
  const first = held();
  const running = slots.run(first.task, quick);
  const controller = new AbortController();
  const leaving = slots.run(async () => 'never', { ...quick, signal: controller.signal });
  const last = slots.run(async () => 'last', quick);
  controller.abort(new Error('left'));
  await expect(leaving).rejects.toThrow('left');
  first.release();
  await running;
  expect(await last).toBe('last');
});

test('a failing task gives its slot back', async () => {
  const slots = slotsFor(1);
  await expect(slots.run(() => Promise.reject(new Error('no')), quick)).rejects.toThrow('no');
  expect(await slots.run(async () => 'next', quick)).toBe('next');
});

test('after a pause one trial runs alone', async () => {
  const clock = createSimulatedClock();
  const slots = slotsFor(3, 0, clock);
  slots.pause(7_000);
  const trial = held();
  const runs = [slots.run(trial.task, quick)];
  let others = 0;
  for (let i = 0; i < 3; i++) runs.push(slots.run(async () => void others++, quick));
  clock.increment(6_999);
  expect(slots.pausedMs()).toBe(1);
  clock.increment(1);
  await trial.started;
  expect(others).toBe(0);
  trial.release();
  await Promise.all(runs);
  expect(others).toBe(3);
});

test('a shorter pause never ends a longer one; those who cannot wait are told', async () => {
  const clock = createSimulatedClock();
  const slots = slotsFor(1, 0, clock);
  slots.pause(10_000);
  const impatient = slots.run(async () => 'never', {
    ...quick,
    onPause: (delayMs) => new Error(`paused ${delayMs}`),
  });
  slots.pause(2_000);
  expect(slots.pausedMs()).toBe(10_000);
  await expect(impatient).rejects.toThrow('paused 10000');
  slots.stop();
});
