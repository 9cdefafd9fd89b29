import { createActor, setup, type AnyActorLogic } from 'xstate';
import { expect, test } from 'vitest';
import { promiseService, callbackService, unprovided } from '../../src/machines/services.ts';
import { settled } from '../doubles/simulated-clock.ts';

/** The error that ends a chart which invokes the service; null: the chart goes on. */
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

test('ends the chart and names the service when nobody provided it', async () => {
  expect(await endOf(promiseService<void, void>('listBoth'))).toBe('"listBoth" was not provided');
  expect(await endOf(callbackService('janitor'))).toBe('"janitor" was not provided');
});

test('ends the chart when nobody provided an action', () => {
  expect(() => unprovided('reportEnd')).toThrow('"reportEnd" was not provided');
});
