import { createActor } from 'xstate';
import { expect, test } from 'vitest';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { isBusy, shownIn } from '../../src/machines/shown.ts';
import { SLOT } from '../support/facts.ts';
import { PLACES, viewAt } from '../support/views.ts';
import { testRows } from '../support/rows.ts';

const snapshotOf = (...place: Parameters<typeof viewAt>) =>
  createActor(lifecycle, { input: { view: viewAt(...place) } }).getSnapshot();

testRows(PLACES)('a fresh actor with the view %s · %s shows exactly that', (state, substate) => {
  expect(shownIn(snapshotOf(state, substate))).toEqual({
    ...{ slot: SLOT, state, substate, working: false },
  });
});

test('shows the substate of a later view while the view has the same state', () => {
  const snapshot = snapshotOf('Running', 'healthy');
  expect(shownIn(snapshot, viewAt('Running', 'late'))).toMatchObject({ substate: 'late' });
  expect(shownIn(snapshot, viewAt('Recovering', 'rebooting'))).toMatchObject({
    state: 'Running',
    substate: 'healthy',
  });
});

test('shows a machine as busy as soon as work is due', () => {
  expect(isBusy(snapshotOf('Provisioned', 'waiting', { next: 'agentStart' }))).toBe(true);
  expect(isBusy(snapshotOf('Provisioned', 'waiting'))).toBe(false);
  expect(isBusy(snapshotOf('Running', 'healthy'))).toBe(false);
});
