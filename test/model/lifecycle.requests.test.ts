import { describe, expect, test } from 'vitest';
import { shownIn } from '../../src/machines/shown.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { SLOT } from '../support/facts.ts';
import { effectsOf, ends, fails, news } from '../support/happenings.ts';
import { createStand, type ChartRun } from '../support/chart-run.ts';
import type { ChartEffect } from '../doubles/scripted-services.ts';
import { testRows } from '../support/rows.ts';
import { viewAt } from '../support/views.ts';
import { askedIn, LIFECYCLE, RESTS, APPLY_PAUSE_MS, TASKS } from './lifecycle.table.ts';

/** Operator requests are applied independently of the machine's state. */

const stand = createStand(LIFECYCLE);

/** Every state of a machine and every task of ours, with a way to bring a live actor there. */
const PLACES: readonly (readonly [string, () => Promise<ChartRun>])[] = [
  ...RESTS.filter(({ state }) => state !== 'Released').map(
    ({ state, substate, next }) =>
      [
        `${state} ${substate}, due for ${String(next)}`,
        async () => stand.start({ view: viewAt(state, substate, { next }) }),
      ] as const,
  ),
  ...TASKS.map(
    ({ service, due }) =>
      [
        `${service} of ours`,
        async () => {
          const door = RESTS.find(({ next }) => next === due)!;
          const run = stand.start({ view: viewAt(door.state, door.substate, { next: due }) });
          await run.play(ends('awaitTurn'));
          return run;
        },
      ] as const,
  ),
];
const inHealth = () => stand.start({ view: viewAt('Running', 'healthy') });

const askedOf = (run: ChartRun) => askedIn(run.snapshot().value);
const shownOf = (run: ChartRun) => shownIn(run.snapshot() as never);
const told = (run: ChartRun, change: Partial<MachineView>): Promise<ChartEffect[]> => {
  const view = { ...(run.snapshot().context['view'] as MachineView), ...change };
  return effectsOf(run, () => run.send(news(view)));
};
const asked = (run: ChartRun, request: string | null) => told(run, { request });
const answer = (run: ChartRun, key: string) =>
  effectsOf(run, () => run.play(ends('applyRequest', key)));
const refuse = (run: ChartRun) =>
  effectsOf(run, () => run.play(fails('applyRequest', new Error('stays open'))));
const settles = (key: string): ChartEffect => ['calls', 'applyRequest', { slot: SLOT, key }];

testRows(PLACES)('in %s, applies a request once and moves nothing else', async (_, reach) => {
  const run = await reach();
  const before = shownOf(run);
  expect(await asked(run, 'ann-1')).toEqual([settles('ann-1')]);
  expect(askedOf(run)).toBe('settling');
  expect(await asked(run, 'ann-2'), 'one after the other').toEqual([]);
  expect(await asked(run, 'ann-1')).toEqual([]);
  expect(await answer(run, 'ann-1')).toEqual([]);
  expect(askedOf(run)).toBe('idle');
  expect(shownOf(run)).toEqual(before);
  expect(await asked(run, 'ann-1'), 'the mirror lags a little').toEqual([]);
  expect(await asked(run, 'ann-2')).toEqual([settles('ann-2')]);
  expect(await answer(run, 'ann-2')).toEqual([]);
  await run.stop();
});

describe('a request that cannot be applied', () => {
  test.each(['fails', 'stays open'])('%s: is retried after a while', async (how) => {
    const run = inHealth();
    await asked(run, 'ann-1');
    if (how === 'stays open') expect(await refuse(run)).toEqual([]);
    else await run.play(fails('applyRequest', new Error('no database')));
    expect(askedOf(run)).toBe('pausing');
    expect(await asked(run, 'ann-1'), 'news do not shorten the wait').toEqual([]);
    expect(await effectsOf(run, () => run.wait(APPLY_PAUSE_MS - 1))).toEqual([]);
    expect(await effectsOf(run, () => run.wait(1))).toEqual([settles('ann-1')]);
    expect(askedOf(run)).toBe('settling');
    await run.stop();
  });

  test('keeps its wait when news arrive', async () => {
    const run = inHealth();
    await asked(run, 'ann-1');
    await refuse(run);
    for (const substate of ['late', 'healthy']) {
      await run.wait(APPLY_PAUSE_MS / 2 - 1);
      expect(await told(run, { substate })).toEqual([]);
      expect(askedOf(run)).toBe('pausing');
    }
    expect(await effectsOf(run, () => run.wait(2))).toEqual([settles('ann-1')]);
    await run.stop();
  });

  test('is dropped when it is withdrawn', async () => {
    const run = inHealth();
    await asked(run, 'ann-1');
    await refuse(run);
    await asked(run, null);
    expect(await effectsOf(run, () => run.wait(APPLY_PAUSE_MS))).toEqual([]);
    expect(askedOf(run)).toBe('idle');
    await run.stop();
  });

  test.each(['settling', 'pausing'])(
    '%s: is forgotten when the machine is released',
    async (at) => {
      const run = inHealth();
      await asked(run, 'ann-1');
      if (at === 'pausing') await refuse(run);
      expect(askedOf(run)).toBe(at);
      expect(await told(run, viewAt('Released', 'gone'))).toEqual([
        ['does', 'countLeap', { view: viewAt('Released', 'gone') }],
        ...(at === 'settling' ? [['stops', 'applyRequest'] as const] : []),
      ]);
      expect(run.snapshot().status).toBe('done');
      await run.stop();
    },
  );
});

test('keeps the request after news of a release that one of our tasks then disproves', async () => {
  const view = viewAt('Deprovisioning', 'cleaning', { next: 'deprovision' });
  const run = stand.start({ view });
  await run.play(ends('awaitTurn'));
  await told(run, { ...viewAt('Released', 'gone'), holds: ['preserve'] });
  const free = viewAt('Reserved', 'available');
  await run.play(ends('deprovision', { outcome: 'done', failure: null, view: free }));
  expect(shownOf(run)).toMatchObject({ state: 'Reserved', substate: 'available', working: false });
  expect(askedOf(run)).toBe('idle');
  expect(await asked(run, 'ann-1')).toEqual([settles('ann-1')]);
  await run.stop();
});
