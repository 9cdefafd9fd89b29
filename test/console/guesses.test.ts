import { expect, test } from 'vitest';
import { createGuesses, GUESSES_MAX } from '../../src/console/guesses.ts';

const guess = (guesses: ReturnType<typeof createGuesses>, address: string) => {
  for (let count = 0; count < GUESSES_MAX; count += 1) guesses.wrong(address, `${count}`);
};

test.each([
  ['192.0.2.1', '::ffff:192.0.2.1', 60],
  ['192.0.2.1', '192.0.2.2', 0],
  ['2001:db8::1', '2001:db8::ffff:1', 60],
  ['2001:db8::1', '2001:db8:0:1::1', 0],
])('B6: after guesses from %s, %s waits %i s', (from, other, seconds) => {
  const guesses = createGuesses({ monotonic: () => 0 });
  guess(guesses, from);
  expect(guesses.waitSeconds(from)).toBe(60);
  expect(guesses.waitSeconds(other)).toBe(seconds);
});

test('B6: bounds the memory for guesses from very many networks, and forgets only the oldest', () => {
  const guesses = createGuesses({ monotonic: () => 0 });
  guess(guesses, '192.0.2.1');
  for (let at = 0; at < 9_999; at += 1) guesses.wrong(`10.0.${at >> 8}.${at & 255}`, 'a');
  expect(guesses.waitSeconds('192.0.2.1')).toBe(60);
  guesses.wrong('198.51.100.1', 'a');
  expect(guesses.waitSeconds('192.0.2.1')).toBe(0);
});

test('B6: does not count a page that keeps showing an old token as guessing', () => {
  const guesses = createGuesses({ monotonic: () => 0 });
  for (let count = 0; count < 100; count += 1) guesses.wrong('192.0.2.1', 'the same');
  expect(guesses.waitSeconds('192.0.2.1')).toBe(0);
});
