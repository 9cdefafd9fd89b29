import { assign, setup, type AnyEventObject, type ErrorActorEvent, type StateValue } from 'xstate';
import { codeOf, explain } from '../domain/errors.ts';
import type { MachineId, Slot } from '../domain/ids.ts';
import type { MachineView } from '../domain/view.ts';
import { promiseService } from './services.ts';

/** The machine a task (takeover, recovery) is about. */
export interface Job {
  readonly slot: Slot;
  readonly machineId: MachineId;
}

/** What a failed step leaves in a chart's context: data, never the error object. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/**
 * - `done`: the task reached its end and recorded it.
 * - `failed`: it was begun, and given up with a backoff.
 * - `refused`: nothing was begun (not eligible, someone else has it, no permit, no database).
 */
export type Outcome = 'done' | 'failed' | 'refused';

/** How a task ended; `view` is what the rows said afterwards, null if they could not be read. */
export interface TaskResult {
  readonly outcome: Outcome;
  readonly failure: Failure | null;
  readonly view: MachineView | null;
}

export interface TaskContext extends Job, TaskResult {}

export const beginTask = ({ input }: { input: Job }): TaskContext => ({
  slot: input.slot,
  machineId: input.machineId,
  outcome: 'refused',
  failure: null,
  view: null,
});

export const jobOf = ({ context }: { context: TaskContext }): Job => ({
  slot: context.slot,
  machineId: context.machineId,
});

export const resultOf = ({ context }: { context: TaskContext }): TaskResult => ({
  outcome: context.outcome,
  failure: context.failure,
  view: context.view,
});

export const failureOf = (error: unknown): Failure => ({
  code: codeOf(error),
  message: explain(error),
});

export const errorOf = ({ event }: { event: ErrorActorEvent }) => ({ error: event.error });

export const taskTypes = { context: {} as TaskContext, input: {} as Job, output: {} as TaskResult };

/** Slots that every task has. */
export const taskActors = {
  giveUp: promiseService<void, Job & { readonly failure: Failure | null }>('giveUp'),
  reread: promiseService<MachineView | null, Job>('reread'),
};

const keep = <Params>(change: (params: Params) => Partial<TaskContext>) =>
  assign<TaskContext, AnyEventObject, Params, AnyEventObject, never>((_, params) => change(params));

export const taskActions = {
  keepFailure: keep(({ error }: { error: unknown }) => ({ failure: failureOf(error) })),
  keepOutcome: keep(({ outcome }: { outcome: Outcome }) => ({ outcome })),
  keepView: keep(({ view }: { view: MachineView | null }) => ({ view })),
};

const task = setup({ types: taskTypes, actors: taskActors, actions: taskActions });

/** After the claim: a failed step gives the machine back with a backoff. */
export const elseGiveUp = {
  target: '#givingUp',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/** At the claim: nothing was begun, so nothing is given back. */
export const elseRefused = {
  target: '#rereading',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/** Everything was done and recorded. */
export const thenDone = {
  target: '#rereading',
  actions: { type: 'keepOutcome', params: { outcome: 'done' } },
} as const;

/** How every task ends, whatever became of it. */
export const endOfTask = {
  givingUp: task.createStateConfig({
    id: 'givingUp',
    description: 'Ends the work as failed: history, backoff, and quarantine where one is due.',
    entry: { type: 'keepOutcome', params: { outcome: 'failed' } },
    invoke: {
      id: 'giveUp',
      src: 'giveUp',
      input: ({ context }) => ({ ...jobOf({ context }), failure: context.failure }),
      onDone: { target: '#rereading' },
      onError: { target: '#rereading' },
    },
  }),
  rereading: task.createStateConfig({
    id: 'rereading',
    description: 'Reads the rows afresh: what happened is what they say, not what we think.',
    invoke: {
      id: 'reread',
      src: 'reread',
      input: jobOf,
      onDone: {
        target: '#ended',
        actions: { type: 'keepView', params: ({ event }) => ({ view: event.output }) },
      },
      onError: { target: '#ended' },
    },
  }),
  ended: task.createStateConfig({ id: 'ended', type: 'final' }),
};

/** The step that a task is at, by its outermost state; null while it ends. */
export function stepOf({ value }: { readonly value: StateValue }): string | null {
  const name = typeof value === 'string' ? value : (Object.keys(value)[0] ?? '');
  return name in endOfTask ? null : name;
}
