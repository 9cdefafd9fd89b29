import { expect, test } from 'vitest';
import { inTurn } from './in-turn.ts';
import { createTurns, type TurnLimits } from '../../../src/adapters/kit/turns.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const live = new AbortController().signal;

/** Turns in virtual time, and a log of when each named task began. */
function stand(limits: Partial<TurnLimits>, daemons = () => 1) {
  const clock = createSimulatedClock();
  const turns = createTurns({ maxConcurrency: 64, gapMs: 0, ...limits }, { clock, daemons });
  const begun: [string, number][] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, options: { urgent?: boolean; signal?: AbortSignal } = {}) =>
    inTurn(
      turns,
      () => {
        begun.push([name, clock.monotonic()]);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      },
      { urgent: false, signal: live, ...options },
    );
  async function pass(ms: number) {
    await settle();
    clock.increment(ms);
    await settle();
  }
  return { clock, begun, run, pass, end: (name: string) => ends.get(name)!() };
}
/** Lets everything that is ready happen. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('no more run at once than may; the others come in order', async () => {
  const { begun, run, end } = stand({ maxConcurrency: 2 });
  const all = ['a', 'b', 'c', 'd'].map((name) => run(name));
  await settle();
  expect(begun.map(([name]) => name)).toEqual(['a', 'b']);
  end('b');
  await settle();
  expect(begun.map(([name]) => name)).toEqual(['a', 'b', 'c']);
  end('a');
  await settle();
  end('c');
  end('d');
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
});

test('starts keep the distance that the budget asks for, failed ones too', async () => {
  const { clock, pass, begun, run } = stand({ gapMs: 100 });
  for (const name of ['a', 'b', 'c']) void run(name);
  for (let step = 0; step < 10; step++) await pass(50);
  expect(begun).toEqual([
    ['a', 0],
    ['b', 100],
    ['c', 200],
  ]);
  expect(clock.pending, 'no timer is left').toBe(0);
});

test('live daemons share the budget, and a change of their number counts at once', async () => {
  let daemons = 4;
  const { pass, begun, run } = stand({ gapMs: 100 }, () => daemons);
  for (const name of ['a', 'b', 'c']) void run(name);
  await pass(400);
  daemons = 1;
  await pass(400);
  expect(begun).toEqual([
    ['a', 0],
    ['b', 400],
    // Its timer was set while there were four.
    ['c', 800],
  ]);
});

test('what is urgent overtakes what waits', async () => {
  const { begun, run, end } = stand({ maxConcurrency: 1 });
  void run('a');
  void run('b');
  void run('c', { urgent: true });
  await settle();
  end('a');
  await settle();
  expect(begun.map(([name]) => name)).toEqual(['a', 'c']);
});

test('who is aborted leaves the queue, and the others move up', async () => {
  const { pass, begun, run } = stand({ gapMs: 1_000 });
  const leaving = new AbortController();
  void run('a');
  const gone = run('b', { signal: leaving.signal });
  void run('c');
  const reason = new Error('left');
  leaving.abort(reason);
  await expect(gone).rejects.toBe(reason);
  await pass(1_000);
  expect(begun).toEqual([
    ['a', 0],
    ['c', 1_000],
  ]);
  await expect(run('d', { signal: leaving.signal })).rejects.toBe(reason);
});
