/**
 * The tasks as the specification has them, written by hand and not from their charts: which service each
 * step calls, and which step follows its end. Every service is called with slot and machine, a step with
 * all that the steps before it told, and `giveUp` with the failure. Nothing else that happens leads anywhere.
 */

/** One step: the only service that runs in it, and where that leads. */
export interface TaskStep {
  readonly calls: string;
  /** The step that follows a success; where the answer decides, by the rung that it names. */
  readonly then: string | Readonly<Record<string, string>>;
  readonly orElse: string;
}
export type TaskTable = Readonly<Record<string, TaskStep>>;

const step = (calls: string, then: TaskStep['then'], orElse: string): TaskStep => ({
  calls,
  then,
  orElse,
});

/** However a task ends, it reads the rows once; what was claimed and not finished is given up once. */
export const CLOSING: TaskTable = {
  givingUp: step('giveUp', 'rereading', 'rereading'),
  rereading: step('reread', 'ended', 'ended'),
};

/** Nothing runs on a host before its key is judged; nothing is recorded that did not happen. */
const TAKEOVER: TaskTable = {
  claiming: step('claimStart', 'connecting', 'rereading'),
  connecting: step('connect', 'verifying', 'givingUp'),
  verifying: step('verifyHost', 'uploading', 'givingUp'),
  uploading: step('upload', 'executing', 'givingUp'),
  executing: step('execute', 'recording', 'givingUp'),
  recording: step('recordStart', 'rereading', 'givingUp'),
  ...CLOSING,
};

/** A controller that was restarted, or may not be, is no longer in the way of the ladder. */
const BEYOND_RESET = { rebooting: 'rebooting.asking', powerCycling: 'powerCycling.switchingOff' };

/**
 * One attempt on one rung, which counts as a success by its evidence and not by an accepted request.
 * Where SSH does not answer, the attempt goes on with the next rung. Power that was asked off is asked
 * for again whatever fails.
 */
const RECOVERY: TaskTable = {
  claiming: step(
    'claimRecovery',
    {
      restartingAgent: 'restartingAgent.connecting',
      rebooting: 'rebooting.asking',
      resettingBmc: 'resettingBmc.asking',
      powerCycling: 'powerCycling.switchingOff',
      reinstalling: 'reinstalling.asking',
    },
    'rereading',
  ),
  'restartingAgent.connecting': step(
    'reachAgent',
    {
      restartingAgent: 'restartingAgent.stopping',
      rebooting: 'rebooting.asking',
      resettingBmc: 'resettingBmc.asking',
      powerCycling: 'powerCycling.switchingOff',
    },
    'givingUp',
  ),
  'restartingAgent.stopping': step('stopAgent', 'recording', 'givingUp'),
  'rebooting.asking': step('askReboot', 'rebooting.awaitingBoot', 'givingUp'),
  'rebooting.awaitingBoot': step('awaitBoot', 'recording', 'givingUp'),
  'resettingBmc.asking': step(
    'askReset',
    { resettingBmc: 'resettingBmc.awaitingController', ...BEYOND_RESET },
    'givingUp',
  ),
  'resettingBmc.awaitingController': step('awaitController', BEYOND_RESET, 'givingUp'),
  'powerCycling.switchingOff': step(
    ...(['switchOff', 'powerCycling.awaitingOff', 'powerCycling.restoringPower'] as const),
  ),
  'powerCycling.awaitingOff': step(
    ...(['awaitOff', 'powerCycling.switchingOn', 'powerCycling.restoringPower'] as const),
  ),
  'powerCycling.switchingOn': step(
    ...(['switchOn', 'powerCycling.awaitingBoot', 'powerCycling.restoringPower'] as const),
  ),
  'powerCycling.awaitingBoot': step('awaitBoot', 'recording', 'givingUp'),
  'powerCycling.restoringPower': step('restorePower', 'givingUp', 'givingUp'),
  'reinstalling.asking': step('askReinstall', 'reinstalling.awaitingSystem', 'givingUp'),
  'reinstalling.awaitingSystem': step('awaitSystem', 'recording', 'givingUp'),
  recording: step('recordRecovery', 'rereading', 'givingUp'),
  ...CLOSING,
};

/** Rows are deleted only once the device is gone and its slot can be used again. */
const DEPROVISION: TaskTable = {
  claiming: step('claimDeprovision', 'endingAgent', 'rereading'),
  endingAgent: step('endAgent', 'asking', 'givingUp'),
  asking: step('askDestroy', 'awaitingGone', 'givingUp'),
  awaitingGone: step('awaitGone', 'awaitingReusable', 'givingUp'),
  awaitingReusable: step('awaitReusable', 'recording', 'givingUp'),
  recording: step('recordDeprovision', 'rereading', 'givingUp'),
  ...CLOSING,
};

export const TASK_TABLES = { takeover: TAKEOVER, recovery: RECOVERY, deprovision: DEPROVISION };
