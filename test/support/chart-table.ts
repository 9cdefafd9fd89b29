import { createActor, type AnyActorRef, type AnyStateMachine, type EventObject } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  createStage,
  scripted,
  type Effect,
  type Scripts,
  type Shown,
} from '../doubles/scripted-services.ts';
import { advance, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import { testRows } from './rows.ts';

/** What may happen to an actor: a service of it ends, fails or moves, somebody tells it, time passes. */
export type Act =
  | readonly ['ends', service: string, output?: unknown]
  | readonly ['fails', service: string, error: Error]
  | readonly ['shows', service: string, shown: Shown]
  | readonly ['told', event: EventObject]
  /** Not a millisecond sooner. */
  | readonly ['after', ms: number];

/** What a chart does to its world; beside the effects of the scripts: it tells a child something. */
export type Done = Effect | readonly ['tells', child: string, event: EventObject];

/** What must follow, all of it and in this order, and nothing else. */
export interface Follows {
  readonly to: string;
  readonly effects?: readonly Done[];
  /** What it must know then: bits of its context, or of its output at its end. */
  readonly knows?: Readonly<Record<string, unknown>>;
}
export type Rule = Follows & { readonly when: Act };

/** A chart's promises, by hand from the specification and not from the chart. */
export interface ChartTable {
  readonly chart: AnyStateMachine;
  readonly input: unknown;
  /** How each service behaves; what it answers is told by the rules. */
  readonly services: Readonly<Record<string, NonNullable<Scripts[string]['kind']>>>;
  /** Actions that the chart expects to be given. */
  readonly actions?: readonly string[];
  readonly start: Follows;
  /** What happens before it is in a state, by the state; two ways may lead to one (`a`, `a#2`). */
  readonly ways: Readonly<Record<string, readonly Act[]>>;
  /** Everything that may be told from outside; each state has a rule for each of them. */
  readonly events?: readonly string[];
  readonly rules: Readonly<Record<string, readonly Rule[]>>;
  /** Promises about more than one step. */
  readonly stories?: readonly Story[];
  /** Words for a snapshot; the state's name unless given. */
  readonly stateOf?: (snapshot: Snapshot) => string;
}
export interface Story {
  readonly name: string;
  readonly input?: unknown;
  readonly from?: readonly Act[];
  readonly steps: readonly Rule[];
}
interface Snapshot {
  readonly status: string;
  readonly value: unknown;
  readonly tags: ReadonlySet<string>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly output?: unknown;
  readonly children: Readonly<Record<string, AnyActorRef | undefined>>;
}

const HOUR_MS = 3_600_000;

/** Runs every rule of a table on a live actor, whose services and clock the table moves. */
export function tableTests(table: ChartTable): void {
  describe(`${table.chart.id}, by its rules`, () => {
    test('starts as it must', async () => {
      await runStory(table, { name: 'start', steps: [] });
    });
    const rules = Object.entries(table.rules).flatMap(([state, ofState]) =>
      ofState.map((rule) => [state, storyOf(rule.when), rule] as const),
    );
    testRows(rules)('does what the rule says in %s: %s', (state, _, rule) =>
      runStory(table, { name: state, from: table.ways[state]!, steps: [rule] }),
    );
    testRows(Object.keys(table.rules))('has a rule for whatever may happen in %s', (state) =>
      isComplete(table, state),
    );
    test('has rules for every state that it knows a way to', () => {
      expect(Object.keys(table.ways).toSorted()).toEqual(Object.keys(table.rules).toSorted());
    });
    if (table.stories) testRows(table.stories)('in all: $name', (story) => runStory(table, story));
  });
}

const storyOf = (act: Act): string => {
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

function start(table: ChartTable, input: unknown) {
  const theatre = { stage: createStage() };
  const scripts = Object.entries(table.services).map(([src, kind]) => [src, { kind }]);
  const chart = scripted(
    table.chart,
    Object.fromEntries(scripts) as Scripts,
    table.actions ?? [],
    theatre,
  );
  const clock = createSimulatedClock();
  const { stage } = theatre;
  const failures: unknown[] = [];
  const actor: AnyActorRef = createActor(chart, {
    input,
    clock,
    inspect: (seen) => {
      if (seen.type !== '@xstate.event' || seen.sourceRef !== actor || seen.actorRef === actor)
        return;
      if (seen.event.type.startsWith('xstate.')) return;
      const child = (seen.actorRef as AnyActorRef).id;
      (stage.effects as Done[]).push(['tells', child, seen.event]);
    },
  });
  actor.subscribe({ error: (error) => failures.push(error) });
  actor.start();
  const snapshot = () => actor.getSnapshot() as Snapshot;
  const stateOf = table.stateOf ?? (({ value }: Snapshot) => nameOf(value));
  const service = (id: string) => {
    const live = stage.live.get(id);
    if (!live) throw new Error(`the service "${id}" does not run`);
    return live;
  };
  const happens = async (act: Act) => {
    const [kind, what, more] = act;
    if (kind === 'ends') service(what).done(more);
    else if (kind === 'fails') service(what).fail(more);
    else if (kind === 'shows') service(what).show(more);
    else if (kind === 'told') actor.send(what);
    else await advance(clock, what);
    await settled();
  };
  return {
    state: () => stateOf(snapshot()),
    live: () => [...stage.live.keys()],
    happens,
    /** What it did since this was asked last. */
    effects: () => inOrder((stage.effects as Done[]).splice(0)),
    knows: () => {
      const { status, context, output } = snapshot();
      return status === 'done' ? output : context;
    },
    async stop() {
      actor.stop();
      await settled();
      expect(failures, 'crashes of the actor').toEqual([]);
      expect(stage.live.size, 'services left running').toBe(0);
      expect(clock.pending, 'timers left').toBe(0);
    },
  };
}

/**
 * In which order neighbours are stopped, and whether before or after what is done at the same time, is
 * nobody's promise; that they are stopped before anything else is called, is.
 */
function inOrder(effects: readonly Done[]): Done[] {
  const sorted: Done[] = [];
  for (const effect of effects) {
    let at = sorted.length;
    while (effect[0] === 'stops' && goesBefore(effect, sorted[at - 1])) at -= 1;
    sorted.splice(at, 0, effect);
  }
  return sorted;
}

const goesBefore = (stop: Done, other: Done | undefined): boolean =>
  other?.[0] === 'does' || (other?.[0] === 'stops' && String(stop[1]) < String(other[1]));

async function runStory(table: ChartTable, { name, input, from = [], steps }: Story) {
  const run = start(table, input ?? table.input);
  const check = (told: string, { to, effects = [], knows = {} }: Follows) => {
    expect(run.effects(), told).toEqual(inOrder(effects));
    expect(run.state(), told).toBe(to);
    if (Object.keys(knows).length > 0) expect(run.knows(), told).toMatchObject(knows);
  };
  await settled();
  if (input === undefined) check('start', table.start);
  for (const act of from) await run.happens(act);
  if (from.length > 0 && table.ways[name]) expect(run.state()).toBe(name.replace(/#.*/, ''));
  run.effects();
  for (const rule of steps) {
    const told = storyOf(rule.when);
    const [kind, ms] = rule.when;
    if (kind === 'after') {
      const before = run.state();
      await run.happens(['after', ms - 1]);
      check(`${told}: a millisecond before`, { to: before });
      await run.happens(['after', 1]);
    } else await run.happens(rule.when);
    check(told, rule);
  }
  await run.stop();
}

/** Each event, each running service's end and failure, and time have a rule in this state. */
async function isComplete(table: ChartTable, state: string) {
  const run = start(table, table.input);
  await settled();
  for (const act of table.ways[state]!) await run.happens(act);
  run.effects();
  const ruled = new Set(
    table.rules[state]!.map(({ when: [kind, what] }) =>
      kind === 'told' ? what.type : kind === 'after' ? kind : `${kind} ${what}`,
    ),
  );
  const mayHappen = [
    ...(table.events ?? []),
    ...run.live().flatMap((id) => {
      const kind = table.services[id] ?? Object.values(table.services)[0];
      return kind === 'service' ? [`fails ${id}`] : [`ends ${id}`, `fails ${id}`];
    }),
  ];
  expect(mayHappen.filter((each) => !ruled.has(each))).toEqual([]);
  if (!ruled.has('after')) {
    const before = run.state();
    await run.happens(['after', HOUR_MS]);
    expect({ state: run.state(), effects: run.effects() }).toEqual({ state: before, effects: [] });
  }
  await run.stop();
}
