import { createActor, type AnyActorRef, type AnyStateMachine, type EventObject } from 'xstate';
import { expect } from 'vitest';
import {
  createStage,
  scripted,
  type ChartEffect,
  type Scripts,
  type ChildSnapshot,
  type ServiceStage,
} from '../doubles/scripted-services.ts';
import { advance, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import { nameOf, transitionsOf, type nodesOf } from './chart-map.ts';

/** The part of a chart's snapshot that tests read. */
export interface ChartSnapshot {
  readonly status: string;
  readonly value: unknown;
  readonly tags: ReadonlySet<string>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly output?: unknown;
  readonly children: Readonly<Record<string, AnyActorRef | undefined>>;
  readonly _nodes: ReturnType<typeof nodesOf>;
}

/** A shipped chart and the behaviour of its services. The test supplies their answers. */
export interface ChartSubject {
  readonly chart: AnyStateMachine;
  readonly input: unknown;
  readonly services: Scripts;
  /** Actions that `provide` must fill; the stand records their calls. */
  readonly actions?: readonly string[];
}

/** A chart in a scripted world, on which live actors run one after the other. */
export interface ChartStand {
  readonly chart: AnyStateMachine;
  /**
   * Starts an actor with the subject's input unless another input is given. The caller stops it.
   */
  start(input?: unknown): ChartRun;
  /** Transitions that no actor of this stand has taken yet. */
  missed(): string[];
}

/** A live actor of a chart in a scripted world. */
export interface ChartRun {
  snapshot(): ChartSnapshot;
  readonly stage: ServiceStage;
  /**
   * Makes an event really happen, by its service if it has one, and waits until everything settles.
   */
  play(event: EventObject): Promise<void>;
  /** Sends any event unchanged, whether or not its service runs. */
  send(event: EventObject): Promise<void>;
  /** Advances the time, and waits until everything settles that falls due. */
  wait(timeMs: number): Promise<void>;
  /** All effects since the last call, in order. */
  effects(): ChartEffect[];
  /** Ends the actor. @throws when the actor failed, or left a service or timer behind. */
  stop(): Promise<void>;
}

export function createStand({
  chart: shipped,
  input,
  services,
  actions = [],
}: ChartSubject): ChartStand {
  const theatre = { stage: createStage() };
  const chart = scripted(shipped, services, actions, theatre);
  const taken = new Set<string>();
  return {
    chart,
    start(own = input) {
      theatre.stage = createStage();
      return startRun(chart, own, { stage: theatre.stage, taken });
    },
    missed: () =>
      transitionsOf(chart)
        .map(nameOf)
        .filter((name) => !taken.has(name)),
  };
}

interface Watched {
  readonly stage: ServiceStage;
  readonly taken: Set<string>;
}

function startRun(chart: AnyStateMachine, input: unknown, { stage, taken }: Watched): ChartRun {
  const clock = createSimulatedClock();
  const seen: string[] = [];
  const failures: unknown[] = [];
  const actor: AnyActorRef = createActor(chart, {
    input,
    clock,
    inspect(inspection) {
      const ref = inspection.actorRef as AnyActorRef;
      if (inspection.type === '@xstate.microstep' && !ref._parent)
        for (const transition of inspection._transitions) taken.add(nameOf(transition));
      if (inspection.type !== '@xstate.event') return;
      const { event, sourceRef } = inspection;
      if (!ref._parent) seen.push(event.type);
      else if (sourceRef === actor && !event.type.startsWith('xstate.'))
        stage.effects.push(['tells', ref.id, event]);
    },
  });
  actor.subscribe({ error: (error) => failures.push(error) });
  actor.start();
  const snapshot = () => actor.getSnapshot() as ChartSnapshot;
  const during = async (act: () => unknown) => {
    seen.length = 0;
    await act();
    await settled();
    expect(failures, 'crashes of the actor').toEqual([]);
  };
  let told = 0;
  return {
    snapshot,
    stage,
    async play(event) {
      const isAlive = snapshot().status === 'active';
      await during(() => play(event, actor, stage));
      if (isAlive) expect(seen).toContain(event.type);
    },
    send: (event) => during(() => actor.send(event)),
    wait: (timeMs) => during(() => advance(clock, timeMs)),
    effects() {
      const since = stage.effects.slice(told);
      told = stage.effects.length;
      return since;
    },
    async stop() {
      actor.stop();
      await settled();
      expect(failures, 'crashes of the actor').toEqual([]);
      expect([...stage.live.keys()], 'services left running').toEqual([]);
      expect(clock.pending, 'timers left').toBe(0);
    },
  };
}

function play(event: EventObject, actor: AnyActorRef, { live }: ServiceStage): void {
  const [, kind, id] = /^xstate\.(done|error|snapshot)(?:\.actor)?\.(.+)$/.exec(event.type) ?? [];
  if (!kind || !id) return actor.send(event);
  const service = live.get(id);
  if (!service) throw new Error(`the service "${id}" does not run`);
  const { output, error, snapshot } = event as unknown as Record<string, unknown>;
  if (kind === 'done') service.done(output);
  else if (kind === 'error') service.fail(error);
  else service.show(snapshot as ChildSnapshot);
}
