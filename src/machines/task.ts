import { assign, type AnyEventObject, type ErrorActorEvent, type StateValue } from 'xstate';
import { codeOf, explain } from '../domain/errors.ts';
import type { MachineId, Slot } from '../domain/ids.ts';
import type { MachineView } from '../domain/view.ts';
import { promiseService } from './services.ts';

/** The machine that a task (agent start, recovery) works on. */
export interface Job {
  readonly slot: Slot;
  readonly machineId: MachineId;
}

/** The trace of a failed step in a chart's context: data, never the error object. */
export interface StepFailure {
  readonly code: string;
  readonly message: string;
}

/**
 * - `done`: the task completed and recorded its result.
 * - `failed`: it began, and was given up with a backoff.
 * - `refused`: it did not begin (not eligible, claimed elsewhere, no permit, no database).
 */
export type Outcome = 'done' | 'failed' | 'refused';

/** How a task ended; `view` shows the rows afterwards, null if they were unreadable. */
export interface TaskResult {
  readonly outcome: Outcome;
  readonly failure: StepFailure | null;
  readonly view: MachineView | null;
}

interface TaskContext<Results> extends Job, TaskResult {
  /** Results of the steps so far, as plain data: the input of later steps. */
  readonly results: Results;
}

export const beginTask = <Results>({ input }: { input: Job }): TaskContext<Results> => ({
  slot: input.slot,
  machineId: input.machineId,
  outcome: 'refused',
  failure: null,
  view: null,
  // Complete as far as needed: a step comes after the steps whose results it uses.
  results: {} as Results,
});

interface Within<Results> {
  readonly context: TaskContext<Results>;
}

export const jobOf = ({ context }: Within<unknown>): Job => ({
  slot: context.slot,
  machineId: context.machineId,
});

/** Input of every step: the machine, and the results of earlier steps. */
const given = <Results>({ context }: Within<Results>): Job & Results => ({
  ...jobOf({ context }),
  ...context.results,
});

export const resultOf = ({ context }: Within<unknown>): TaskResult => ({
  outcome: context.outcome,
  failure: context.failure,
  view: context.view,
});

export const failureOf = (error: unknown): StepFailure => ({
  code: codeOf(error),
  message: explain(error),
});

export const errorOf = ({ event }: { event: ErrorActorEvent }) => ({ error: event.error });

/** @typeParam Results all that the task's steps pass on. */
export const taskTypes = <Results>() => ({
  context: {} as TaskContext<Results>,
  input: {} as Job,
  output: {} as TaskResult,
});

/** Services that every task has. */
export const taskActors = {
  giveUp: promiseService<void, Job & { readonly failure: StepFailure | null }>('giveUp'),
  reread: promiseService<MachineView | null, Job>('reread'),
};

export function taskActions<Results>() {
  type Context = TaskContext<Results>;
  const keep = <Params>(change: (params: Params, context: Context) => Partial<Context>) =>
    assign<Context, AnyEventObject, Params, AnyEventObject, never>(({ context }, params) =>
      change(params, context),
    );
  return {
    keepResults: keep(({ results }: { results: Partial<Results> | void }, context) => ({
      results: { ...context.results, ...results },
    })),
    keepFailure: keep(({ error }: { error: unknown }) => ({ failure: failureOf(error) })),
    keepOutcome: keep(({ outcome }: { outcome: Outcome }) => ({ outcome })),
    keepView: keep(({ view }: { view: MachineView | null }) => ({ view })),
  };
}

/** After the claim: a failed step gives the machine back with a backoff. */
export const elseGiveUp = {
  target: '#givingUp',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/** At the claim: nothing began, so that nothing is given back. */
export const elseRefused = {
  target: '#rereading',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/** Everything was done and recorded. */
export const thenDone = {
  target: '#rereading',
  actions: { type: 'keepOutcome', params: { outcome: 'done' } },
} as const;

/** Continues with the next step, and passes this step's result on. */
export const onTo = <const Target extends string>(target: Target) => ({
  target,
  actions: {
    type: 'keepResults' as const,
    params: <Results>({ event }: { event: { output: Results } }) => ({ results: event.output }),
  },
});

/** A state in which one service works. */
export const step = <const Src extends string, const Done, const Failed = typeof elseGiveUp>(
  src: Src,
  description: string,
  onDone: Done,
  onError: Failed = elseGiveUp as Failed,
) => ({ description, invoke: { id: src, src, input: given, onDone, onError } });

/** How every task ends, whatever its result. */
export const endOfTask = {
  givingUp: {
    id: 'givingUp',
    description:
      'Ends the work as failed: writes the history, the pause before the next try, and a quarantine if one is due.',
    entry: { type: 'keepOutcome', params: { outcome: 'failed' } },
    invoke: {
      id: 'giveUp',
      src: 'giveUp',
      input: ({ context }: Within<unknown>) => ({
        ...jobOf({ context }),
        failure: context.failure,
      }),
      onDone: { target: '#rereading' },
      onError: { target: '#rereading' },
    },
  },
  rereading: {
    id: 'rereading',
    description: "Reads the machine's rows again and follows them.",
    invoke: {
      id: 'reread',
      src: 'reread',
      input: jobOf,
      onDone: {
        target: '#ended',
        actions: {
          type: 'keepView',
          params: ({ event }: { event: { output: MachineView | null } }) => ({
            view: event.output,
          }),
        },
      },
      onError: { target: '#ended' },
    },
  },
  ended: { id: 'ended', type: 'final' },
} as const;

/** The current step of a task, by its outermost state; null while it ends. */
export function stepOf({ value }: { readonly value: StateValue }): string | null {
  const name = typeof value === 'string' ? value : (Object.keys(value)[0] ?? '');
  return name in endOfTask ? null : name;
}
