import { assign, setup, stateIn, type SnapshotFrom } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineState, MachineView, NextWork } from '../domain/view.ts';
import { deprovision } from './deprovision.ts';
import { recovery } from './recovery.ts';
import { actorSlot, unprovided } from './slots.ts';
import { takeover } from './takeover.ts';
import { failureOf, type Failure, type Job, type TaskResult } from './task.ts';

/** A new view of the machine, from the mirror: the only news a lifecycle needs. */
export interface Observed {
  readonly type: 'machine.observed';
  readonly view: MachineView;
}

export interface LifecycleContext {
  readonly slot: Slot;
  readonly view: MachineView;
  /** Why the last task of ours ended as it did; null after a success. */
  readonly lastFailure: Failure | null;
  /** Tasks refused or failed in a row; the next turn is awaited longer for each. */
  readonly setbacks: number;
  /** What was settled last; the view may go on naming it for a moment. */
  readonly settledKey: string | null;
}

/** Which of the things that operators asked is to be settled. */
export interface RequestInput {
  readonly slot: Slot;
  readonly key: string;
}
export interface RequestResult {
  readonly key: string;
  /** False: it stays open, for now. */
  readonly settled: boolean;
}

/** What `awaitTurn` needs; resolves when a session, the head start and a place are ours. */
export interface TurnInput {
  readonly slot: Slot;
  readonly next: NextWork;
  readonly setbacks: number;
}

const SETBACKS_MAX = 10;
/** After a request could not be settled, until it is tried again. */
const SETTLE_PAUSE_MS = 5_000;

export const observed = ({ event }: { event: Observed }) => ({ view: event.view });
export const result = ({ event }: { event: { output: TaskResult } }) => ({ result: event.output });
export const crash = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
/** Only reached through `nextIs`, which demands a machine. */
export const job = ({ context }: { context: LifecycleContext }): Job => ({
  slot: context.slot,
  machineId: context.view.machineId!,
});
/** Only reached through `asked`, which demands a request. */
export const request = ({ context }: { context: LifecycleContext }): RequestInput => ({
  slot: context.slot,
  key: context.view.request!,
});
export const settlement = ({ event }: { event: { output: RequestResult } }) => ({
  result: event.output,
});
export const place = ({ context }: { context: LifecycleContext }) => ({ slot: context.slot });
const turn = ({ context }: { context: LifecycleContext }): TurnInput => ({
  slot: context.slot,
  next: context.view.next,
  setbacks: context.setbacks,
});

/** Transitions to the states that may follow; anything else is a leap and goes by `resyncing`. */
export const follow = <const States extends readonly MachineState[]>(...states: States) => [
  { guard: 'unchanged' as const, actions: { type: 'remember' as const, params: observed } },
  ...states.map((state) => ({
    guard: {
      type: 'shows' as const,
      params: ({ event }: { event: Observed }) => ({ view: event.view, state }),
    },
    target: `#${state}` as const,
    actions: { type: 'remember' as const, params: observed },
  })),
  {
    target: '#resyncing' as const,
    actions: [
      { type: 'remember' as const, params: observed },
      { type: 'countLeap' as const, params: observed },
    ],
  },
];

/** Routes from a state's transient entry to the substate that the view names. */
export const placed = (substate: string, target = substate) => ({
  guard: { type: 'substateIs' as const, params: { substate } },
  target,
});

/** An operator's order makes the machine due for recovery, whatever else is true of it. */
export const placedOrdered = {
  guard: { type: 'nextIs' as const, params: { next: 'recovery' as const } },
  target: 'ordered',
};

const TASKS = {
  agentStart: '#AgentStarting.ours',
  recovery: '#Recovering.ours',
  deprovision: '#Deprovisioning.ours',
} as const;

/** Waits for a turn; then the task that the machine is due for, if this state leads to it. */
export const awaitTurn = (...tasks: readonly (keyof typeof TASKS)[]) => ({
  id: 'awaitTurn',
  src: 'awaitTurn' as const,
  input: turn,
  onDone: [
    ...tasks.map((next) => ({
      guard: { type: 'nextIs' as const, params: { next } },
      target: TASKS[next],
    })),
    { target: '#resyncing' as const, actions: { type: 'endTurn' as const, params: place } },
  ],
  onError: {
    target: '#resyncing' as const,
    actions: { type: 'countSetback' as const, params: crash },
  },
});

/** Only entered with that work due; news that end it leave the wait. */
export const awaitOrderedTurn = { ...awaitTurn(), onDone: { target: TASKS.recovery } };

/** A task child moved on: show its step as our substate. */
export const step = (name: string) => ({
  guard: {
    type: 'stepIs' as const,
    params: ({ event }: { event: { snapshot: unknown } }) => ({
      step: name,
      snapshot: event.snapshot,
    }),
  },
  target: `.${name}`,
});

export const afterRecovery = follow(
  'Recovering',
  'Provisioned',
  'Running',
  'Quarantined',
  'Deprovisioning',
);

export const afterDeprovision = follow('Deprovisioning', 'Reserved', 'Quarantined', 'Released');

/** Types, slots, actions and guards of `lifecycle`. */
export const lifecycleSetup = setup({
  types: {
    context: {} as LifecycleContext,
    input: {} as { readonly view: MachineView },
    events: {} as Observed,
    tags: {} as 'busy' | 'settled',
  },
  actors: {
    awaitTurn: actorSlot<void, TurnInput>('awaitTurn'),
    settleRequest: actorSlot<RequestResult, RequestInput>('settleRequest'),
    takeover,
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
    rememberSettled: assign({
      settledKey: (_, { result: { key } }: { result: RequestResult }) => key,
    }),
    /** Ends the turn: connection, place in the pool and unfinished work are given back. */
    endTurn: (_, _params: { slot: Slot }) => unprovided('endTurn'),
    /** A state was reached that does not follow from ours: someone else acted in between. */
    countLeap: (_, _params: { view: MachineView }) => unprovided('countLeap'),
  },
  guards: {
    unchanged: ({ context, event }) =>
      event.view.state === context.view.state &&
      event.view.substate === context.view.substate &&
      event.view.next === context.view.next &&
      event.view.machineId === context.view.machineId,
    shows: (_, { view, state }: { view: MachineView; state: MachineState }) => view.state === state,
    stateIs: ({ context }, { state }: { state: MachineState }) => context.view.state === state,
    substateIs: ({ context }, { substate }: { substate: string }) =>
      context.view.substate === substate,
    nextIs: ({ context }, { next }: { next: NextWork }) =>
      context.view.next === next && context.view.machineId !== null,
    stepIs: (_, { step, snapshot }: { step: string; snapshot: unknown }) =>
      stepOf(snapshot) === step,
    asked: ({ context: { view, settledKey } }) =>
      view.request !== null && view.request !== settledKey,
    settled: (_, { result }: { result: RequestResult }) => result.settled,
    /** Not what the view says: news of it may come while a task runs, and be overtaken by its end. */
    released: stateIn('#Released'),
    held: ({ context }) => context.view.holds.length > 0,
    unheld: ({ context }) => context.view.holds.length === 0,
  },
  delays: { settlePause: SETTLE_PAUSE_MS },
});

function stepOf(snapshot: unknown): string {
  const { value } = snapshot as SnapshotFrom<typeof takeover>;
  return typeof value === 'string' ? value : (Object.keys(value)[0] ?? '');
}
