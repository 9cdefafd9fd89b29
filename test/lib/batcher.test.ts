import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBatcher, type Outcome } from '../../src/lib/batcher.ts';
import { testRows } from '../support/rows.ts';

interface StartedBatch {
  readonly items: readonly string[];
  readonly finish: () => void;
  readonly answer: (outcomes: readonly Outcome<string>[]) => void;
  readonly fail: (error: Error) => void;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
/** The key of an item is its first letter. */
const keyOf = (item: string) => item.slice(0, 1);

/** A batcher driven by hand: `ripen` ends waits, `finish` ends batches. */
function createBench({ sizeMax = 3, concurrency = 1 } = {}) {
  const started: StartedBatch[] = [];
  const waits: (() => void)[] = [];
  const batcher = createBatcher<string, string>({
    collect: () => new Promise((resolve) => waits.push(resolve)),
    sizeMax,
    concurrency,
    keyOf,
    run: (items) =>
      new Promise((resolve, reject) => {
        const finish = () => resolve(items.map((item) => ({ ok: `${item}!` })));
        started.push({ items, finish, answer: resolve, fail: reject });
      }),
  });
  const ripen = async () => {
    for (const end of waits.splice(0)) end();
    await settle();
  };
  const finish = async (at: number) => {
    started[at]!.finish();
    await settle();
  };
  const batches = () => started.map(({ items }) => items.join(' '));
  return { batcher, started, waits, ripen, finish, batches };
}

describe('the batcher', () => {
  test('starts a full batch at once, and gives the next one its own wait', async () => {
    const { batcher, waits, finish, batches } = createBench();
    for (const item of ['a', 'b', 'c']) void batcher.submit(item);
    expect(batches()).toEqual(['a b c']);
    const [stale] = waits.splice(0);
    await finish(0);
    void batcher.submit('d');
    stale!();
    await settle();
    expect(batches()).toEqual(['a b c']);
    waits[0]!();
    await settle();
    expect(batches()).toEqual(['a b c', 'd']);
  });

  test('waits for further items as long as configured', async () => {
    const { batcher, ripen, finish, batches } = createBench();
    const answers = Promise.all([batcher.submit('a'), batcher.submit('b')]);
    await settle();
    expect(batches()).toEqual([]);
    await ripen();
    expect(batches()).toEqual(['a b']);
    await finish(0);
    expect(await answers).toEqual(['a!', 'b!']);
  });

  test('collects while a batch is in flight, and starts the next at once if due', async () => {
    const { batcher, ripen, finish, batches } = createBench();
    for (const item of ['a', 'b', 'c', 'd']) void batcher.submit(item);
    await ripen();
    expect(batches()).toEqual(['a b c']);
    await finish(0);
    expect(batches()).toEqual(['a b c', 'd']);
  });

  test('has no more batches in flight than allowed', async () => {
    const { batcher, ripen, finish, batches } = createBench({ concurrency: 2 });
    for (const item of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) void batcher.submit(item);
    await ripen();
    expect(batches()).toEqual(['a b c', 'd e f']);
    await finish(1);
    expect(batches()).toEqual(['a b c', 'd e f', 'g']);
  });

  test('puts two items of one key into two batches, the later of which waits for the earlier', async () => {
    const { batcher, ripen, finish, batches } = createBench({ concurrency: 3 });
    for (const item of ['a1', 'a2', 'b1']) void batcher.submit(item);
    expect(batches()).toEqual(['a1 b1']);
    void batcher.submit('a3');
    void batcher.submit('c1');
    await ripen();
    expect(batches()).toEqual(['a1 b1', 'c1']);
    await finish(1);
    expect(batches()).toEqual(['a1 b1', 'c1']);
    await finish(0);
    await ripen();
    expect(batches()).toEqual(['a1 b1', 'c1', 'a2']);
    await finish(2);
    await ripen();
    expect(batches().at(-1)).toBe('a3');
  });

  test('fails an item alone', async () => {
    const { batcher, started } = createBench();
    const answers = ['a', 'b', 'c'].map((item) => batcher.submit(item));
    started[0]!.answer([{ ok: 'A' }, { error: new Error('poison') }, { ok: 'C' }]);
    expect(await Promise.allSettled(answers)).toMatchObject([
      { value: 'A' },
      { reason: { message: 'poison' } },
      { value: 'C' },
    ]);
  });

  test('fails only the batch of an error', async () => {
    const { batcher, started, ripen, finish } = createBench();
    const failing = batcher.submit('a');
    await ripen();
    started[0]!.fail(new Error('away'));
    await expect(failing).rejects.toThrow('away');
    const next = batcher.submit('b');
    await ripen();
    await finish(1);
    expect(await next).toBe('b!');
  });

  test('fails the whole batch when an answer is missing', async () => {
    const { batcher, started } = createBench();
    const answers = ['a', 'b', 'c'].map((item) => batcher.submit(item));
    started[0]!.answer([{ ok: 'A' }]);
    const settled = await Promise.allSettled(answers);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  testRows([
    ['rejects', () => Promise.reject(new Error('no wait'))],
    [
      'throws',
      () => {
        throw new Error('no wait');
      },
    ],
  ])('ends a wait that %s', async (_, collect) => {
    const run = (items: readonly string[]) => Promise.resolve(items.map((ok) => ({ ok })));
    const batcher = createBatcher<string, string>({
      collect,
      sizeMax: 3,
      concurrency: 1,
      keyOf,
      run,
    });
    expect(await Promise.all(['a', 'b'].map((item) => batcher.submit(item)))).toEqual(['a', 'b']);
    expect(await batcher.submit('c')).toBe('c');
    expect(batcher.waiting).toBe(0);
  });

  test('ends the waiting at a flush, also for items that a batch in flight left behind', async () => {
    const { batcher, started, finish, batches } = createBench();
    for (const item of ['a', 'b', 'c', 'd', 'e']) void batcher.submit(item);
    const flushed = batcher.flush();
    await finish(0);
    expect(batches()).toEqual(['a b c', 'd e']);
    started[1]!.finish();
    await flushed;
    expect(batcher.waiting).toBe(0);
  });

  test('answers every item once, in the order of its key, in any interleaving', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', 'e') },
      { weight: 1, arbitrary: fc.constant('ripen' as const) },
      { weight: 1, arbitrary: fc.nat(3).map((at) => ({ finish: at })) },
    );
    const scenario = fc.record({
      steps: fc.array(step, { maxLength: 40 }),
      sizeMax: fc.integer({ min: 1, max: 4 }),
      concurrency: fc.integer({ min: 1, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ steps, sizeMax, concurrency }) => {
        const { batcher, started, ripen, batches } = createBench({ sizeMax, concurrency });
        const open: StartedBatch[] = [];
        const ended: string[] = [];
        let looked = 0;
        const look = () => {
          open.push(...started.slice(looked));
          looked = started.length;
          expect(open.length).toBeLessThanOrEqual(concurrency);
          const keys = open.flatMap(({ items }) => items.map(keyOf));
          expect(new Set(keys).size).toBe(keys.length);
        };
        const finish = async (at: number) => {
          look();
          const [one] = open.splice(at % Math.max(1, open.length), 1);
          ended.push(...(one?.items ?? []));
          one?.finish();
          await settle();
          look();
        };
        const calls: Promise<boolean>[] = [];
        for (const each of steps) {
          if (each === 'ripen') await ripen();
          else if (typeof each === 'object') await finish(each.finish);
          else {
            const item = `${each}${calls.length}`;
            calls.push(batcher.submit(item).then((answer) => answer === `${item}!`));
          }
        }
        const flushed = batcher.flush();
        for (look(); open.length > 0;) await finish(0);
        await flushed;
        expect(await Promise.all(calls)).toEqual(calls.map(() => true));
        expect(batches().every((batch) => batch.split(' ').length <= sizeMax)).toBe(true);
        for (const key of 'abcde') {
          const order = ended
            .filter((item) => keyOf(item) === key)
            .map((item) => Number(item.slice(1)));
          expect(order).toEqual(order.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 200 },
    );
  });
});
