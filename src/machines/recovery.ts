import { setup } from 'xstate';
import { promiseService } from './services.ts';
import {
  beginTask,
  elseRefused,
  endOfTask,
  errorOf,
  resultOf,
  step,
  taskActions,
  taskActors,
  taskTypes,
  onTo,
  thenDone,
  type Job,
} from './task.ts';
import type { Rung } from '../domain/recovery/rungs.ts';

/** Proof that the machine booted. */
export interface Proof {
  readonly what: string;
  /** Time from request to proof, by the database clock; null: unknown, or no boot. */
  readonly bootSeconds: number | null;
}

/** A request, and the facts that later prove its success. */
export interface SentRequest {
  /** By the database clock; null: no request was needed, because the machine had booted. */
  readonly askedAtMs: number | null;
  /** Null: unknown. */
  readonly bootIdBefore: string | null;
  /** An earlier request turned out to have succeeded. */
  readonly proof: Proof | null;
  /** The request went to the machine's system, which did not answer and may ignore it. */
  readonly isUnheard?: boolean;
}

/** Results that the steps of a recovery pass on. */
export interface RecoveryResults {
  /** The rung on which the task continues. */
  readonly rung: Rung;
  /** The machine's current boot, read by SSH; null: it does not answer. */
  readonly bootId: string | null;
  readonly asked: SentRequest;
  readonly proof: Proof;
}
type RecoveryPart<Part extends keyof RecoveryResults> = Pick<RecoveryResults, Part>;
type OnRung = RecoveryPart<'rung'>;

const onRung = <const Of extends Rung, const Target extends string>(rung: Of, target: Target) => ({
  guard: {
    type: 'rungIs' as const,
    params: ({ event }: { event: { output: OnRung } }) => ({ is: event.output.rung, rung }),
  },
  ...onTo(target),
});

/** The rung that a hanging controller blocked. */
const beyondReset = [
  onRung('rebooting', '#recovery.rebooting'),
  onTo('#recovery.powerCycling'),
] as const;

/** However a power cycle ends halfway, the machine is not left switched off. */
const elseRestorePower = {
  target: 'restoringPower',
  actions: { type: 'keepFailure', params: errorOf },
} as const;

/**
 * Recovers a silent machine by one attempt on the mildest remaining rung. Claims it, takes a
 * recovery permit if the rung interrupts, and carries out the rung. Then waits for evidence of
 * success. An accepted request is no evidence. Ends with the machine ready for a new agent start.
 * If SSH does not answer, the agent cannot be restarted, and the same attempt continues with the
 * next rung.
 */
export const recovery = setup({
  types: taskTypes<RecoveryResults>(),
  actors: {
    ...taskActors,
    claimRecovery: promiseService<OnRung, Job>('claimRecovery'),
    reachAgent: promiseService<RecoveryPart<'rung' | 'bootId'>, Job>('reachAgent'),
    stopAgent: promiseService<RecoveryPart<'proof'>, Job & RecoveryPart<'bootId'>>('stopAgent'),
    askReset: promiseService<OnRung, Job>('askReset'),
    awaitController: promiseService<OnRung, Job>('awaitController'),
    askReboot: promiseService<RecoveryPart<'asked'>, Job>('askReboot'),
    switchOff: promiseService<RecoveryPart<'asked'>, Job>('switchOff'),
    awaitOff: promiseService<void, Job & RecoveryPart<'asked'>>('awaitOff'),
    switchOn: promiseService<RecoveryPart<'asked'>, Job & RecoveryPart<'asked'>>('switchOn'),
    restorePower: promiseService<void, Job>('restorePower'),
    awaitBoot: promiseService<RecoveryPart<'proof'>, Job & RecoveryPart<'asked'>>('awaitBoot'),
    askReinstall: promiseService<RecoveryPart<'asked'>, Job>('askReinstall'),
    awaitSystem: promiseService<RecoveryPart<'proof'>, Job & RecoveryPart<'asked'>>('awaitSystem'),
    recordRecovery: promiseService<void, Job & RecoveryPart<'proof'>>('recordRecovery'),
  },
  actions: taskActions<RecoveryResults>(),
  guards: { rungIs: (_, { is, rung }: { is: Rung; rung: Rung }) => is === rung },
}).createMachine({
  id: 'recovery',
  context: beginTask<RecoveryResults>,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: step(
      'claimRecovery',
      'Claims the machine in the database, unless the guard refuses.',
      [
        onRung('restartingAgent', 'restartingAgent'),
        onRung('rebooting', 'rebooting'),
        onRung('resettingBmc', 'resettingBmc'),
        onRung('powerCycling', 'powerCycling'),
        onTo('reinstalling'),
      ],
      elseRefused,
    ),
    restartingAgent: {
      description: 'Restarts the agent over SSH, because the machine itself may be well.',
      initial: 'connecting',
      states: {
        connecting: step('reachAgent', 'Opens an SSH connection and checks the host key.', [
          onRung('restartingAgent', 'stopping'),
          onRung('rebooting', '#recovery.rebooting'),
          onRung('resettingBmc', '#recovery.resettingBmc'),
          onTo('#recovery.powerCycling'),
        ]),
        stopping: step(
          'stopAgent',
          'Notes the attempt in the database, then stops the old agent.',
          onTo('#recovery.recording'),
        ),
      },
    },
    rebooting: {
      description: 'A reboot is requested and not proved yet.',
      initial: 'asking',
      states: {
        asking: step(
          'askReboot',
          'Notes the request in the database, then sends it to the provider once.',
          onTo('awaitingBoot'),
        ),
        awaitingBoot: step(
          'awaitBoot',
          'Waits for a new boot id or another proof of the boot. After two minutes without an answer, the reboot is forced.',
          onTo('#recovery.recording'),
        ),
      },
    },
    resettingBmc: {
      description: "Restarts the machine's BMC, which hangs. The machine itself keeps running.",
      initial: 'asking',
      states: {
        asking: step(
          'askReset',
          'Notes the request in the database, then sends it to the provider once, if a reset is allowed.',
          [onRung('resettingBmc', 'awaitingController'), ...beyondReset],
        ),
        awaitingController: step(
          'awaitController',
          'Waits until the BMC answers, then continues with the next means of recovery.',
          [...beyondReset],
        ),
      },
    },
    powerCycling: {
      description: 'Switches the machine off and on again, and never leaves it off.',
      initial: 'switchingOff',
      states: {
        switchingOff: step(
          'switchOff',
          'Notes the request in the database, then sends it to the provider once.',
          onTo('awaitingOff'),
          elseRestorePower,
        ),
        awaitingOff: step(
          'awaitOff',
          'Waits until the provider reports the power as off. Unknown does not count as off.',
          onTo('switchingOn'),
          elseRestorePower,
        ),
        switchingOn: step(
          'switchOn',
          'Asks the provider to switch the machine on, repeatedly if necessary.',
          onTo('awaitingBoot'),
          elseRestorePower,
        ),
        awaitingBoot: step(
          'awaitBoot',
          'Waits for a new boot id or another proof of the boot.',
          onTo('#recovery.recording'),
        ),
        restoringPower: step(
          'restorePower',
          'The attempt failed after the power-off request. Asks the provider to switch the machine on again.',
          { target: '#givingUp' },
          { target: '#givingUp' },
        ),
      },
    },
    reinstalling: {
      description: 'The provider installs a new system. All data on the machine is lost.',
      initial: 'asking',
      states: {
        asking: step(
          'askReinstall',
          'Notes the request, removes the stored host key, and sends the request to the provider once.',
          onTo('awaitingSystem'),
        ),
        awaitingSystem: step(
          'awaitSystem',
          'Waits until a new system runs and proves that it is this machine.',
          onTo('#recovery.recording'),
        ),
      },
    },
    recording: step(
      'recordRecovery',
      "Removes the old agent's key and returns the permit in one transaction.",
      thenDone,
    ),
    ...endOfTask,
  },
});
