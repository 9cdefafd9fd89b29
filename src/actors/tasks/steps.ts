import { fromPromise } from 'xstate';
import type { Job } from '../../machines/task.ts';
import type { TaskPool, Turn } from '../turns/task-pool.ts';
import type { Claimed } from './task.ts';

/**
 * One step of a task. What it returns is kept for the turn, so that the steps after it get it as a
 * value. A step says what it needs and never when it is due: which one follows which is the chart's.
 */
export interface Step<Value> {
  /** @param signal of the actor, which ends the turn if it is stopped before its step is over. */
  run(job: Job, signal: AbortSignal): Promise<Value>;
  /** What it returned in this turn; undefined: it has not come to its end. */
  of(turn: Turn): Value | undefined;
}

/** A step that needs nothing but the turn: the claim. */
export const firstStep = <Value extends object>(
  taskPool: Pick<TaskPool, 'begin' | 'end'>,
  act: (turn: Turn, job: Job) => Promise<Value>,
): Step<Value> => createStep(taskPool, taskPool.begin, act);

/** A step that needs what another one returned. Its signal is that of the claim. */
export const stepAfter = <Before extends Claimed, Value extends object>(
  taskPool: Pick<TaskPool, 'turn' | 'end'>,
  before: Pick<Step<Before>, 'of'>,
  act: (given: Before, signal: AbortSignal) => Promise<Value>,
): Step<Value> =>
  createStep(taskPool, taskPool.turn, async (turn) => {
    const given = before.of(turn);
    // Only a chart that was drawn wrong comes here.
    if (!given) throw new Error(`a step on ${turn.slot} began before the one that it needs`);
    return act(given, given.signal);
  });

/** For a step to which several ways lead, of which a turn goes one: what that one returned. */
export const eitherOf = <Value>(
  ...steps: readonly Pick<Step<Value>, 'of'>[]
): Pick<Step<Value>, 'of'> => ({
  of: (turn) => steps.map((step) => step.of(turn)).findLast((value) => value !== undefined),
});

/** A service of a chart, made of one step, or by several that the chart shows as one. */
export const serviceOf = (...steps: readonly Step<unknown>[]) =>
  fromPromise<void, Job>(async ({ input, signal }) => {
    for (const step of steps) await step.run(input, signal);
  });

function createStep<Value extends object>(
  { end }: Pick<TaskPool, 'end'>,
  turnOf: TaskPool['turn'],
  act: (turn: Turn, job: Job) => Promise<Value>,
): Step<Value> {
  const values = new WeakMap<Turn, Value>();
  return {
    async run(job, signal) {
      const turn = turnOf(job.slot);
      const endTurn = () => {
        if (!turn.signal.aborted) end(job.slot);
      };
      signal.addEventListener('abort', endTurn, { once: true });
      const value = await act(turn, job);
      values.set(turn, value);
      return value;
    },
    of: (turn) => values.get(turn),
  };
}
