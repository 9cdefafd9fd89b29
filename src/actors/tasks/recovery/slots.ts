import { fromPromise } from 'xstate';
import type { OnRung } from '../../../machines/recovery.ts';
import type { Job } from '../../../machines/task.ts';
import { giveUpSlot, stepSignal } from '../task.ts';
import { claimStep } from './claim.ts';
import { beforeAsked } from './first-step.ts';
import { orderPart, providerOfTurn, type RecoverDeps } from './deps.ts';
import { awaitBoot, askReboot } from './reboot.ts';
import { awaitOff, powerFirst, restorePower, switchOff, switchOn } from './power-cycle.ts';
import { recordRecovery } from './record.ts';
import { askReinstall, awaitSystem } from './reinstall.ts';
import { reachAgent, stopAgent } from './restart-agent.ts';

export type { RecoverDeps } from './deps.ts';

/** Fills the slots of the `recovery` chart. Each step may run again after a crash. */
export function recoverSlots(deps: RecoverDeps) {
  const slot = <Output>(
    act: (deps: RecoverDeps, job: Job, signal: AbortSignal) => Promise<Output>,
  ) => fromPromise<Output, Job>(({ input, signal }) => act(deps, input, signal));
  /** Whatever a rung begins with. */
  const first = <Output>(
    act: (deps: RecoverDeps, job: Job, signal: AbortSignal) => Promise<Output>,
  ) =>
    slot<Output>(
      beforeAsked(async (_, job, signal) => {
        const turn = deps.desk.turn(job.slot);
        await powerFirst(deps, turn, stepSignal(deps, turn, signal));
        return act(deps, job, signal);
      }),
    );
  return {
    claimRecovery: slot<OnRung>(claimStep),
    reachAgent: first<OnRung>(reachAgent),
    stopAgent: slot<void>(beforeAsked(stopAgent)),
    askReboot: first<void>(askReboot),
    awaitBoot: slot<void>(awaitBoot),
    switchOff: first<void>(switchOff),
    awaitOff: slot<void>(awaitOff),
    switchOn: slot<void>(switchOn),
    restorePower: slot<void>(restorePower),
    askReinstall: first<void>(askReinstall),
    awaitSystem: slot<void>(awaitSystem),
    recordRecovery: slot<void>(recordRecovery),
    giveUp: giveUpSlot(deps, {
      message: 'recovery attempt failed',
      backoffFor: () => deps.backoff,
      effects: (_, { attempt }) => ({
        ...(attempt && orderPart(attempt.step)),
        ...(attempt?.unasked && { unasked: attempt.unasked }),
      }),
      onFailed: (_, turn) => {
        if (!turn.attempt) return;
        const { rung } = turn.attempt.step;
        deps.metrics.ladderAttempt(providerOfTurn(turn), rung, 'failed');
      },
    }),
  };
}
