import { assign, setup } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import { FOLLOWERS, FROM_ANYWHERE, STATES, type MachineState } from '../domain/states.ts';
import type { MachineView, NextWork } from '../domain/view.ts';
import { deprovision } from './deprovision.ts';
import { recovery } from './recovery.ts';
import { promiseService, unprovided } from './services.ts';
import { agentStart } from './agent-start.ts';
import { failureOf, type StepFailure, type Job, type TaskResult } from './task.ts';

/** A new view of the machine from the mirror: the only news that a lifecycle needs. */
export interface Observed {
  readonly type: 'machine.observed';
  readonly view: MachineView;
}

export interface LifecycleContext {
  readonly slot: Slot;
  readonly view: MachineView;
  /** Why our last task failed; null after a success. */
  readonly lastFailure: StepFailure | null;
  /** Tasks refused or failed in a row; each lengthens the wait for the next turn. */
  readonly setbacks: number;
  /** Key of the last applied request; the view may still name it for a moment. */
  readonly appliedKey: string | null;
}

/** The operator request to apply. */
export interface RequestInput {
  readonly slot: Slot;
  readonly key: string;
}

/** Input of `awaitTurn`, which resolves with a session, after the head start, and with a place. */
export interface TurnInput {
  readonly slot: Slot;
  readonly next: Work;
  readonly setbacks: number;
}
export type Work = NonNullable<NextWork>;

/** Whether two views are equal in everything that moves the chart. */
export const isSameToChart = (before: MachineView, after: MachineView): boolean =>
  before.state === after.state &&
  before.next === after.next &&
  before.machineId === after.machineId &&
  before.request === after.request;

const SETBACKS_MAX = 10;
/** Pause before a request that could not be applied is retried. */
const APPLY_PAUSE_MS = 5_000;

/** Types, slots, actions and guards of `lifecycle`. */
const lifecycleSetup = setup({
  types: {
    context: {} as LifecycleContext,
    input: {} as { readonly view: MachineView },
    events: {} as Observed,
    tags: {} as 'waiting' | 'working',
  },
  actors: {
    awaitTurn: promiseService<void, TurnInput>('awaitTurn'),
    /** Resolves with the key when the request is applied; rejects while it must stay open. */
    applyRequest: promiseService<string, RequestInput>('applyRequest'),
    agentStart,
    recovery,
    deprovision,
  },
  actions: {
    remember: assign({ view: (_, { view }: { view: MachineView }) => view }),
    rememberResult: assign(({ context }, { result }: { result: TaskResult }) => ({
      view: result.view ?? context.view,
      lastFailure: result.outcome === 'done' ? null : result.failure,
      setbacks: result.outcome === 'done' ? 0 : Math.min(context.setbacks + 1, SETBACKS_MAX),
    })),
    countSetback: assign(({ context }, { error }: { error: unknown }) => ({
      lastFailure: failureOf(error),
      setbacks: Math.min(context.setbacks + 1, SETBACKS_MAX),
    })),
    rememberApplied: assign({ appliedKey: (_, { key }: { key: string }) => key }),
    /** Ends the turn: returns connection, place and unfinished work. */
    endTurn: (_, _params: { slot: Slot }) => unprovided('endTurn'),
    /** A state was reached that does not follow ours: another process acted in between. */
    countLeap: (_, _params: { view: MachineView }) => unprovided('countLeap'),
  },
  guards: {
    /** The news do not move the chart; they are only remembered. */
    unchanged: ({ context, event }) =>
      event.view.state === context.view.state &&
      event.view.next === context.view.next &&
      event.view.machineId === context.view.machineId,
    sameState: ({ context, event }) => event.view.state === context.view.state,
    shows: ({ event }, { state }: { state: MachineState }) => event.view.state === state,
    stateIs: ({ context }, { state }: { state: MachineState }) => context.view.state === state,
    /** Work needs a machine. */
    dueFor: ({ context: { view } }, { works }: { works: readonly Work[] }) =>
      view.next !== null && works.includes(view.next) && view.machineId !== null,
    asked: ({ context: { view, appliedKey } }) =>
      view.request !== null && view.request !== appliedKey,
  },
  delays: { applyPause: APPLY_PAUSE_MS },
});

const observed = ({ event }: { event: Observed }) => ({ view: event.view });
const result = ({ event }: { event: { output: TaskResult } }) => ({ result: event.output });
const crash = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
const applied = ({ event }: { event: { output: string } }) => ({ key: event.output });
const place = ({ context }: { context: LifecycleContext }) => ({ slot: context.slot });
/** A task begins only after `dueFor` has seen a machine. */
const job = ({ context }: { context: LifecycleContext }): Job => ({
  slot: context.slot,
  machineId: context.view.machineId!,
});
/** A wait for a turn begins only after `dueFor` has seen work. */
const turn = ({ context }: { context: LifecycleContext }): TurnInput => ({
  slot: context.slot,
  next: context.view.next!,
  setbacks: context.setbacks,
});
/** Only an `asked` request is applied. */
const request = ({ context }: { context: LifecycleContext }): RequestInput => ({
  slot: context.slot,
  key: context.view.request!,
});

const remember = { type: 'remember', params: observed } as const;
const afterCrash = {
  target: '#resyncing',
  actions: { type: 'countSetback', params: crash },
} as const;

/** News with one of these states lead there. */
const to = <const State extends MachineState>(...states: readonly State[]) =>
  states.map((state) => ({
    guard: { type: 'shows' as const, params: { state } },
    target: `#${state}` as const,
    actions: remember,
  }));
const follow = (state: MachineState) => ({ 'machine.observed': to(...FOLLOWERS[state]) });

/** Only the rows say more: nothing is due, or another daemon works. */
const resting = { description: 'This daemon has no work on the machine at the moment.' };
const begin = (...works: readonly [Work, ...Work[]]) => ({
  ...resting,
  always: { guard: { type: 'dueFor' as const, params: { works } }, target: 'waiting' },
});

const TASKS = {
  agentStart: '#AgentStarting.working',
  recovery: '#Recovering.working',
  deprovision: '#Deprovisioning.working',
} as const;

/** Waits until this daemon may do the due work; news of other work end the wait. */
const waitFor = (...works: readonly [Work, ...Work[]]) => ({
  description:
    'Work is due. The machine waits for the recovery budget, for daemons that go first, and for a free place.',
  tags: 'waiting' as const,
  invoke: {
    id: 'awaitTurn',
    src: 'awaitTurn' as const,
    input: turn,
    onDone: works.map((work) => ({
      guard: { type: 'dueFor' as const, params: { works: [work] } },
      target: TASKS[work],
    })),
    onError: afterCrash,
  },
});

/** Runs a task of this daemon in its own chart; news are only kept until it ends. */
const working = <const Task extends 'agentStart' | 'recovery' | 'deprovision'>(task: Task) => ({
  tags: 'working' as const,
  exit: { type: 'endTurn' as const, params: place },
  on: { 'machine.observed': { actions: remember } },
  invoke: {
    id: task,
    src: task,
    input: job,
    onDone: { target: '#resyncing', actions: { type: 'rememberResult' as const, params: result } },
    onError: afterCrash,
  },
});

/** Operators' requests, in parallel to the machine's life: last in every state, end with it. */
const requests = lifecycleSetup.createStateConfig({
  initial: 'idle',
  states: {
    idle: {
      description: 'No request of an operator is open.',
      always: { guard: 'asked', target: 'settling' },
    },
    settling: {
      description: "The machine's actor carries out an operator's request, beside any other work.",
      invoke: {
        id: 'applyRequest',
        src: 'applyRequest',
        input: request,
        onDone: { target: 'idle', actions: { type: 'rememberApplied', params: applied } },
        onError: { target: 'pausing' },
      },
    },
    pausing: {
      description: 'The request failed. The actor tries it again after a pause.',
      after: { applyPause: { target: 'idle' } },
    },
  },
});

/**
 * The life of one physical machine. Rows, listing and clock determine its state (the view). The
 * chart knows which states may follow each other, starts the daemon's tasks for due work, and lets
 * no news interrupt them. It knows no clock, socket or SQL.
 */
export const lifecycle = lifecycleSetup.createMachine({
  id: 'lifecycle',
  context: ({ input }) => ({
    slot: input.view.slot,
    view: input.view,
    lastFailure: null,
    setbacks: 0,
    appliedKey: null,
  }),
  options: { maxIterations: 1000 },
  initial: 'alive',
  states: {
    alive: {
      type: 'parallel',
      states: {
        life: {
          initial: 'resyncing',
          on: {
            'machine.observed': [
              { guard: 'unchanged', actions: remember },
              { guard: 'sameState', target: '#resyncing', actions: remember },
              ...to(...FROM_ANYWHERE),
              {
                target: '#resyncing',
                actions: [remember, { type: 'countLeap', params: observed }],
              },
            ],
          },
          states: {
            resyncing: {
              id: 'resyncing',
              description:
                'The machine takes the state of its newest view, whichever state it had before.',
              always: STATES.map((state) => ({
                guard: { type: 'stateIs' as const, params: { state } },
                target: `#${state}`,
              })),
            },
            Reserved: {
              id: 'Reserved',
              description:
                'The slot has no machine yet: the provider lists it as free, or a device is being created.',
              on: follow('Reserved'),
            },
            Provisioned: {
              id: 'Provisioned',
              description: 'The machine exists, and no agent runs on it.',
              on: follow('Provisioned'),
              initial: 'resting',
              states: {
                resting: begin('agentStart', 'recovery'),
                waiting: waitFor('agentStart', 'recovery'),
              },
            },
            AgentStarting: {
              id: 'AgentStarting',
              description: 'A daemon starts the agent on the machine.',
              on: follow('AgentStarting'),
              initial: 'resting',
              states: { resting, working: working('agentStart') },
            },
            Running: {
              id: 'Running',
              description:
                'The agent was started. It reports, or its time to report has not expired.',
              on: follow('Running'),
              initial: 'resting',
              states: { resting: begin('recovery'), waiting: waitFor('recovery') },
            },
            Recovering: {
              id: 'Recovering',
              description:
                'The machine is silent. Shepherd tries one means of recovery after the other.',
              on: follow('Recovering'),
              initial: 'resting',
              states: {
                resting: begin('recovery'),
                waiting: waitFor('recovery'),
                working: working('recovery'),
              },
            },
            HandedOver: {
              id: 'HandedOver',
              description:
                'The operating system is installed. Shepherd neither starts nor recovers the machine any more.',
              on: follow('HandedOver'),
            },
            Quarantined: {
              id: 'Quarantined',
              description:
                'Shepherd leaves the machine alone for a stated reason, until a person decides or the machine reports again.',
              on: follow('Quarantined'),
            },
            Deprovisioning: {
              id: 'Deprovisioning',
              description: 'A person or a program asked to give the machine back to its provider.',
              on: follow('Deprovisioning'),
              initial: 'resting',
              states: {
                resting: begin('deprovision'),
                waiting: waitFor('deprovision'),
                working: working('deprovision'),
              },
            },
          },
        },
        requests,
      },
    },
    Released: {
      id: 'Released',
      type: 'final',
      description: 'A complete listing no longer shows the slot, and no row refers to it.',
    },
  },
});
