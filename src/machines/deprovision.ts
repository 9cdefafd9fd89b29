import { setup } from 'xstate';
import { promiseService } from './services.ts';
import {
  beginTask,
  elseGiveUp,
  elseRefused,
  endOfTask,
  jobOf,
  resultOf,
  taskActions,
  taskActors,
  taskTypes,
  thenDone,
  type Job,
} from './task.ts';

/**
 * Gives one machine back to its provider, because somebody asked for it: claims it, ends its agent
 * if the machine lives on, asks the provider to take the device back, waits until the device is gone
 * and its slot can be used again, and deletes the machine from the BMDB. Each step may run again
 * after a crash: what was done already is found done.
 */
export const deprovision = setup({
  types: taskTypes,
  actors: {
    ...taskActors,
    claimDeprovision: promiseService<void, Job>('claimDeprovision'),
    endAgent: promiseService<void, Job>('endAgent'),
    askDestroy: promiseService<void, Job>('askDestroy'),
    awaitGone: promiseService<void, Job>('awaitGone'),
    awaitReusable: promiseService<void, Job>('awaitReusable'),
    recordDeprovision: promiseService<void, Job>('recordDeprovision'),
  },
  actions: taskActions,
}).createMachine({
  id: 'deprovision',
  context: beginTask,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: {
      description: 'Asks the BMDB for this machine; nobody else may work on it from then on.',
      invoke: {
        id: 'claimDeprovision',
        src: 'claimDeprovision',
        input: jobOf,
        onDone: { target: 'endingAgent' },
        onError: elseRefused,
      },
    },
    endingAgent: {
      description: 'Ends the agent over SSH, where the machine lives on without us.',
      invoke: {
        id: 'endAgent',
        src: 'endAgent',
        input: jobOf,
        onDone: { target: 'asking' },
        onError: elseGiveUp,
      },
    },
    asking: {
      description: 'Notes the request in the BMDB, then asks the provider, if it still has it.',
      invoke: {
        id: 'askDestroy',
        src: 'askDestroy',
        input: jobOf,
        onDone: { target: 'awaitingGone' },
        onError: elseGiveUp,
      },
    },
    awaitingGone: {
      description: 'Looks until the provider knows no such device; asks again, ever more rarely.',
      invoke: {
        id: 'awaitGone',
        src: 'awaitGone',
        input: jobOf,
        onDone: { target: 'awaitingReusable' },
        onError: elseGiveUp,
      },
    },
    awaitingReusable: {
      description: 'Looks until the slot is free again, or somebody else has it.',
      invoke: {
        id: 'awaitReusable',
        src: 'awaitReusable',
        input: jobOf,
        onDone: { target: 'recording' },
        onError: elseGiveUp,
      },
    },
    recording: {
      description: 'Deletes the machine and its tags, in one transaction; its history stays.',
      invoke: {
        id: 'recordDeprovision',
        src: 'recordDeprovision',
        input: jobOf,
        onDone: thenDone,
        onError: elseGiveUp,
      },
    },
    ...endOfTask,
  },
});
