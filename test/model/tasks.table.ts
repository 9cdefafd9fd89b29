/**
 * The tasks as the specification has them, written by hand and not from their charts: the service
 * of each step, and the step that follows its end. Every service gets slot and machine; a step also
 * gets the results of all earlier steps, and `giveUp` gets the failure. No other event leads
 * anywhere.
 */

/** One step: its only service, and where that leads. */
export interface TaskStep {
  readonly calls: string;
  /**
   * The step after a success; where the answer decides, the step by the rung that the answer names.
   */
  readonly then: string | Readonly<Record<string, string>>;
  readonly orElse: string;
}
export type TaskTable = Readonly<Record<string, TaskStep>>;

const step = (calls: string, then: TaskStep['then'], orElse: string): TaskStep => ({
  calls,
  then,
  orElse,
});

/** However a task ends, it reads the rows once and gives up once what it did not finish. */
export const CLOSING: TaskTable = {
  givingUp: step('giveUp', 'rereading', 'rereading'),
  rereading: step('reread', 'ended', 'ended'),
};

/** Nothing runs on a host before its key is judged, and nothing is recorded that did not happen. */
const AGENT_START: TaskTable = {
  claiming: step('claimStart', 'connecting', 'rereading'),
  connecting: step('connect', 'verifying', 'givingUp'),
  verifying: step('verifyHost', 'uploading', 'givingUp'),
  uploading: step('upload', 'executing', 'givingUp'),
  executing: step('execute', 'recording', 'givingUp'),
  recording: step('recordStart', 'rereading', 'givingUp'),
  ...CLOSING,
};

/** A BMC that was restarted, or may not be restarted, no longer blocks the ladder. */
const BEYOND_RESET = { rebooting: 'rebooting.asking', powerCycling: 'powerCycling.switchingOff' };

/**
 * One attempt on one rung. Evidence makes it a success, not an accepted request. Without SSH the
 * attempt goes on with the next rung. After a power-off request, a power-on request follows
 * whatever fails.
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

export const TASK_TABLES = {
  agentStart: AGENT_START,
  recovery: RECOVERY,
  deprovision: DEPROVISION,
};
