import { createActor, setup } from 'xstate';
import { expect, test } from 'vitest';
import { leafOf } from '../../src/machines/leaf.ts';
import { PLACES, viewAt } from '../support/views.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { takeover } from '../../src/machines/takeover.ts';
import { JOB } from '../model/subjects.ts';

const shown = (life: unknown) => leafOf({ value: { life, holds: 'free' } });

test.each([
  [{ Running: 'healthy' }, 'Running', 'healthy'],
  [{ AgentStarting: 'elsewhere' }, 'AgentStarting', 'elsewhere'],
  [{ AgentStarting: { ours: 'uploading' } }, 'AgentStarting', 'uploading'],
  [{ Recovering: { ours: 'rebooting' } }, 'Recovering', 'rebooting'],
  ['HandedOver', 'HandedOver', ''],
  ['Released', 'Released', ''],
])('%o is %s · %s', (life, state, substate) => {
  expect(shown(life)).toEqual({ state, substate });
});

test.each([[null], [undefined], ['text'], [{}], [{ value: 'claiming' }], [{ value: {} }]])(
  '%o is no machine',
  (snapshot) => {
    expect(leafOf(snapshot)).toBeNull();
  },
);

test('neither a task nor another chart is taken for a machine', () => {
  const other = setup({}).createMachine({
    initial: 'life',
    states: { life: { initial: 'alive', states: { alive: {} } } },
  });
  expect(leafOf(createActor(other).getSnapshot())).toBeNull();
  expect(shown('alive')).toBeNull();
  expect(shown({ alive: 'well' })).toBeNull();
  expect(leafOf(createActor(takeover, { input: JOB }).getSnapshot())).toBeNull();
});

test.each(PLACES)('a fresh actor told %s · %s shows just that', (state, substate) => {
  const actor = createActor(lifecycle, { input: { view: viewAt(state, substate) } });
  const place = leafOf(actor.getSnapshot());
  expect(place?.state).toBe(state);
  const own = { HandedOver: '', Released: '', Recovering: undefined }[state as string];
  if (state !== 'Recovering') expect(place?.substate).toBe(own ?? substate);
  else expect(place?.substate).toBe(substate === 'coolingDown' ? substate : 'elsewhere');
});
