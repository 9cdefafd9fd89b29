import { createActor, setup, type AnyActorLogic } from 'xstate';
import { expect, test } from 'vitest';
import { actorSlot, serviceSlot, unprovided } from '../../src/machines/slots.ts';
import { settled } from '../doubles/simulated-clock.ts';

/** What a chart ends with that invokes this; null: it goes on. */
async function endOf(slot: AnyActorLogic): Promise<string | null> {
  const chart = setup({ actors: { slot } }).createMachine({ invoke: { src: 'slot' } });
  const actor = createActor(chart);
  let end: string | null = null;
  actor.subscribe({ error: (error) => (end = (error as Error).message) });
  actor.start();
  await settled();
  actor.stop();
  return end;
}

test('a slot that nobody filled ends its chart and names itself, instead of hanging', async () => {
  expect(await endOf(actorSlot<void, void>('listBoth'))).toBe('"listBoth" was not provided');
  expect(await endOf(serviceSlot('janitor'))).toBe('"janitor" was not provided');
});

test('an action that nobody gave is no silence either', () => {
  expect(() => unprovided('reportEnd')).toThrow('"reportEnd" was not provided');
});
