import { expect, test } from 'vitest';
import { createSendCheck } from '../../../src/actors/providers/holds.ts';

const SECOND = 1_000;

test('A4: repeats the check every 15 s for a request that is sent again, by the other check', async () => {
  let nowMs = 0;
  const done: string[] = [];
  const check = (name: string) => async () => void done.push(`${name} at ${nowMs / SECOND} s`);
  const clock = { monotonic: () => nowMs };
  const beforeSending = createSendCheck(clock, check('first'), check('again'));
  for (const at of [0, 15, 16, 30, 31, 32, 47]) {
    nowMs = at * SECOND;
    await beforeSending();
  }
  expect(done).toEqual(['first at 0 s', 'again at 16 s', 'again at 32 s']);
});

test('A4: repeats a failed check at any time', async () => {
  let fails = true;
  let count = 0;
  const beforeSending = createSendCheck({ monotonic: () => 0 }, async () => {
    count += 1;
    if (fails) throw new Error('not now');
  });
  await expect(beforeSending()).rejects.toThrow('not now');
  fails = false;
  await beforeSending();
  await beforeSending();
  expect(count).toBe(2);
});
