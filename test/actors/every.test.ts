import { createActor } from 'xstate';
import { expect, test } from 'vitest';
import { every } from '../../src/actors/loops.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { advance, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';

function running(task: (signal: AbortSignal) => Promise<void>) {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const actor = createActor(every(1_000, { clock, log }, task, 'the task failed')).start();
  return { clock, log, stop: () => void actor.stop() };
}

test('runs at once and again one period after each end', async () => {
  let runs = 0;
  const { clock, stop } = running(async () => void (runs += 1));
  await settled();
  expect(runs).toBe(1);
  await advance(clock, 3_000);
  expect(runs).toBe(4);
  stop();
  await advance(clock, 10_000);
  expect({ runs, pending: clock.pending }).toEqual({ runs: 4, pending: 0 });
});

test('reports a failure and runs again', async () => {
  let runs = 0;
  const { clock, log, stop } = running(async () => {
    runs += 1;
    throw new Error('no luck');
  });
  await advance(clock, 2_000);
  expect({ runs, told: log.count('the task failed') }).toEqual({ runs: 3, told: 3 });
  stop();
});

test('reports a task that was stopped midway without an error', async () => {
  const { clock, log, stop } = running(
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      }),
  );
  await advance(clock, 60_000);
  stop();
  await settled();
  expect(log.lines).toEqual([]);
  expect(clock.pending).toBe(0);
});
