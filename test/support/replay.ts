import { getAdjacencyMap, getShortestPaths } from '@xstate/graph';
import { createActor } from 'xstate';
import type { AnyActorRef, AnyStateMachine, AnyTransitionDefinition, EventObject } from 'xstate';
import { expect } from 'vitest';
import { mayRest, nameOf, nodesOf, transitionsOf } from './chart-map.ts';
import { scripted, shownSnapshot, createStage } from '../doubles/scripted-services.ts';
import type { Scripts, Shown, Stage, Theatre } from '../doubles/scripted-services.ts';
import { createSimulatedClock, settled, type VirtualClock } from '../doubles/simulated-clock.ts';

type StateNodes = ReturnType<typeof nodesOf>;

/** A snapshot of any chart, as far as the replay looks at it. */
export interface ChartSnapshot {
  readonly status: string;
  readonly value: unknown;
  readonly tags: ReadonlySet<string>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly children: Readonly<Record<string, AnyActorRef | undefined>>;
  readonly _nodes: StateNodes;
}

/** A shipped chart, and the world in which all of it can be seen. */
export interface Subject {
  readonly chart: AnyStateMachine;
  readonly input: unknown;
  /** Events from outside that may come now; those of services and timers are known already. */
  readonly events?: (snapshot: ChartSnapshot) => readonly EventObject[];
  readonly services: Scripts;
  /** Actions that `provide` must fill; recorded instead. */
  readonly actions?: readonly string[];
  /** The bits of context that guards depend on: states that differ in them are explored apart. */
  readonly keyOf?: (snapshot: ChartSnapshot) => unknown;
  /** Nodes whose guards cover every case, so that nothing rests there. */
  readonly transient?: readonly string[];
  /** What must be true after each step. */
  readonly truth?: Truth;
}

/** What must be true of an actor, worked out from what happened to it and never from its chart. */
export interface Truth {
  /** What a live actor has to show after these events. */
  expected(input: unknown, events: readonly EventObject[]): unknown;
  /** The same of a live actor. */
  seen(run: Run): unknown;
}

export interface Step {
  readonly event: EventObject;
  readonly snapshot: ChartSnapshot;
}
/** From the initial state; the last step is the transition that the path is about. */
export interface Path {
  readonly initial: ChartSnapshot;
  readonly steps: readonly Step[];
}

export interface Explored {
  readonly chart: AnyStateMachine;
  readonly paths: readonly Path[];
  /** Runs one path on a live actor. @throws when the actor and the model part. */
  replay(path: Path): Promise<void>;
  /** A live actor at the end of a path; the caller stops it. */
  reach(path: Path): Promise<Run>;
  /** The report; throws with the names of everything that the replayed paths did not cover. */
  report(): string;
}

/** A chart in its scripted world, of which live actors can be started one after the other. */
export interface Stand {
  readonly chart: AnyStateMachine;
  /** With the input of the subject unless another is given; the caller stops it. */
  start(input?: unknown): Run;
}

export function createStand(subject: Subject): Stand {
  const theatre: Theatre = { stage: createStage() };
  const chart = scripted(subject.chart, subject.services, subject.actions ?? [], theatre);
  return {
    chart,
    start: (input = subject.input) => startRun(chart, input, (theatre.stage = createStage())),
  };
}

/** Finds a path to every state and over every transition that the scripted world allows. */
export function explore(subject: Subject): Explored {
  const { chart, start } = createStand(subject);
  const taken = new Set<AnyTransitionDefinition>();
  const rested = new Set<string>();
  const paths = pathsOf(chart, subject);
  let replayed = 0;
  return {
    chart,
    paths,
    async replay(path) {
      const run = start();
      await replayOn(run, subject, path, (transitions, nodes) => {
        for (const transition of transitions) taken.add(transition);
        for (const node of nodes) rested.add(node.id);
      });
      await run.stop();
      replayed += 1;
    },
    async reach(path) {
      const run = start();
      for (const { event } of path.steps) await run.play(event);
      return run;
    },
    report() {
      expect(replayed, 'replayed paths').toBe(paths.length);
      const all = transitionsOf(chart);
      const rests = nodesOf(chart).filter(
        (node) => mayRest(node) && !subject.transient?.includes(node.id),
      );
      const missed = [
        ...rests.filter((node) => !rested.has(node.id)).map((node) => `at rest in ${node.id}`),
        ...all.filter((transition) => !taken.has(transition)).map(nameOf),
      ];
      if (missed.length > 0) throw new Error(`not covered:\n${missed.join('\n')}`);
      for (const id of subject.transient ?? []) expect(rested).not.toContain(id);
      const crossed = all.filter((transition) => taken.has(transition)).length;
      return [
        `${chart.id}: ${paths.length} paths`,
        `${rests.filter((node) => rested.has(node.id)).length} states`,
        `${crossed} of ${all.length} transitions`,
      ].join(', ');
    },
  };
}

/** Shortest paths to every state, each prolonged by every transition that leaves from there. */
function pathsOf(chart: AnyStateMachine, subject: Subject): Path[] {
  const options = {
    input: subject.input,
    events: ((snapshot: ChartSnapshot) => eventsAt(snapshot, subject)) as never,
    serializeState: ((snapshot: ChartSnapshot) => keyOf(snapshot, subject)) as never,
    serializeEvent: ((event: EventObject) => labelOf(event)) as never,
    limit: 200_000,
  };
  const states = getAdjacencyMap(chart, options as never);
  const known = new Set<string>();
  const paths: Path[] = [];
  for (const { state, steps } of getShortestPaths(chart, options as never)) {
    const from = state as unknown as ChartSnapshot;
    const way = steps.map(({ state: at, event }) => ({
      snapshot: at as unknown as ChartSnapshot,
      event: event as EventObject,
    }));
    const exits = Object.values(states[keyOf(from, subject) as never]?.transitions ?? {});
    for (const { event, state: next } of exits) {
      const to = next as unknown as ChartSnapshot;
      const key = [
        JSON.stringify(from.value),
        ...takenBy(chart, from, event),
        JSON.stringify(to.value),
      ].join(' | ');
      if (known.has(key)) continue;
      known.add(key);
      paths.push({ initial: way[0]!.snapshot, steps: [...way.slice(1), { event, snapshot: to }] });
    }
  }
  return paths;
}

const takenBy = (chart: AnyStateMachine, from: ChartSnapshot, event: EventObject): string[] =>
  chart.getTransitionData(from as never, event as never).map(nameOf);

const keyOf = (snapshot: ChartSnapshot, { keyOf: bits }: Subject): string =>
  JSON.stringify([snapshot.status, snapshot.value, bits?.(snapshot) ?? null]);

/** Same text, same event; an error is known by its name and message. */
const labelOf = (event: EventObject): string =>
  JSON.stringify(event, (_, value: unknown) =>
    value instanceof Error ? `${value.name}: ${value.message}` : value,
  );

/** Everything that may happen next: news, timers, and what the running services may do. */
export function eventsAt(snapshot: ChartSnapshot, { events, services }: Subject): EventObject[] {
  if (snapshot.status !== 'active') return [];
  const timers = snapshot._nodes.flatMap((node) =>
    [...node.transitions.keys()].filter(isDelayed).map((type) => ({ type: String(type) })),
  );
  const children = Object.entries(snapshot.children).flatMap(([id, child]) => {
    const script = services[String(child?.src)];
    if (!script) throw new Error(`no script for the service "${String(child?.src)}"`);
    return [
      ...(script.shows ?? []).map((shown) => shows(id, shown)),
      ...(script.done ?? []).map((output) => ({
        type: `xstate.done.actor.${id}`,
        actorId: id,
        output,
      })),
      ...(script.errors ?? []).map((error) => ({
        type: `xstate.error.actor.${id}`,
        actorId: id,
        error,
      })),
    ];
  });
  return [...(events?.(snapshot) ?? []), ...timers, ...children];
}

const isDelayed = (type: string) => type.startsWith('xstate.after.');
const shows = (id: string, shown: Shown) => ({
  type: `xstate.snapshot.${id}`,
  snapshot: shownSnapshot(shown),
});

type Witnessed = (transitions: readonly AnyTransitionDefinition[], nodes: StateNodes) => void;

/** A live actor of a chart in a scripted world. */
export interface Run {
  snapshot(): ChartSnapshot;
  readonly stage: Stage;
  /** Transitions taken since the last `play`. */
  readonly taken: readonly AnyTransitionDefinition[];
  /** Makes an event of the model happen for real, and lets everything settle. */
  play(event: EventObject): Promise<void>;
  /** Sends any event as it is, whether or not its service runs. */
  send(event: EventObject): Promise<void>;
  /** Lets time pass, and everything settle that falls due in it. */
  wait(timeMs: number): Promise<void>;
  /** Ends the actor. @throws when it failed, or left a service or a timer behind. */
  stop(): Promise<void>;
}

function startRun(chart: AnyStateMachine, input: unknown, stage: Stage): Run {
  const clock = createSimulatedClock();
  const seen: string[] = [];
  const taken: AnyTransitionDefinition[] = [];
  const failures: unknown[] = [];
  const actor = createActor(chart, {
    input,
    clock,
    inspect: (inspection) => {
      if ((inspection.actorRef as AnyActorRef)._parent) return;
      if (inspection.type === '@xstate.event') seen.push(inspection.event.type);
      if (inspection.type === '@xstate.microstep') taken.push(...inspection._transitions);
    },
  });
  actor.subscribe({ error: (error) => failures.push(error) });
  actor.start();
  const during = async (act: () => void) => {
    seen.length = 0;
    taken.length = 0;
    act();
    await settled();
    expect(failures, 'crashes of the actor').toEqual([]);
  };
  return {
    snapshot: () => actor.getSnapshot(),
    stage,
    taken,
    async play(event) {
      await during(() => play(event, { actor, clock, stage }));
      expect(seen).toContain(event.type);
    },
    send: (event) => during(() => actor.send(event)),
    wait: (timeMs) => during(() => clock.increment(timeMs)),
    async stop() {
      actor.stop();
      await settled();
      expect(failures, 'crashes of the actor').toEqual([]);
      expect([...stage.live.keys()], 'services left running').toEqual([]);
      expect(clock.pending, 'timers left').toBe(0);
    },
  };
}

async function replayOn(run: Run, subject: Subject, path: Path, witnessed: Witnessed) {
  const agree = (model: ChartSnapshot, story: string) => {
    const live = run.snapshot();
    expect(keyOf(live, subject), story).toBe(keyOf(model, subject));
    // Regions of a parallel state begin their services in an order of their own.
    expect(childrenOf(live), story).toEqual(childrenOf(model));
    witnessed(run.taken, live._nodes);
  };
  let story = 'start';
  agree(path.initial, story);
  const { truth, input } = subject;
  const happened: EventObject[] = [];
  if (truth) expect(truth.seen(run), story).toEqual(truth.expected(input, happened));
  for (const { event, snapshot } of path.steps) {
    story += ` → ${event.type}`;
    await run.play(event);
    agree(snapshot, story);
    happened.push(event);
    if (truth) expect(truth.seen(run), story).toEqual(truth.expected(input, happened));
  }
}

interface Play {
  readonly actor: { send(event: EventObject): void; getSnapshot(): ChartSnapshot };
  readonly clock: VirtualClock;
  readonly stage: Stage;
}

/** The next timer that fires is no other. */
const isOnlyTimer = ({ _nodes }: ChartSnapshot): boolean =>
  _nodes.flatMap((node) => [...node.transitions.keys()].filter(isDelayed)).length === 1;

function play(event: EventObject, { actor, clock, stage }: Play): void {
  const [, kind, id] = /^xstate\.(done|error|snapshot)(?:\.actor)?\.(.+)$/.exec(event.type) ?? [];
  if (isDelayed(event.type) && isOnlyTimer(actor.getSnapshot())) {
    clock.increment(clock.untilNext() ?? 0);
    return;
  }
  if (!kind || !id) {
    actor.send(event);
    return;
  }
  const service = stage.live.get(id);
  if (!service) throw new Error(`the service "${id}" does not run`);
  const { output, error, snapshot } = event as unknown as Record<string, unknown>;
  if (kind === 'done') service.done(output);
  else if (kind === 'error') service.fail(error);
  else service.show(snapshot as Shown);
}

const childrenOf = ({ children }: ChartSnapshot): string[] => Object.keys(children).toSorted();
