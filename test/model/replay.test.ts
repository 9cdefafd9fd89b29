import { setup } from 'xstate';
import { expect, test } from 'vitest';
import { promiseService } from '../../src/machines/services.ts';
import { explore, type Subject } from '../support/replay.ts';

/** A chart with one door that is never open, and one step that a service decides. */
const toy = setup({
  actors: { work: promiseService<void, void>('work') },
  guards: { never: () => false },
}).createMachine({
  id: 'toy',
  initial: 'working',
  states: {
    working: {
      invoke: { id: 'work', src: 'work', onDone: 'resting', onError: 'broken' },
      on: { 'door.opened': { guard: 'never', target: 'behindTheDoor' } },
    },
    resting: { after: { 1000: 'working' } },
    broken: { type: 'final' },
    behindTheDoor: {},
  },
});

const subject: Subject = {
  chart: toy,
  input: undefined,
  events: () => [{ type: 'door.opened' }],
  services: { work: { done: [undefined], errors: [new Error('scripted')] } },
};

test('what no path covers is named, states and transitions alike', async () => {
  const explored = explore(subject);
  for (const path of explored.paths) await explored.replay(path);
  expect(() => explored.report()).toThrow(
    /at rest in toy\.behindTheDoor[^]*toy\.working --door\.opened #0 \[never\]--> toy\.behindTheDoor/,
  );
});

test('a path that was not replayed does not count', () => {
  expect(() => explore(subject).report()).toThrow('replayed paths');
});

test('a live actor that parts from the model is caught', async () => {
  const explored = explore(subject);
  const path = explored.paths.find(({ steps }) => steps[0]?.event.type.includes('error'))!;
  const wrong = { ...path, steps: [{ ...path.steps[0]!, snapshot: path.initial }] };
  await expect(explored.replay(wrong)).rejects.toThrow('xstate.error.actor.work');
});

test('a service without a script is refused', () => {
  expect(() => explore({ ...subject, services: {} })).toThrow('no script for the service "work"');
});
