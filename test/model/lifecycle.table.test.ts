import type { EventObject } from 'xstate';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Unreachable } from '../../src/domain/errors.ts';
import { machineId } from '../../src/domain/ids.ts';
import { FOLLOWERS, FROM_ANYWHERE, STATES } from '../../src/domain/states.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { shownIn } from '../../src/machines/shown.ts';
import { nodesOf, transitionsOf } from '../support/chart-map.ts';
import { MACHINE, SLOT } from '../support/facts.ts';
import { effectsOf, ends, fails, news } from '../support/happenings.ts';
import { createStand, type ChartRun } from '../support/chart-run.ts';
import type { ChartEffect } from '../doubles/scripted-services.ts';
import { testRows } from '../support/rows.ts';
import { viewAt } from '../support/views.ts';
import {
  begunBy,
  FOLLOWS,
  LIFECYCLE,
  restOf,
  RESTS,
  SETBACKS_MAX,
  TASKS,
  type Rest,
  type TaskOfOurs,
} from './lifecycle.table.ts';

/**
 * Walks the table of `lifecycle.table.ts` line by line on live actors: the state that follows, and
 * all effects.
 */

const stand = createStand(LIFECYCLE);
const start = (view: MachineView): ChartRun => stand.start({ view });
const viewOf = ({ state, substate, next }: Rest) => viewAt(state, substate, { next });
const nameOf = ({ state, substate, next }: Rest) =>
  `${state} ${substate}${next ? `, due for ${next}` : ''}`;
const LINES = RESTS.map((rest) => [nameOf(rest), rest] as const);

const place = (run: ChartRun) => {
  const { state, substate } = shownIn(run.snapshot() as never)!;
  return { state, substate, isOurs: run.snapshot().tags.has('working') };
};
const settledAt = ({ state, substate }: MachineView) => ({ state, substate, isOurs: false });
const at = ({ state }: TaskOfOurs, step: string | null) => ({
  state,
  substate: step,
  isOurs: true,
});

const asks = ({ next }: MachineView, setbacks = 0): ChartEffect[] => [
  ['calls', 'awaitTurn', { slot: SLOT, next, setbacks }],
];
/** The effects of an actor that comes to rest with this view. */
const settles = (view: MachineView, setbacks = 0): ChartEffect[] =>
  begunBy(view) ? asks(view, setbacks) : [];
const TURN_ENDED: ChartEffect = ['does', 'endTurn', { slot: SLOT }];

const played = (run: ChartRun, event: EventObject) => effectsOf(run, () => run.play(event));
const sent = (run: ChartRun, event: EventObject) => effectsOf(run, () => run.send(event));

const ANOTHER_TENANCY = machineId('aaaaaaaa-0000-4000-8000-000000000002');
const fault = new Unreachable('scripted fault');
const FAULT = { code: 'unreachable', message: fault.message };

// XState warns of every event that reaches an ended actor; here the events are intended.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

testRows(LINES)(
  '%s: starts in that state, and waits for a permit where it may have work',
  async (_, from) => {
    const view = viewOf(from);
    for (const each of [view, { ...view, holds: ['no-recover' as const] }]) {
      const run = start(each);
      expect(place(run)).toEqual(settledAt(view));
      expect(run.stage.effects).toEqual(settles(view));
      await run.stop();
    }
  },
);

testRows(LINES)('%s: follows news to their state, and counts leaps', async (_, from) => {
  const view = viewOf(from);
  for (const to of [...RESTS.map(viewOf), { ...view, machineId: ANOTHER_TENANCY }]) {
    const run = start(view);
    const effects = await sent(run, news(to));
    const story = `told ${nameOf(restOf(to))}`;
    const isOver = from.state === 'Released';
    expect(place(run), story).toEqual(settledAt(isOver ? view : to));
    expect(effects, story).toEqual(isOver ? [] : followsOf(view, to));
    await run.stop();
  }
});

testRows(LINES)(
  '%s: changes nothing on news with the same state, due work and tenancy',
  async (_, from) => {
    const view = viewOf(from);
    const run = start(view);
    const same: MachineView = { ...view, reason: 'because', lastHeartbeatAtMs: 1, dueAtMs: 2 };
    expect(await sent(run, news(same))).toEqual([]);
    if (from.state !== 'Released') expect(run.snapshot().context['view']).toEqual(same);
    expect(place(run)).toEqual(settledAt(view));
    await run.stop();
  },
);

/** All effects of an actor that news lead from one state to another. */
function followsOf(from: MachineView, to: MachineView): ChartEffect[] {
  const isSame =
    from.state === to.state && from.machineId === to.machineId && from.next === to.next;
  if (isSame) return [];
  const isLeap = from.state !== to.state && !FOLLOWS[from.state].includes(to.state);
  return [
    ...(isLeap ? [['does', 'countLeap', { view: to }] as const] : []),
    ...(begunBy(from) ? [['stops', 'awaitTurn'] as const] : []),
    ...settles(to),
  ];
}

const DUE = RESTS.filter(({ next }) => next !== null).map(
  (rest) => [nameOf(rest), viewOf(rest)] as const,
);

testRows(DUE)('%s: waits for nothing without a machine', async (_, view) => {
  const run = start({ ...view, machineId: null });
  expect(run.stage.effects).toEqual([]);
  expect(place(run)).toEqual(settledAt(view));
  await run.stop();
});

testRows(DUE)('%s: begins the due work with a permit', async (_, view) => {
  const run = start(view);
  expect(run.stage.effects).toEqual(asks(view));
  const task = begunBy(view)!;
  expect(await played(run, ends('awaitTurn'))).toEqual([
    ['calls', task.service, { slot: SLOT, machineId: MACHINE }],
  ]);
  expect(place(run)).toEqual(at(task, 'claiming'));
  await run.stop();
});

testRows(DUE)(
  '%s: counts a permit that could not be awaited as a setback, and waits again',
  async (_, view) => {
    const run = start(view);
    const before = place(run);
    expect(await played(run, fails('awaitTurn', fault))).toEqual(asks(view, 1));
    expect(place(run)).toEqual(before);
    expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
    await run.stop();
  },
);

const BEGUN = TASKS.flatMap((task) => {
  const doors = RESTS.filter(({ state, next }) => next === task.due && task.from.includes(state));
  return doors.map((door) => [`${task.service}, begun in ${nameOf(door)}`, task, door] as const);
});
const begin = async (door: Rest): Promise<ChartRun> => {
  const run = start(viewOf(door));
  await run.play(ends('awaitTurn'));
  return run;
};
const result = (task: TaskOfOurs, outcome: string, view: MachineView | null) =>
  ends(task.service, { outcome, failure: outcome === 'done' ? null : FAULT, view });

testRows(BEGUN)('%s, shows each of its steps, and none while it ends', async (_, task, door) => {
  const run = await begin(door);
  const child = run.stage.live.get(task.service)!;
  for (const step of task.steps) {
    for (const value of [step, { [step]: 'within' }]) {
      child.show({ value });
      expect(place(run)).toEqual(at(task, step));
    }
  }
  for (const value of ['givingUp', 'rereading', 'ended']) {
    child.show({ value });
    expect(place(run)).toEqual(at(task, null));
  }
  await run.stop();
});

testRows(BEGUN)(
  '%s, is not interrupted by news, and the last news decide where nothing better is known',
  async (_, task, door) => {
    const run = await begin(door);
    for (const view of RESTS.map(viewOf)) {
      expect(await sent(run, news(view))).toEqual([]);
      expect(place(run)).toEqual(at(task, 'claiming'));
      expect(run.snapshot().context['view']).toEqual(view);
    }
    const last = viewAt('Running', 'silent', { next: 'recovery' });
    await run.send(news(last));
    expect(await played(run, result(task, 'failed', null))).toEqual([TURN_ENDED, ...asks(last, 1)]);
    await run.stop();
  },
);

testRows(BEGUN)(
  '%s, done: returns its permit and goes to the state of the rows',
  async (_, task, door) => {
    for (const view of RESTS.map(viewOf)) {
      const run = await begin(door);
      expect(await played(run, result(task, 'done', view))).toEqual([TURN_ENDED, ...settles(view)]);
      expect(place(run)).toEqual(settledAt(view));
      expect(run.snapshot().context).toMatchObject({ view, lastFailure: null, setbacks: 0 });
      await run.stop();
    }
  },
);

testRows(BEGUN)(
  '%s, failed or refused: does the same, and counts a setback',
  async (_, task, door) => {
    for (const outcome of ['failed', 'refused'])
      for (const view of [viewOf(door), viewAt('Quarantined', 'needsHuman')]) {
        const run = await begin(door);
        const effects = await played(run, result(task, outcome, view));
        expect(effects).toEqual([TURN_ENDED, ...settles(view, 1)]);
        expect(place(run)).toEqual(settledAt(view));
        expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
        await run.stop();
      }
  },
);

testRows(BEGUN)(
  '%s, crashed: returns its permit and goes to the last seen state',
  async (_, task, door) => {
    const run = await begin(door);
    const view = viewOf(door);
    expect(await played(run, fails(task.service, fault))).toEqual([TURN_ENDED, ...asks(view, 1)]);
    expect(place(run)).toEqual(settledAt(view));
    expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
    await run.stop();
  },
);

describe('setbacks in a row', () => {
  const due = viewAt('Provisioned', 'waiting', { next: 'agentStart' });
  const { service } = TASKS.find((task) => task.due === 'agentStart')!;
  const refused = ends(service, { outcome: 'refused', failure: FAULT, view: due });
  const done = ends(service, { outcome: 'done', failure: null, view: due });
  const takeTurn = async (run: ChartRun, event: EventObject) => {
    await run.play(ends('awaitTurn'));
    return played(run, event);
  };

  test.each([
    ['refused', (run: ChartRun) => takeTurn(run, refused)],
    ['crashed', (run: ChartRun) => takeTurn(run, fails(service, fault))],
    ['not awaited', (run: ChartRun) => played(run, fails('awaitTurn', fault))],
  ])('%s: count up to a limit, and a success resets them', async (_, again) => {
    const run = start(due);
    for (let count = 1; count <= SETBACKS_MAX + 2; count += 1) {
      expect((await again(run)).at(-1)).toEqual(asks(due, Math.min(count, SETBACKS_MAX))[0]);
    }
    expect((await takeTurn(run, done)).at(-1)).toEqual(asks(due, 0)[0]);
    expect(run.snapshot().context['lastFailure']).toBeNull();
    await run.stop();
  });

  test('are not changed by news', async () => {
    const run = start(due);
    await run.play(fails('awaitTurn', fault));
    const silent = viewAt('Running', 'silent', { next: 'recovery' });
    expect((await sent(run, news(silent))).at(-1)).toEqual(asks(silent, 1)[0]);
    await run.stop();
  });
});

test('builds the chart from the table of following states', () => {
  const table = STATES.map((state) => [
    state,
    [...FOLLOWERS[state], ...(state === 'Released' ? [] : FROM_ANYWHERE)]
      .filter((each) => each !== state)
      .toSorted(),
  ]);
  expect(Object.fromEntries(table)).toEqual(
    Object.fromEntries(STATES.map((state) => [state, FOLLOWS[state].toSorted()])),
  );
});

test('keeps the chart on one page', () => {
  const { length: nodes } = nodesOf(stand.chart);
  const { length: transitions } = transitionsOf(stand.chart);
  expect({ nodes, transitions }).toEqual({ nodes: 29, transitions: 60 });
});

test('takes every transition of the chart except those of requests', () => {
  expect(stand.missed().filter((name) => !name.startsWith('lifecycle.alive.requests'))).toEqual([]);
});

test('gives no two states a substate of the same name', () => {
  const states = new Map(RESTS.map(({ substate, state }) => [substate, state]));
  for (const { substate, state } of RESTS) expect(states.get(substate)).toBe(state);
});
