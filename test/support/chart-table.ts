import type { AnyStateMachine, EventObject } from 'xstate';
import { describe, expect, test } from 'vitest';
import type { ChartEffect, Scripts, ChildSnapshot } from '../doubles/scripted-services.ts';
import { createStand, type ChartSnapshot, type ChartRun, type ChartStand } from './chart-run.ts';
import { ends, fails, shows } from './happenings.ts';
import { testRows } from './rows.ts';

/**
 * What may happen to an actor: its service ends, fails or moves, an event arrives, or time passes.
 */
export type ChartAct =
  | readonly ['ends', service: string, output?: unknown]
  | readonly ['fails', service: string, error: Error]
  | readonly ['shows', service: string, shown: ChildSnapshot]
  | readonly ['told', event: EventObject]
  /** Not a millisecond earlier. */
  | readonly ['after', ms: number];

export type ChartOutcome = ChartEffect;

/** Exactly what must follow, in this order, and nothing else. */
export interface Follows {
  readonly to: string;
  readonly effects?: readonly ChartOutcome[];
  /** Parts of its context at that time, or of its output at its end. */
  readonly knows?: Readonly<Record<string, unknown>>;
}
export type ChartRule = Follows & { readonly when: ChartAct };

/** One rule, usually on one line. */
export const on = (
  when: ChartAct,
  to: string,
  effects: readonly ChartOutcome[] = [],
  knows?: Follows['knows'],
): ChartRule => ({ when, to, effects, ...(knows && { knows }) });

/** A chart's promises, written by hand from the specification and not from the chart. */
export interface ChartTable {
  readonly chart: AnyStateMachine;
  readonly input: unknown;
  /** How each service behaves. The rules supply its answers. */
  readonly services: Scripts;
  /** Actions that the chart expects from its caller. */
  readonly actions?: readonly string[];
  readonly start: Follows;
  /** Events that lead to a state, by state. Two ways may lead to one state (`a`, `a#2`). */
  readonly ways: Readonly<Record<string, readonly ChartAct[]>>;
  /** Every event that may arrive from outside. Each state has a rule for each of them. */
  readonly events?: readonly string[];
  readonly rules: Readonly<Record<string, readonly ChartRule[]>>;
  /** Promises about several steps. */
  readonly stories?: readonly Story[];
  /** Names a snapshot; the default is the state's name. */
  readonly stateOf?: (snapshot: ChartSnapshot) => string;
}
export interface Story {
  readonly name: string;
  readonly input?: unknown;
  readonly from?: readonly ChartAct[];
  readonly steps: readonly ChartRule[];
}
const HOUR_MS = 3_600_000;

/** Runs every rule of a table on a live actor, and moves its services and clock. */
export function tableTests(table: ChartTable): void {
  const stand = createStand(table);
  describe(`${table.chart.id}, by its rules`, () => {
    test('starts as its rule says', async () => {
      await runStory(stand, table, { name: 'start', steps: [] });
    });
    const rules = Object.entries(table.rules).flatMap(([state, ofState]) =>
      ofState.map((rule) => [state, storyOf(rule.when), rule] as const),
    );
    testRows(rules)('follows its rule in %s: %s', (state, _, rule) =>
      runStory(stand, table, { name: state, from: table.ways[state]!, steps: [rule] }),
    );
    testRows(Object.keys(table.rules))('has a rule for everything that may happen in %s', (state) =>
      isComplete(stand, table, state),
    );
    test('has rules for every state with a known way', () => {
      expect(Object.keys(table.ways).toSorted()).toEqual(Object.keys(table.rules).toSorted());
    });
    if (table.stories)
      testRows(table.stories)('follows the story: $name', (story) => runStory(stand, table, story));
    test('takes every transition of the chart', () => {
      expect(stand.missed()).toEqual([]);
    });
  });
}

const storyOf = (act: ChartAct): string => {
  const [kind, what, more] = act;
  if (kind === 'told') return what.type;
  if (kind === 'after') return `after ${what} ms`;
  return `${what} ${kind} ${more instanceof Error ? more.name : (JSON.stringify(more) ?? '')}`;
};

const nameOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value as object)
        .map(([name, inner]) => `${name}.${nameOf(inner)}`)
        .join(' & ');

const stateIn = ({ stateOf = ({ value }) => nameOf(value) }: ChartTable, run: ChartRun): string =>
  stateOf(run.snapshot());

const knownIn = (run: ChartRun) => {
  const { status, context, output } = run.snapshot();
  return status === 'done' ? output : context;
};

function happens(run: ChartRun, act: ChartAct): Promise<void> {
  const [kind, what, more] = act;
  if (kind === 'after') return run.wait(what);
  if (kind === 'told') return run.play(what);
  if (kind === 'shows') return run.play(shows(what, more));
  return run.play(kind === 'ends' ? ends(what, more) : fails(what, more));
}

/**
 * The order in which neighbours stop, and their order with simultaneous effects, is not promised.
 * But they stop before anything else is called.
 */
function inOrder(effects: readonly ChartOutcome[]): ChartOutcome[] {
  const sorted: ChartOutcome[] = [];
  for (const effect of effects) {
    let at = sorted.length;
    while (effect[0] === 'stops' && goesBefore(effect, sorted[at - 1])) at -= 1;
    sorted.splice(at, 0, effect);
  }
  return sorted;
}

const goesBefore = (stop: ChartOutcome, other: ChartOutcome | undefined): boolean =>
  other?.[0] === 'does' || (other?.[0] === 'stops' && String(stop[1]) < String(other[1]));

async function runStory(stand: ChartStand, table: ChartTable, story: Story) {
  const { name, input, from = [], steps } = story;
  const run = stand.start(input);
  const check = (told: string, { to, effects = [], knows = {} }: Follows) => {
    expect(inOrder(run.effects()), told).toEqual(inOrder(effects));
    expect(stateIn(table, run), told).toBe(to);
    if (Object.keys(knows).length > 0) expect(knownIn(run), told).toMatchObject(knows);
  };
  await run.wait(0);
  if (input === undefined) check('start', table.start);
  for (const act of from) await happens(run, act);
  if (from.length > 0 && table.ways[name])
    expect(stateIn(table, run)).toBe(name.replace(/#.*/, ''));
  run.effects();
  for (const rule of steps) {
    const told = storyOf(rule.when);
    const [kind, ms] = rule.when;
    if (kind === 'after') {
      const before = stateIn(table, run);
      await run.wait(ms - 1);
      check(`${told}: a millisecond before`, { to: before });
      await run.wait(1);
    } else await happens(run, rule.when);
    check(told, rule);
  }
  await run.stop();
}

/** Checks that time, each event and each running service's end and failure have a rule here. */
async function isComplete(stand: ChartStand, table: ChartTable, state: string) {
  const run = stand.start();
  await run.wait(0);
  for (const act of table.ways[state]!) await happens(run, act);
  run.effects();
  const ruled = new Set(
    table.rules[state]!.map(({ when: [kind, what] }) =>
      kind === 'told' ? what.type : kind === 'after' ? kind : `${kind} ${what}`,
    ),
  );
  const mayHappen = [
    ...(table.events ?? []),
    ...[...run.stage.live.keys()].flatMap((id) => {
      const kind = table.services[id] ?? Object.values(table.services)[0];
      return kind === 'service' ? [`fails ${id}`] : [`ends ${id}`, `fails ${id}`];
    }),
  ];
  expect(mayHappen.filter((each) => !ruled.has(each))).toEqual([]);
  if (!ruled.has('after')) {
    const before = stateIn(table, run);
    await run.wait(HOUR_MS);
    expect({ state: stateIn(table, run), effects: run.effects() }).toEqual({
      state: before,
      effects: [],
    });
  }
  await run.stop();
}
