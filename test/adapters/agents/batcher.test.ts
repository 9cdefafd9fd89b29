import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBatcher } from '../../../src/adapters/agents/batcher.ts';
import { createRateLimit, createRecentSet } from '../../../src/adapters/agents/limits.ts';
import { createSimulatedClock } from '../../../src/adapters/clock/simulated-clock.ts';

/** A batcher over a hand-driven clock, whose batches wait to be finished. */
function createBench(sizeMax = 3, collectMs = 100) {
  const clock = createSimulatedClock();
  const started: { items: readonly string[]; finish: (error?: Error) => void }[] = [];
  const batcher = createBatcher<string, string>({
    clock,
    collectMs,
    sizeMax,
    keyOf: (item) => item,
    run: (items) =>
      new Promise((resolve, reject) => {
        const answers = items.map((item) => `${item}!`);
        started.push({ items, finish: (error) => (error ? reject(error) : resolve(answers)) });
      }),
  });
  const batches = () => started.map(({ items }) => items.join(''));
  return { clock, batcher, started, batches };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('batcher', () => {
  test('waits for others, and no longer than it may', async () => {
    const { clock, batcher, started, batches } = createBench();
    const answers = Promise.all([batcher.submit('a'), batcher.submit('b')]);
    clock.increment(99);
    expect(batches()).toEqual([]);
    clock.increment(1);
    expect(batches()).toEqual(['ab']);
    started[0]!.finish();
    expect(await answers).toEqual(['a!', 'b!']);
  });

  test('a full batch starts at once', () => {
    const { batcher, batches } = createBench();
    for (const item of 'abc') void batcher.submit(item);
    expect(batches()).toEqual(['abc']);
  });

  test('one runs at a time; the next collects meanwhile and follows at once if it is due', async () => {
    const { clock, batcher, started, batches } = createBench();
    for (const item of 'abcd') void batcher.submit(item);
    clock.increment(100);
    expect(batches()).toEqual(['abc']);
    started[0]!.finish();
    await settle();
    expect(batches()).toEqual(['abc', 'd']);
  });

  test('two items of one key go into two batches', async () => {
    const { clock, batcher, started, batches } = createBench();
    for (const item of 'aab') void batcher.submit(item);
    expect(batches()).toEqual(['ab']);
    started[0]!.finish();
    await settle();
    clock.increment(100);
    expect(batches()).toEqual(['ab', 'a']);
  });

  test('an error fails its own batch only', async () => {
    const { clock, batcher, started } = createBench();
    const failing = batcher.submit('a');
    clock.increment(100);
    started[0]!.finish(new Error('away'));
    await expect(failing).rejects.toThrow('away');
    const next = batcher.submit('b');
    clock.increment(100);
    started[1]!.finish();
    expect(await next).toBe('b!');
  });

  test('flush ends the waiting, also for what a running batch left behind', async () => {
    const { batcher, started, batches } = createBench();
    for (const item of 'abcde') void batcher.submit(item);
    const flushed = batcher.flush();
    started[0]!.finish();
    await settle();
    expect(batches()).toEqual(['abc', 'de']);
    started[1]!.finish();
    await flushed;
    expect(batcher.waiting).toBe(0);
  });

  test('every item is answered once, with its own answer, in any interleaving', async () => {
    const step = fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      fc.constant('tick' as const),
      fc.constant('finish' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, batcher, started, batches } = createBench();
        const calls: Promise<boolean>[] = [];
        let finished = 0;
        const finishNext = async () => {
          started[finished]?.finish();
          if (started[finished]) finished += 1;
          await settle();
          expect(started.length - finished).toBeLessThanOrEqual(1);
        };
        for (const each of steps) {
          if (each === 'tick') clock.increment(60);
          else if (each === 'finish') await finishNext();
          else calls.push(batcher.submit(each).then((answer) => answer === `${each}!`));
        }
        const flushed = batcher.flush();
        while (finished < started.length) await finishNext();
        await flushed;
        expect(await Promise.all(calls)).toEqual(calls.map(() => true));
        for (const batch of batches()) expect(new Set(batch).size).toBe(batch.length);
        expect(batches().every((batch) => batch.length <= 3)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe('limits', () => {
  test('a rate grants its burst, then its average, for each key by itself', () => {
    const clock = createSimulatedClock();
    const limit = createRateLimit({ perSecond: 2, burst: 3 }, clock);
    const grants = (key: string) => Array.from({ length: 5 }, () => limit.take(key));
    expect(grants('a')).toEqual([true, true, true, false, false]);
    expect(limit.has('a')).toBe(false);
    expect(limit.has('b')).toBe(true);
    clock.increment(1_000);
    expect(grants('a')).toEqual([true, true, false, false, false]);
    clock.increment(60_000);
    expect(grants('a')).toEqual([true, true, true, false, false]);
  });

  test('a refusal is remembered from the first time on, not longer by asking again', () => {
    const clock = createSimulatedClock();
    const recent = createRecentSet(5_000, clock);
    recent.add('a');
    clock.increment(4_999);
    recent.add('a');
    expect(recent.has('a')).toBe(true);
    clock.increment(1);
    expect(recent.has('a')).toBe(false);
    recent.add('a');
    expect(recent.has('a')).toBe(true);
  });
});
