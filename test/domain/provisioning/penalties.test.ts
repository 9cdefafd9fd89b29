import { expect, test } from 'vitest';
import { createPenalties } from '../../../src/domain/provisioning/provider-holds.ts';

test('keeps a key on cooldown through its last moment, and keeps a limited number of keys', () => {
  const penalties = createPenalties<string>(2);
  const known = (nowMs: number) => ['a', 'b', 'c'].filter((key) => penalties.penalised(key, nowMs));
  penalties.add('a', 10);
  expect([known(10), known(11)]).toEqual([['a'], []]);
  penalties.add('b', 20);
  penalties.add('a', 30);
  expect([known(20), known(30)]).toEqual([['a', 'b'], ['a']]);
  penalties.add('c', 30);
  expect(known(0), 'the oldest makes room').toEqual(['a', 'c']);
});
