import { expect, test } from 'vitest';
import { createLocks } from '../../../src/adapters/driver-kit/time-limit.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const { signal } = new AbortController();

/** Who has which lock, in the order in which they got it. */
function stand() {
  const locks = createLocks();
  const got: string[] = [];
  const frees = new Map<string, () => void>();
  const take = async (name: string, key: string, leaving = signal) => {
    frees.set(name, await locks.take(key, leaving));
    got.push(name);
  };
  return { got, take, free: (name: string) => frees.get(name)!() };
}

test('what has the same key waits, and what has another does not', async () => {
  const { got, take, free } = stand();
  const all = [take('a1', 'a'), take('a2', 'a'), take('b1', 'b'), take('a3', 'a')];
  await settled();
  expect(got).toEqual(['a1', 'b1']);
  free('a1');
  await settled();
  free('a2');
  await Promise.all(all);
  expect(got).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('who leaves the line lets nobody past the one in front', async () => {
  const { got, take, free } = stand();
  const leaving = new AbortController();
  await take('first', 'a');
  const left = take('second', 'a', leaving.signal);
  const reason = new Error('left');
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  const third = take('third', 'a');
  await settled();
  expect(got).toEqual(['first']);
  free('first');
  await third;
  expect(got).toEqual(['first', 'third']);
});

test('who has left already gets no lock, and a free one is taken at once', async () => {
  const { got, take, free } = stand();
  await take('first', 'a');
  await expect(take('second', 'a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  free('first');
  await take('third', 'a');
  expect(got).toEqual(['first', 'third']);
});
