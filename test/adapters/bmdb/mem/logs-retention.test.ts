import { expect, it } from 'vitest';
import { createMemBmdb } from '../../../doubles/mem-bmdb/mem-bmdb.ts';
import { createSeededRandom, createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { DAY } from '../../../contracts/bmdb-stage.ts';
import { PROVIDER } from '../../../contracts/bmdb-rows.ts';

it('A10: settled creations are kept for 90 days or as the newest 1000, open ones for ever', async () => {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const { intents } = bmdb.tables;
  const session = await bmdb.openSession({
    component: 'shepherd',
    runtimeInfo: 'host test',
    intervalMs: 1_000 * DAY,
  });
  const slot = (slotId: string) => ({ provider: PROVIDER, slotId, hostname: 'm-1' });
  const settle = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const { witness } = await session.intents.open(slot('reservation-1'));
      await session.intents.end(witness, { state: 'abandoned', cause: 'not wanted' });
    }
  };
  const open = await session.intents.open(slot('reservation-2'));
  await settle(300);
  await bmdb.sweep();
  expect(intents.size).toBe(301);
  clock.increment(91 * DAY);
  await settle(900);
  await bmdb.sweep();
  expect(intents.size).toBe(1_001);
  expect(intents.has(open.witness)).toBe(true);
  clock.increment(80 * DAY);
  await settle(300);
  await bmdb.sweep();
  expect(intents.size).toBe(1_201);
  await bmdb.close();
});
