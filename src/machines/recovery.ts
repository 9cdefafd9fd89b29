import { setup } from 'xstate';
import { actorSlot } from './slots.ts';
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
 * Brings a silent machine back: claims it together with a permit of the recovery budget, asks the
 * provider for a reboot, and waits for evidence that the reboot happened. An accepted request is no
 * evidence. Ends with the machine ready for a new agent start.
 */
export const recovery = setup({
  types: taskTypes,
  actors: {
    ...taskActors,
    claimRecovery: actorSlot<void, Job>('claimRecovery'),
    askReboot: actorSlot<void, Job>('askReboot'),
    awaitBoot: actorSlot<void, Job>('awaitBoot'),
    recordRecovery: actorSlot<void, Job>('recordRecovery'),
  },
  actions: taskActions,
}).createMachine({
  id: 'recovery',
  context: beginTask,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: {
      description: 'Asks the BMDB for this machine and for a permit of the recovery budget.',
      invoke: {
        id: 'claimRecovery',
        src: 'claimRecovery',
        input: jobOf,
        onDone: { target: 'rebooting' },
        onError: elseRefused,
      },
    },
    rebooting: {
      description: 'A reboot was or is being asked for, and has not been proved yet.',
      initial: 'asking',
      states: {
        asking: {
          description: 'Notes the request in the BMDB, then asks the provider once.',
          invoke: {
            id: 'askReboot',
            src: 'askReboot',
            input: jobOf,
            onDone: { target: 'awaitingBoot' },
            onError: elseGiveUp,
          },
        },
        awaitingBoot: {
          description: 'Polls for a changed boot id or another proof, at most as long as patience.',
          invoke: {
            id: 'awaitBoot',
            src: 'awaitBoot',
            input: jobOf,
            onDone: { target: '#recovery.recording' },
            onError: elseGiveUp,
          },
        },
      },
    },
    recording: {
      description: 'Forgets the old agent and gives the permit back, in one transaction.',
      invoke: {
        id: 'recordRecovery',
        src: 'recordRecovery',
        input: jobOf,
        onDone: thenDone,
        onError: elseGiveUp,
      },
    },
    ...endOfTask,
  },
});
