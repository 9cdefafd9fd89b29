import type { AnyStateNode, EventObject } from 'xstate';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { leafOf } from '../../src/machines/leaf.ts';
import { STATES, type MachineState } from '../../src/domain/view.ts';
import { mayRest, nameOf, nodesOf, transitionsOf, within } from '../support/chart-map.ts';
import { explore, eventsAt, type Path, type Run } from '../support/replay.ts';
import { VIEWS, viewAt } from '../support/views.ts';
import { lifecycleSubject } from './subjects.ts';

/**
 * Written by hand, from the life of a machine and not from the chart: one state must never lead
 * straight to the other. News of such a leap go by `resyncing`, which counts them.
 */
const FORBIDDEN: Readonly<Record<MachineState, readonly MachineState[]>> = {
  Reserved: ['AgentStarting', 'Running', 'Recovering', 'HandedOver', 'Deprovisioning'],
  Provisioned: ['Reserved', 'Running', 'Released'],
  AgentStarting: ['Reserved', 'Recovering', 'HandedOver', 'Released'],
  Running: ['Reserved', 'Provisioned', 'AgentStarting', 'Released'],
  Recovering: ['Reserved', 'AgentStarting', 'HandedOver', 'Released'],
  HandedOver: ['Reserved', 'AgentStarting', 'Recovering', 'Released'],
  Quarantined: ['AgentStarting', 'Recovering'],
  Deprovisioning: ['Provisioned', 'AgentStarting', 'Running', 'Recovering', 'HandedOver'],
  Released: STATES,
};

/** The only doors to a task of ours: the state that waits, and the event that opens it. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'AgentStarting.ours': ['Provisioned.waiting'],
  'Recovering.ours': [
    ...['Provisioned.ordered', 'Provisioned.waiting', 'Recovering.coolingDown'],
    ...['Running.ordered', 'Running.silent'],
  ],
  'Deprovisioning.ours': ['Deprovisioning.cleaning', 'Deprovisioning.deleting'],
};
const TURN_GRANTED = 'xstate.done.actor.awaitTurn';

const explored = explore(lifecycleSubject);
const { chart } = explored;
const nodeOf = (name: string): AnyStateNode => {
  const node = nodesOf(chart).find(({ path }) => path.join('.') === `life.${name}`);
  if (!node) throw new Error(`the chart has no "${name}"`);
  return node;
};
const nameIn = (node: AnyStateNode) => node.path.slice(1).join('.');
const life = chart.root.states['life']!;
const leaves = nodesOf(chart).filter(
  (node) => within(node, life) && mayRest(node) && node.key !== 'resyncing',
);

describe("the chart's own table", () => {
  const pairs = STATES.flatMap((from) => FORBIDDEN[from].map((to) => [from, to] as const));

  test.each(pairs)('%s never leads straight to %s', (from, to) => {
    const straight = transitionsOf(chart).filter(
      ({ source, target }) =>
        within(source, nodeOf(from)) && target?.some((node) => within(node, nodeOf(to))),
    );
    expect(straight.map(nameOf)).toEqual([]);
  });

  test.each(Object.entries(DOORS))('%s is entered by a granted turn alone', (task, doors) => {
    const entries = transitionsOf(chart).filter(
      ({ source, target }) =>
        !within(source, nodeOf(task)) && target?.some((node) => within(node, nodeOf(task))),
    );
    expect(entries.map(({ source }) => nameIn(source)).toSorted()).toEqual(doors.toSorted());
    expect(new Set(entries.map(({ eventType }) => eventType))).toEqual(new Set([TURN_GRANTED]));
  });

  test.each(Object.keys(DOORS))('no news leave %s', (task) => {
    const byNews = transitionsOf(chart).filter(
      ({ source, eventType }) =>
        eventType === 'machine.observed' && [nodeOf(task), nodeOf(task).parent].includes(source),
    );
    expect(byNews).toHaveLength(1);
    expect(byNews[0]?.target).toBeUndefined();
  });

  test('nothing leaves Released', () => {
    const exits = transitionsOf(chart).filter(({ source }) => within(source, nodeOf('Released')));
    expect(exits).toEqual([]);
  });
});

/** Late words of slots. (A late error would end any actor; XState relays none of a stopped child.) */
const STRAY: readonly EventObject[] = ['awaitTurn', 'takeover', 'recovery', 'deprovision'].flatMap(
  (id) => [
    { type: `xstate.done.actor.${id}`, actorId: id, output: stray() },
    { type: `xstate.snapshot.${id}`, snapshot: { value: 'recording' } },
  ],
);

function stray() {
  return { outcome: 'done', failure: null, view: viewAt('Running', 'healthy') };
}

describe.each(leaves.map(nameIn))('a live actor in %s', (leaf) => {
  const paths = waysTo(leaf);

  // XState warns of every event that reaches an actor at its end; here that is the point.
  beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));
  afterEach(() => void vi.restoreAllMocks());

  test('can be brought there', () => {
    expect(paths.length).toBeGreaterThan(0);
  });

  test('makes no forbidden move, whatever it is told', async () => {
    for (const path of paths) {
      for (const event of everyEvent(path)) {
        const run = await explored.reach(path);
        await tellAndJudge(run, event);
        await run.stop();
      }
    }
  });
});

async function tellAndJudge(run: Run, event: EventObject) {
  const before = leafOf(run.snapshot())!;
  const wasOurs = isOurs(run);
  const runs = new Set(run.stage.live.keys());
  const leaps = run.stage.acted.filter((name) => name === 'countLeap').length;
  await run.send(event);
  const after = leafOf(run.snapshot())!;
  const story = `${before.state}.${before.substate} told ${event.type} → ${after.state}`;
  const leapt = run.taken.some(({ target }) => target?.some(({ id }) => id === 'resyncing'));
  const moved = after.state !== before.state;
  if (moved && FORBIDDEN[before.state].includes(after.state)) expect(leapt, story).toBe(true);
  if (event.type === 'machine.observed') {
    const counted = run.stage.acted.filter((name) => name === 'countLeap').length - leaps;
    expect(counted, story).toBe(leapt ? 1 : 0);
    expect(isOurs(run), `${story}: news never begin nor end a task`).toBe(wasOurs);
    return;
  }
  const [, id = ''] = /^xstate\.\w+\.(?:actor\.)?(.+)$/.exec(event.type) ?? [];
  if (!runs.has(id)) expect(after, `${story}: the slot does not run`).toEqual(before);
  if (isOurs(run) && !wasOurs) expect(event.type, story).toBe(TURN_GRANTED);
}

const isOurs = (run: Run) => run.snapshot()._nodes.some(({ key }) => key === 'ours');

/** Everything the model knows to happen there, all views there are, and stray ends of slots. */
function everyEvent(path: Path): EventObject[] {
  const { snapshot } = path.steps.at(-1) ?? { snapshot: path.initial };
  const news = VIEWS.map((view) => ({ type: 'machine.observed', view }));
  const own = eventsAt(snapshot, { ...lifecycleSubject, events: () => [] });
  return [...news, ...own, ...STRAY];
}

/** A shortest path to the leaf for each work that may be due there. */
function waysTo(leaf: string): Path[] {
  const ways = new Map<unknown, Path>();
  for (const path of explored.paths) {
    const { snapshot } = path.steps.at(-1) ?? { snapshot: path.initial };
    if (!snapshot._nodes.some((node) => within(node, life) && nameIn(node) === leaf)) continue;
    const { next } = snapshot.context['view'] as { next: unknown };
    const known = ways.get(next);
    if (!known || known.steps.length > path.steps.length) ways.set(next, path);
  }
  return [...ways.values()];
}

test('the table speaks of the chart', () => {
  expect(Object.keys(life.states).filter((name) => name !== 'resyncing')).toEqual([...STATES]);
  expect(Object.keys(FORBIDDEN)).toEqual([...STATES]);
});
