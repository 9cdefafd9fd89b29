import { createActor, setup, type AnyActorLogic } from 'xstate';
import { expect, test } from 'vitest';
import { promiseService, callbackService, unprovided } from '../../src/machines/services.ts';
import { settled } from '../doubles/simulated-clock.ts';

/** What a chart ends with that invokes this; null: it goes on. */
async function endOf(service: AnyActorLogic): Promise<string | null> {
  const chart = setup({ actors: { service } }).createMachine({ invoke: { src: 'service' } });
  const actor = createActor(chart);
  let end: string | null = null;
  actor.subscribe({ error: (error) => (end = (error as Error).message) });
  actor.start();
  await settled();
  actor.stop();
  return end;
}

test('a service that nobody filled ends its chart and names itself, instead of hanging', async () => {
  expect(await endOf(promiseService<void, void>('listBoth'))).toBe('"listBoth" was not provided');
  expect(await endOf(callbackService('janitor'))).toBe('"janitor" was not provided');
});

test('an action that nobody gave is no silence either', () => {
  expect(() => unprovided('reportEnd')).toThrow('"reportEnd" was not provided');
});
