import { setup } from 'xstate';
import { promiseService } from './services.ts';
import {
  beginTask,
  elseRefused,
  endOfTask,
  resultOf,
  step,
  taskActions,
  taskActors,
  taskTypes,
  onTo,
  thenDone,
  type Job,
} from './task.ts';

/** Results that the steps of a deprovision pass on. */
export interface DeprovisionResults {
  /** What happened to its agent, for the history; null: it is gone with the device. */
  readonly agentEnd: string | null;
  /** Number of requests to the provider to take the machine back. */
  readonly asked: number;
}
type DeprovisionPart<Part extends keyof DeprovisionResults> = Pick<DeprovisionResults, Part>;

/**
 * Gives one machine back to its provider on request. Claims it, ends its agent if the machine lives
 * on, and requests the removal of the device. Waits until the device is gone and its slot is usable
 * again, and then deletes the machine from the BMDB. Each step may run again after a crash and
 * finds its work done.
 */
export const deprovision = setup({
  types: taskTypes<DeprovisionResults>(),
  actors: {
    ...taskActors,
    claimDeprovision: promiseService<void, Job>('claimDeprovision'),
    endAgent: promiseService<DeprovisionPart<'agentEnd'>, Job>('endAgent'),
    askDestroy: promiseService<DeprovisionPart<'asked'>, Job>('askDestroy'),
    awaitGone: promiseService<void, Job & DeprovisionPart<'asked'>>('awaitGone'),
    awaitReusable: promiseService<void, Job>('awaitReusable'),
    recordDeprovision: promiseService<void, Job & DeprovisionPart<'agentEnd'>>('recordDeprovision'),
  },
  actions: taskActions<DeprovisionResults>(),
}).createMachine({
  id: 'deprovision',
  context: beginTask<DeprovisionResults>,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: step(
      'claimDeprovision',
      'Claims the machine in the database, so that no other daemon works on it.',
      onTo('endingAgent'),
      elseRefused,
    ),
    endingAgent: step(
      'endAgent',
      'Ends the agent over SSH if the machine keeps running after it is given back.',
      onTo('asking'),
    ),
    asking: step(
      'askDestroy',
      'Notes the request in the database, then asks the provider to delete the device, if it still exists.',
      onTo('awaitingGone'),
    ),
    awaitingGone: step(
      'awaitGone',
      'Waits until the provider no longer knows the device, and repeats the request with growing pauses.',
      onTo('awaitingReusable'),
    ),
    awaitingReusable: step(
      'awaitReusable',
      'Waits until the slot is free, or until another machine uses it.',
      onTo('recording'),
    ),
    recording: step(
      'recordDeprovision',
      'Deletes the machine and its tags in one transaction, and keeps its history.',
      thenDone,
    ),
    ...endOfTask,
  },
});
