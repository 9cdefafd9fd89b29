import { setup } from 'xstate';
import { promiseService } from './services.ts';
import {
  beginTask,
  elseGiveUp,
  elseRefused,
  endOfTask,
  errorOf,
  jobOf,
  resultOf,
  taskActions,
  taskActors,
  taskTypes,
  thenDone,
  type Job,
} from './task.ts';
import type { Rung } from '../domain/recovery/rung-names.ts';

/** On which rung of the ladder the task goes on. */
export interface OnRung {
  readonly rung: Rung;
}

const rungIs = <const Of extends Rung>(rung: Of) => ({
  guard: {
    type: 'rungIs' as const,
    params: ({ event }: { event: { output: OnRung } }) => ({ is: event.output.rung, rung }),
  },
});

/** The rung that a hanging controller was in the way of. */
const beyondReset = [
  { ...rungIs('rebooting'), target: '#recovery.rebooting' },
  { target: '#recovery.powerCycling' },
] as const;

/** Whatever ends a power cycle half-way, the machine is not left switched off. */
const elseRestorePower = {
  target: 'restoringPower',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/**
 * Brings a silent machine back by one attempt on one rung of the ladder, the mildest that is left:
 * claims it, takes a permit of the recovery budget if it interrupts, does what the rung says, and waits for
 * evidence that it happened. An accepted request is no evidence. Ends with the machine ready for a
 * new agent start. Where SSH does not answer, the agent cannot be restarted, and the same attempt
 * goes straight on to the next rung.
 */
export const recovery = setup({
  types: taskTypes,
  actors: {
    ...taskActors,
    claimRecovery: promiseService<OnRung, Job>('claimRecovery'),
    reachAgent: promiseService<OnRung, Job>('reachAgent'),
    stopAgent: promiseService<void, Job>('stopAgent'),
    askReset: promiseService<OnRung, Job>('askReset'),
    awaitController: promiseService<OnRung, Job>('awaitController'),
    askReboot: promiseService<void, Job>('askReboot'),
    switchOff: promiseService<void, Job>('switchOff'),
    awaitOff: promiseService<void, Job>('awaitOff'),
    switchOn: promiseService<void, Job>('switchOn'),
    restorePower: promiseService<void, Job>('restorePower'),
    awaitBoot: promiseService<void, Job>('awaitBoot'),
    askReinstall: promiseService<void, Job>('askReinstall'),
    awaitSystem: promiseService<void, Job>('awaitSystem'),
    recordRecovery: promiseService<void, Job>('recordRecovery'),
  },
  actions: taskActions,
  guards: { rungIs: (_, { is, rung }: { is: Rung; rung: Rung }) => is === rung },
}).createMachine({
  id: 'recovery',
  context: beginTask,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: {
      description: 'Asks the BMDB for this machine, unless the guard is against it.',
      invoke: {
        id: 'claimRecovery',
        src: 'claimRecovery',
        input: jobOf,
        onDone: [
          { ...rungIs('restartingAgent'), target: 'restartingAgent' },
          { ...rungIs('rebooting'), target: 'rebooting' },
          { ...rungIs('resettingBmc'), target: 'resettingBmc' },
          { ...rungIs('powerCycling'), target: 'powerCycling' },
          { target: 'reinstalling' },
        ],
        onError: elseRefused,
      },
    },
    restartingAgent: {
      description: 'The machine may be well and only its agent dead.',
      initial: 'connecting',
      states: {
        connecting: {
          description: 'Opens the SSH connection and judges the host key.',
          invoke: {
            id: 'reachAgent',
            src: 'reachAgent',
            input: jobOf,
            onDone: [
              { ...rungIs('restartingAgent'), target: 'stopping' },
              { ...rungIs('rebooting'), target: '#recovery.rebooting' },
              { ...rungIs('resettingBmc'), target: '#recovery.resettingBmc' },
              { target: '#recovery.powerCycling' },
            ],
            onError: elseGiveUp,
          },
        },
        stopping: {
          description: 'Notes the attempt in the BMDB, then stops what is left of the agent.',
          invoke: {
            id: 'stopAgent',
            src: 'stopAgent',
            input: jobOf,
            onDone: { target: '#recovery.recording' },
            onError: elseGiveUp,
          },
        },
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
          description:
            'Polls for a changed boot id or another proof, at most as long as patience. A machine that did not answer is forced after two minutes.',
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
    resettingBmc: {
      description: 'What switches the machine hangs: it is restarted, and the machine runs on.',
      initial: 'asking',
      states: {
        asking: {
          description: 'Notes the request in the BMDB, then asks the provider once, if it may be.',
          invoke: {
            id: 'askReset',
            src: 'askReset',
            input: jobOf,
            onDone: [{ ...rungIs('resettingBmc'), target: 'awaitingController' }, ...beyondReset],
            onError: elseGiveUp,
          },
        },
        awaitingController: {
          description:
            'Polls until the controller answers; then goes on: nothing is recovered yet.',
          invoke: {
            id: 'awaitController',
            src: 'awaitController',
            input: jobOf,
            onDone: [...beyondReset],
            onError: elseGiveUp,
          },
        },
      },
    },
    powerCycling: {
      description: 'Being switched off and on again; never left off.',
      initial: 'switchingOff',
      states: {
        switchingOff: {
          description: 'Notes the request in the BMDB, then asks the provider once.',
          invoke: {
            id: 'switchOff',
            src: 'switchOff',
            input: jobOf,
            onDone: { target: 'awaitingOff' },
            onError: elseRestorePower,
          },
        },
        awaitingOff: {
          description: 'Polls until the power is seen off; unknown is not off.',
          invoke: {
            id: 'awaitOff',
            src: 'awaitOff',
            input: jobOf,
            onDone: { target: 'switchingOn' },
            onError: elseRestorePower,
          },
        },
        switchingOn: {
          description: 'Asks the provider for power, again and again if need be.',
          invoke: {
            id: 'switchOn',
            src: 'switchOn',
            input: jobOf,
            onDone: { target: 'awaitingBoot' },
            onError: elseRestorePower,
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
        restoringPower: {
          description: 'The attempt failed after the power was asked off: asks for it back.',
          invoke: {
            id: 'restorePower',
            src: 'restorePower',
            input: jobOf,
            onDone: { target: '#givingUp' },
            onError: { target: '#givingUp' },
          },
        },
      },
    },
    reinstalling: {
      description: 'The provider puts a new system on the machine; what was on it is lost.',
      initial: 'asking',
      states: {
        asking: {
          description: 'Notes the request, forgets the pinned host key, asks the provider once.',
          invoke: {
            id: 'askReinstall',
            src: 'askReinstall',
            input: jobOf,
            onDone: { target: 'awaitingSystem' },
            onError: elseGiveUp,
          },
        },
        awaitingSystem: {
          description: 'Polls until a new system runs and proves that it is the machine.',
          invoke: {
            id: 'awaitSystem',
            src: 'awaitSystem',
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
