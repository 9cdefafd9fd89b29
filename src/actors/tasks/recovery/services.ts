import { fromPromise } from 'xstate';
import type { OnRung } from '../../../machines/recovery.ts';
import type { Job } from '../../../machines/task.ts';
import { eitherOf, firstStep, serviceOf, stepAfter, type Step } from '../steps.ts';
import { giveUpService, workEnded } from '../task.ts';
import { claimStep } from './claim.ts';
import { countAttempt, orderPart, type Proved, type RecoverDeps, type Recovering } from './deps.ts';
import { beforeAsked } from './first-step.ts';
import { awaitOff, powerFirst, restorePower, switchOff, switchOn } from './power-cycle.ts';
import { askReboot, awaitBoot } from './reboot.ts';
import { askReinstall, awaitSystem } from './reinstall.ts';
import { askReset, awaitController } from './reset-controller.ts';
import { reachAgent, stopAgent, type Reached } from './restart-agent.ts';

export type { RecoverDeps } from './deps.ts';

/** What a step does, given what the steps before it returned. */
type Act<Given, Value> = (deps: RecoverDeps, given: Given, signal: AbortSignal) => Promise<Value>;

/** The services of the `recovery` chart. Each step may run again after a crash. */
export function recoveryServices(deps: RecoverDeps) {
  const { taskPool } = deps;
  const claimed = firstStep(taskPool, (turn, job) => claimStep(deps, turn, job));
  const after = <Given extends Recovering, Value extends object>(
    before: Pick<Step<Given>, 'of'>,
    act: Act<Given, Value>,
  ) => stepAfter(taskPool, before, (given, signal) => act(deps, given, signal));
  /** The first step of a rung: the power is on before anything else is done. */
  const first = <Value extends object>(act: Act<Recovering, Value>) =>
    stepAfter(
      taskPool,
      claimed,
      beforeAsked(deps, async (given, signal) => {
        await powerFirst(deps, given, signal);
        return act(deps, given, signal);
      }),
    );
  /** The step is the ladder's next one, on whichever rung that is. */
  const onRung = (step: Step<Recovering>) =>
    fromPromise<OnRung, Job>(async ({ input, signal }) => {
      const { attempt } = await step.run(input, signal);
      return { rung: attempt.step.rung };
    });

  // Its controller is in the way of the power, too.
  const resetAsked = stepAfter(
    taskPool,
    claimed,
    beforeAsked(deps, (given, signal) => askReset(deps, given, signal)),
  );
  const controllerBack = stepAfter(
    taskPool,
    resetAsked,
    beforeAsked(deps, (given, signal) => awaitController(deps, given, signal)),
  );
  const reached = first(async (_, given, signal) => ({
    ...given,
    answer: await reachAgent(deps, given, signal),
  }));
  const stopped = stepAfter<Reached, Proved>(
    taskPool,
    { of: (turn) => reached.of(turn)?.answer ?? undefined },
    beforeAsked(deps, (given, signal) => stopAgent(deps, given, signal)),
  );
  const rebootAsked = first(askReboot);
  const offAsked = first(switchOff);
  const off = after(offAsked, awaitOff);
  const on = after(off, switchOn);
  const booted = after(eitherOf(rebootAsked, on), awaitBoot);
  const reinstallAsked = first(askReinstall);
  const installed = after(reinstallAsked, awaitSystem);

  return {
    claimRecovery: onRung(claimed),
    reachAgent: onRung(reached),
    stopAgent: serviceOf(stopped),
    askReset: onRung(resetAsked),
    awaitController: onRung(controllerBack),
    askReboot: serviceOf(rebootAsked),
    awaitBoot: serviceOf(booted),
    switchOff: serviceOf(offAsked),
    awaitOff: serviceOf(off),
    switchOn: serviceOf(on),
    restorePower: serviceOf(after(claimed, restorePower)),
    askReinstall: serviceOf(reinstallAsked),
    awaitSystem: serviceOf(installed),
    recordRecovery: serviceOf(after(eitherOf<Proved>(stopped, booted, installed), recordRecovery)),
    giveUp: giveUpService(deps, {
      message: 'recovery attempt failed',
      backoffFor: () => deps.backoff,
      // What is ordered is tried once: where the database was away, that is still to come.
      isCancelled: (turn) => {
        const attempt = claimed.of(turn)?.attempt;
        return attempt?.unnoted === true && attempt.step.order !== null;
      },
      effects: (_, turn) => {
        const attempt = claimed.of(turn)?.attempt;
        return {
          ...(attempt && orderPart(attempt.step)),
          ...(attempt?.unasked && { unasked: attempt.unasked }),
        };
      },
      onFailed: (_, turn) => {
        const given = claimed.of(turn);
        if (!given) return;
        const { rung } = given.attempt.step;
        countAttempt(deps, given.provided.provider, rung, 'failed');
      },
    }),
  };
}

/** Ends the attempt: the machine is ready for a new agent start, and its permit is free. */
async function recordRecovery(deps: RecoverDeps, given: Proved): Promise<Proved> {
  const { slot, work, provided, attempt, proof } = given;
  const { step, asked } = attempt;
  await work.finish({
    kind: 'recovered',
    coolDown: deps.backoff,
    bootSeconds: proof.bootSeconds,
    ...orderPart(step),
    ...(asked ? {} : { unasked: true }),
  });
  workEnded(deps, given, 'finished');
  if (step.rung === 'rebooting')
    deps.metrics.count('shepherd_reboots_total', {
      provider: provided.provider,
      outcome: 'proved',
    });
  countAttempt(deps, provided.provider, step.rung, 'proved');
  const { rung, attempt: nth } = step;
  const fields = { slot, machine: work.machineId, rung, attempt: nth, proof: proof.what };
  deps.log.info(fields, 'machine recovered');
  return given;
}
