import { assign, createActor, fromPromise, setup, type ActorRefFrom } from 'xstate';
import type { Inspection } from '../../../src/adapters/inspector/port.ts';
import type { Clock } from '../../../src/adapters/clock/port.ts';
import { slot } from '../../../src/domain/ids.ts';

/** A secret in the context, events and errors of these actors. */
export const CANARY = 'canary-5d0c7e';
const PEM = `-----BEGIN PRIVATE KEY-----\n${CANARY}\n-----END PRIVATE KEY-----`;

const recovery = setup({
  actors: { restartAgent: fromPromise(async () => ({ password: CANARY })) },
}).createMachine({
  id: 'recovery',
  context: { apiToken: CANARY, note: PEM, bytes: new TextEncoder().encode(CANARY), generation: 7n },
  initial: 'restartingAgent',
  states: {
    restartingAgent: {
      initial: 'connecting',
      states: { connecting: {} },
      invoke: { id: 'restartAgent', src: 'restartAgent', onDone: 'ended', onError: 'ended' },
    },
    ended: { type: 'final' },
  },
});

type CastEvent =
  | { readonly type: 'agent.lost'; readonly secret: string }
  | { readonly type: 'noise' }
  | { readonly type: 'mistake' };

/** Like a machine: its regions, its work, and its possible errors. */
const lifecycle = setup({
  types: { events: {} as CastEvent, context: {} as { count: number } },
  actors: { recovery },
}).createMachine({
  id: 'lifecycle',
  context: { count: 0 },
  on: {
    noise: { actions: assign({ count: ({ context }) => context.count + 1 }) },
    mistake: {
      actions: assign({
        count: () => {
          throw new Error(`a mistake in a machine: ${PEM}`);
        },
      }),
    },
  },
  initial: 'alive',
  states: {
    alive: {
      type: 'parallel',
      states: {
        life: {
          initial: 'Running',
          states: {
            Running: {
              id: 'running',
              initial: 'resting',
              states: { resting: {} },
              on: { 'agent.lost': 'Recovering' },
            },
            Recovering: {
              initial: 'working',
              states: {
                working: { invoke: { id: 'recovery', src: 'recovery', onDone: '#running' } },
              },
            },
          },
        },
        requests: { initial: 'idle', states: { idle: {} } },
      },
    },
  },
});

export const FIRST = slot('equinix', 'one');
export const SECOND = slot('equinix', 'two');
const cell = setup({ actors: { lifecycle } }).createMachine({
  id: 'cell',
  on: { 'xstate.error.actor.*': { actions: () => undefined } },
  invoke: [
    { id: FIRST, src: 'lifecycle' },
    { id: SECOND, src: 'lifecycle' },
  ],
});
const guard = setup({}).createMachine({
  id: 'guard',
  initial: 'watching',
  states: { watching: {} },
});
const session = setup({}).createMachine({ id: 'session', initial: 'alive', states: { alive: {} } });
const provisioner = setup({}).createMachine({
  id: 'provisioner',
  initial: 'resting',
  states: { resting: {} },
});
const fleet = setup({ actors: { guard, session } }).createMachine({
  id: 'fleet',
  invoke: [
    { id: 'guard', src: 'guard' },
    { id: 'session', src: 'session' },
  ],
});

type LifecycleActor = ActorRefFrom<typeof lifecycle>;
export interface Cast {
  readonly first: LifecycleActor;
  readonly second: LifecycleActor;
  stop(): void;
}

/**
 * A supervisor, a provisioner, and two machines in a cell, whose actors this inspection observes.
 */
export function startCast(
  { inspect }: Pick<Inspection, 'inspect'>,
  clock: Clock,
  restarted: () => Promise<void> = async () => undefined,
): Cast {
  const restartAgent = fromPromise(async () => {
    await restarted();
    return { password: CANARY };
  });
  const provided = recovery.provide({ actors: { restartAgent } });
  const cellLogic = cell.provide({
    actors: { lifecycle: lifecycle.provide({ actors: { recovery: provided } }) },
  });
  const roots = [
    createActor(fleet, { id: 'fleet', inspect, clock }),
    createActor(provisioner, { id: 'provisioner-equinix', inspect, clock }),
  ];
  const cells = createActor(cellLogic, { id: 'cell-1', inspect, clock });
  for (const root of roots) root.start();
  cells.start();
  const { children } = cells.getSnapshot();
  return {
    first: children[FIRST] as LifecycleActor,
    second: children[SECOND] as LifecycleActor,
    stop: () => [...roots, cells].forEach((root) => root.stop()),
  };
}
