import type { EventObject } from 'xstate';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Unreachable } from '../../src/domain/errors.ts';
import { machineId } from '../../src/domain/ids.ts';
import { STATES, type MachineView, type NextWork } from '../../src/domain/view.ts';
import { leafOf } from '../../src/machines/leaf.ts';
import { mayRest, nodesOf } from '../support/chart-map.ts';
import { SLOT } from '../support/facts.ts';
import { effectsOf, ends, fails, news, shows } from '../support/happenings.ts';
import { createStand, type Run } from '../support/replay.ts';
import type { Effect } from '../doubles/scripted-slots.ts';
import { viewAt } from '../support/views.ts';
import {
  FOLLOWS,
  RESTS,
  SETBACKS_MAX,
  TASKS,
  type Rest,
  type TaskOfOurs,
} from './lifecycle.table.ts';
import { begunBy, restOf } from './lifecycle.truth.ts';
import { JOB, lifecycleSubject } from './subjects.ts';

/** The table of `lifecycle.table.ts`, line by line on live actors: where each comes to be, and all it does. */

const stand = createStand(lifecycleSubject);
const start = (view: MachineView): Run => stand.start({ view });
const viewOf = ({ state, substate, next }: Rest) => viewAt(state, substate, { next });
const nameOf = ({ state, substate, next }: Rest) =>
  `${state} ${substate}${next ? `, due for ${next}` : ''}`;
const LINES = RESTS.map((rest) => [nameOf(rest), rest] as const);

const place = (run: Run) => ({
  ...leafOf(run.snapshot()),
  isOurs: run.snapshot().tags.has('busy'),
});
const settledAt = (view: MachineView) => ({
  state: view.state,
  substate: restOf(view).shown,
  isOurs: false,
});
const at = ({ state }: TaskOfOurs, step: string) => ({ state, substate: step, isOurs: true });

const asks = ({ next }: MachineView, setbacks = 0): Effect[] => [
  ['calls', 'awaitTurn', { slot: SLOT, next, setbacks }],
];
/** What an actor does that comes to rest with this view. */
const settles = (view: MachineView, setbacks = 0): Effect[] =>
  restOf(view).waits ? asks(view, setbacks) : [];
const TURN_ENDED: Effect = ['does', 'endTurn', { slot: SLOT }];

const played = (run: Run, event: EventObject) => effectsOf(run, () => run.play(event));
const sent = (run: Run, event: EventObject) => effectsOf(run, () => run.send(event));

const ANOTHER_TENANCY = machineId('aaaaaaaa-0000-4000-8000-000000000002');
const fault = new Unreachable('scripted fault');
const FAULT = { code: 'unreachable', message: fault.message };

/** Words of slots that came too late, for everything that does not run. */
const lateFor = (run: Run): EventObject[] =>
  ['awaitTurn', 'settleRequest', ...TASKS.map(({ slot }) => slot)]
    .filter((slot) => !run.stage.live.has(slot))
    .flatMap((slot) => [
      ends(slot, {
        outcome: 'done',
        failure: null,
        view: viewAt('Running', 'healthy'),
        key: 'request-1',
        settled: true,
      }),
      shows(slot, 'recording'),
    ]);

// XState warns of every event that reaches an actor at its end; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

describe.each(LINES)('%s', (_, from) => {
  const view = viewOf(from);

  test('an actor that begins with it is there, and waits for a turn where it may have work', async () => {
    for (const each of [view, { ...view, holds: ['no-recover' as const] }]) {
      const run = start(each);
      expect(place(run)).toEqual(settledAt(view));
      expect(run.stage.effects).toEqual(settles(view));
      await run.stop();
    }
  });

  test('news lead where they say, and leaps are counted', async () => {
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

  test('news that change none of place, due work and tenancy leave everything as it is', async () => {
    const run = start(view);
    const same: MachineView = { ...view, reason: 'because', lastHeartbeatAtMs: 1, dueAtMs: 2 };
    expect(await sent(run, news(same))).toEqual([]);
    if (from.state !== 'Released') expect(run.snapshot().context['view']).toEqual(same);
    expect(place(run)).toEqual(settledAt(view));
    await run.stop();
  });

  test('words of slots that do not run are not heard', async () => {
    const run = start(view);
    for (const late of lateFor(run)) {
      expect(await sent(run, late), late.type).toEqual([]);
      expect(place(run), late.type).toEqual(settledAt(view));
    }
    await run.stop();
  });
});

/** All that an actor does when news lead it from one place to another. */
function followsOf(from: MachineView, to: MachineView): Effect[] {
  const isSame =
    restOf(from) === restOf(to) && from.machineId === to.machineId && from.next === to.next;
  if (isSame) return [];
  const isLeap = from.state !== to.state && !FOLLOWS[from.state].includes(to.state);
  return [
    ...(isLeap ? [['does', 'countLeap', { view: to }] as const] : []),
    ...(restOf(from).waits ? [['stops', 'awaitTurn'] as const] : []),
    ...settles(to),
  ];
}

const DUE: readonly NextWork[] = [null, 'agentStart', 'recovery', 'deprovision'];
/** Where a turn is awaited whatever is due, with work that fits and with work that must not begin. */
const WAITING = RESTS.filter(({ waits, next }) => waits && next === null)
  .flatMap((rest) => DUE.map((next) => ({ ...viewOf(rest), next })))
  .concat(RESTS.filter(({ shown }) => shown === 'ordered').map(viewOf))
  .flatMap((view) => [view, { ...view, machineId: null }])
  .filter((view) => view.machineId !== null || restWaits(view));

function restWaits({ state, substate }: MachineView): boolean {
  return RESTS.some(
    (each) => each.state === state && each.substate === substate && each.waits && !each.next,
  );
}

describe.each(
  WAITING.map((view) => {
    const due = `due for ${String(view.next)}${view.machineId ? '' : ', without a machine'}`;
    return [`${view.state} ${view.substate}, ${due}`, view] as const;
  }),
)('a turn in %s', (_, view) => {
  test('begins the work that is due there, and is given back where none is', async () => {
    const run = start(view);
    const before = place(run);
    expect(run.stage.effects).toEqual(asks(view));
    const effects = await played(run, ends('awaitTurn'));
    const task = begunBy(view);
    if (task) {
      expect(effects).toEqual([['calls', task.slot, JOB]]);
      expect(place(run)).toEqual(at(task, 'claiming'));
    } else {
      expect(effects).toEqual([TURN_ENDED, ...asks(view)]);
      expect(place(run)).toEqual(before);
    }
    await run.stop();
  });

  test('that could not be awaited is a setback, and is awaited anew', async () => {
    const run = start(view);
    const before = place(run);
    expect(await played(run, fails('awaitTurn', fault))).toEqual(asks(view, 1));
    expect(place(run)).toEqual(before);
    expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
    await run.stop();
  });
});

describe.each(
  TASKS.flatMap((task) => {
    const doors = RESTS.filter(({ state, next }) => next === task.due && task.from.includes(state));
    return doors.map((door) => [`${task.slot}, begun in ${nameOf(door)}`, task, door] as const);
  }),
)('%s', (_, task, door) => {
  const begin = async (): Promise<Run> => {
    const run = start(viewOf(door));
    await run.play(ends('awaitTurn'));
    return run;
  };
  const result = (outcome: string, view: MachineView | null) =>
    ends(task.slot, { outcome, failure: outcome === 'done' ? null : FAULT, view });

  test('shows each of its steps, whichever came before, and knows no others', async () => {
    const steps = task.steps.slice(1);
    for (const before of steps) {
      const run = await begin();
      for (const step of steps) {
        // A step may have steps of its own.
        await run.play(shows(task.slot, { [before]: 'within' }));
        expect(place(run)).toEqual(at(task, before));
        expect(await played(run, shows(task.slot, step))).toEqual([]);
        expect(place(run)).toEqual(at(task, step));
        for (const closing of ['givingUp', 'rereading']) {
          await run.play(shows(task.slot, closing));
          expect(place(run)).toEqual(at(task, step));
        }
      }
      await run.stop();
    }
  });

  test('no news interrupt it, and the last of them decide where nothing better is known', async () => {
    const run = await begin();
    for (const view of RESTS.map(viewOf)) {
      expect(await sent(run, news(view))).toEqual([]);
      expect(place(run)).toEqual(at(task, 'claiming'));
      expect(run.snapshot().context['view']).toEqual(view);
    }
    const last = viewAt('Running', 'silent', { next: 'recovery' });
    await run.send(news(last));
    expect(await played(run, result('failed', null))).toEqual([TURN_ENDED, ...asks(last, 1)]);
    await run.stop();
  });

  test('words of slots that do not run are not heard', async () => {
    const run = await begin();
    for (const late of lateFor(run)) expect(await sent(run, late), late.type).toEqual([]);
    expect(place(run)).toEqual(at(task, 'claiming'));
    await run.stop();
  });

  test('done: its turn ends, and the machine is where the rows now say', async () => {
    for (const view of RESTS.map(viewOf)) {
      const run = await begin();
      expect(await played(run, result('done', view))).toEqual([TURN_ENDED, ...settles(view)]);
      expect(place(run)).toEqual(settledAt(view));
      expect(run.snapshot().context).toMatchObject({ view, lastFailure: null, setbacks: 0 });
      await run.stop();
    }
  });

  test.each(['failed', 'refused'])('%s: the same, and a setback', async (outcome) => {
    for (const view of [viewOf(door), viewAt('Quarantined', 'needsHuman')]) {
      const run = await begin();
      const effects = await played(run, result(outcome, view));
      expect(effects).toEqual([TURN_ENDED, ...settles(view, 1)]);
      expect(place(run)).toEqual(settledAt(view));
      expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
      await run.stop();
    }
  });

  test('crashed: its turn ends, and the machine is where it was last seen', async () => {
    const run = await begin();
    const view = viewOf(door);
    expect(await played(run, fails(task.slot, fault))).toEqual([TURN_ENDED, ...asks(view, 1)]);
    expect(place(run)).toEqual(settledAt(view));
    expect(run.snapshot().context).toMatchObject({ view, lastFailure: FAULT, setbacks: 1 });
    await run.stop();
  });
});

describe('setbacks in a row', () => {
  const due = viewAt('Provisioned', 'waiting', { next: 'agentStart' });
  const { slot } = TASKS.find((task) => task.due === 'agentStart')!;
  const refused = ends(slot, { outcome: 'refused', failure: FAULT, view: due });
  const done = ends(slot, { outcome: 'done', failure: null, view: due });
  const takeTurn = async (run: Run, event: EventObject) => {
    await run.play(ends('awaitTurn'));
    return played(run, event);
  };

  test.each([
    ['refused', (run: Run) => takeTurn(run, refused)],
    ['crashed', (run: Run) => takeTurn(run, fails(slot, fault))],
    ['not awaited', (run: Run) => played(run, fails('awaitTurn', fault))],
  ])('%s: each counts, up to a limit; a success forgets them', async (_, again) => {
    const run = start(due);
    for (let count = 1; count <= SETBACKS_MAX + 2; count += 1) {
      expect((await again(run)).at(-1)).toEqual(asks(due, Math.min(count, SETBACKS_MAX))[0]);
    }
    expect((await takeTurn(run, done)).at(-1)).toEqual(asks(due, 0)[0]);
    expect(run.snapshot().context['lastFailure']).toBeNull();
    await run.stop();
  });

  test('news change nothing of them', async () => {
    const run = start(due);
    await run.play(fails('awaitTurn', fault));
    const silent = viewAt('Running', 'silent', { next: 'recovery' });
    expect((await sent(run, news(silent))).at(-1)).toEqual(asks(silent, 1)[0]);
    await run.stop();
  });
});

test('the table speaks of all the chart has', () => {
  const shown = RESTS.map(({ state, shown: leaf }) => `${state} ${leaf}`);
  const steps = TASKS.flatMap((task) => task.steps.map((step) => `${task.state} ours ${step}`));
  const leaves = nodesOf(stand.chart).filter(
    (node) => node.path[0] === 'life' && node.key !== 'resyncing' && mayRest(node),
  );
  expect(new Set([...shown, ...steps].map((each) => each.trim()))).toEqual(
    new Set(leaves.map(({ path }) => path.slice(1).join(' '))),
  );
  expect(Object.keys(FOLLOWS)).toEqual([...STATES]);
});

test('no two states have a substate of one name', () => {
  const states = new Map(RESTS.map(({ substate, state }) => [substate, state]));
  for (const { substate, state } of RESTS) expect(states.get(substate)).toBe(state);
});
