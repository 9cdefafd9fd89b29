import { assign, setup } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineState } from '../domain/states.ts';
import type { MachineView, NextWork } from '../domain/view.ts';
import { deprovision } from './deprovision.ts';
import { recovery } from './recovery.ts';
import { promiseService, unprovided } from './services.ts';
import { takeover } from './takeover.ts';
import { failureOf, type Failure, type TaskResult } from './task.ts';

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

/** What `awaitTurn` needs; resolves when a session, the head start and a place are ours. */
export interface TurnInput {
  readonly slot: Slot;
  readonly next: Work;
  readonly setbacks: number;
}
export type Work = NonNullable<NextWork>;

/** Whether two views are the same to the chart: nothing that it goes by has changed. */
export const isSameToChart = (before: MachineView, after: MachineView): boolean =>
  before.state === after.state &&
  before.next === after.next &&
  before.machineId === after.machineId &&
  before.request === after.request;

const SETBACKS_MAX = 10;
/** After a request could not be settled, until it is tried again. */
const SETTLE_PAUSE_MS = 5_000;

/** Types, slots, actions and guards of `lifecycle`. */
export const lifecycleSetup = setup({
  types: {
    context: {} as LifecycleContext,
    input: {} as { readonly view: MachineView },
    events: {} as Observed,
    tags: {} as 'waiting' | 'working',
  },
  actors: {
    awaitTurn: promiseService<void, TurnInput>('awaitTurn'),
    /** Resolves with the key when the request is settled, and rejects while it has to stay open. */
    settleRequest: promiseService<string, RequestInput>('settleRequest'),
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
    rememberSettled: assign({ settledKey: (_, { key }: { key: string }) => key }),
    /** Ends the turn: connection, place in the pool and unfinished work are given back. */
    endTurn: (_, _params: { slot: Slot }) => unprovided('endTurn'),
    /** A state was reached that does not follow from ours: someone else acted in between. */
    countLeap: (_, _params: { view: MachineView }) => unprovided('countLeap'),
  },
  guards: {
    /** Nothing that the chart goes by is new: the rest is only remembered. */
    unchanged: ({ context, event }) =>
      event.view.state === context.view.state &&
      event.view.next === context.view.next &&
      event.view.machineId === context.view.machineId,
    sameState: ({ context, event }) => event.view.state === context.view.state,
    shows: ({ event }, { state }: { state: MachineState }) => event.view.state === state,
    stateIs: ({ context }, { state }: { state: MachineState }) => context.view.state === state,
    /** Nothing can be done without a machine. */
    dueFor: ({ context: { view } }, { works }: { works: readonly Work[] }) =>
      view.next !== null && works.includes(view.next) && view.machineId !== null,
    asked: ({ context: { view, settledKey } }) =>
      view.request !== null && view.request !== settledKey,
  },
  delays: { settlePause: SETTLE_PAUSE_MS },
});
