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
 * Takes one machine over: claims it, connects by SSH, verifies the host, uploads the agent, runs it
 * and records its key. The open connection and the claim live beside the chart, under the slot; the
 * chart knows only which step is due and what a failure means. Every step has its own time limit in
 * its slot, and all of them end when the session does.
 */
export const takeover = setup({
  types: taskTypes,
  actors: {
    ...taskActors,
    claimStart: promiseService<void, Job>('claimStart'),
    connect: promiseService<void, Job>('connect'),
    verifyHost: promiseService<void, Job>('verifyHost'),
    upload: promiseService<void, Job>('upload'),
    execute: promiseService<void, Job>('execute'),
    recordStart: promiseService<void, Job>('recordStart'),
  },
  actions: taskActions,
}).createMachine({
  id: 'takeover',
  context: beginTask,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: {
      description: 'Asks the BMDB for this machine; nobody else may work on it from then on.',
      invoke: {
        id: 'claimStart',
        src: 'claimStart',
        input: jobOf,
        onDone: { target: 'connecting' },
        onError: elseRefused,
      },
    },
    connecting: {
      description: 'Looks up the address and opens the SSH connection.',
      invoke: {
        id: 'connect',
        src: 'connect',
        input: jobOf,
        onDone: { target: 'verifying' },
        onError: elseGiveUp,
      },
    },
    verifying: {
      description: 'Judges the host key; nothing runs on the machine before it is trusted.',
      invoke: {
        id: 'verifyHost',
        src: 'verifyHost',
        input: jobOf,
        onDone: { target: 'uploading' },
        onError: elseGiveUp,
      },
    },
    uploading: {
      description: 'Copies the agent, unless the same file is there already.',
      invoke: {
        id: 'upload',
        src: 'upload',
        input: jobOf,
        onDone: { target: 'executing' },
        onError: elseGiveUp,
      },
    },
    executing: {
      description: 'Notes the attempt in the BMDB, runs the agent and reads its answer.',
      invoke: {
        id: 'execute',
        src: 'execute',
        input: jobOf,
        onDone: { target: 'recording' },
        onError: elseGiveUp,
      },
    },
    recording: {
      description: "Stores the agent's key and ends the work, in one transaction.",
      invoke: {
        id: 'recordStart',
        src: 'recordStart',
        input: jobOf,
        onDone: thenDone,
        onError: elseGiveUp,
      },
    },
    ...endOfTask,
  },
});
