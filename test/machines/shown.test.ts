import { createActor, setup } from 'xstate';
import { expect, test } from 'vitest';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { shownBy } from '../../src/machines/shown.ts';
import { takeover } from '../../src/machines/takeover.ts';
import { JOB } from '../model/subjects.ts';
import { SLOT } from '../support/facts.ts';
import { PLACES, viewAt } from '../support/views.ts';

test.each(PLACES)('a fresh actor told %s · %s shows just that', (state, substate) => {
  const actor = createActor(lifecycle, { input: { view: viewAt(state, substate) } });
  expect(shownBy(actor)).toEqual({ slot: SLOT, state, substate, working: false });
});

test('neither a task by itself nor another chart is taken for a machine', () => {
  const other = setup({}).createMachine({
    id: 'other',
    initial: 'alive',
    states: { alive: { initial: 'life', states: { life: {} } } },
  });
  expect(shownBy(createActor(other))).toBeNull();
  expect(shownBy(createActor(takeover, { input: JOB }))).toBeNull();
  expect(shownBy(createActor(takeover, { input: JOB, id: 'takeover' }))).toBeNull();
});
