import { NothingToDo } from '../../../domain/errors.ts';
import { nextStep, type LadderProcess } from '../../../domain/recovery/ladder.ts';
import { lastFailures } from '../../../domain/recovery/last-failures.ts';
import type { OnRung } from '../../../machines/recovery.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../desk.ts';
import { claim, stepSignal, workEnded } from '../task.ts';
import { circumstancesOf, providerOfTurn, type RecoverDeps } from './deps.ts';
import { leaveSwitchedOn } from './power-cycle.ts';

/**
 * Claims the machine for the process of its next step, as far as the mirror can tell which one that
 * is; the rows that come with the claim decide.
 */
export async function claimStep(deps: RecoverDeps, job: Job, signal: AbortSignal): Promise<OnRung> {
  const turn = deps.desk.begin(job.slot);
  const process = likelyProcess(deps, job);
  const work = await claim(deps, process, turn, job);
  const step = nextStep(work.row, circumstancesOf(deps, job.slot, work.row));
  if ('end' in step) {
    throw step.startAgain
      ? await left(deps, turn, step.end)
      : await parked(deps, turn, step.end, signal);
  }
  if (step.process !== process) {
    const reason = `${job.slot} is due for ${step.process}, not for ${process}`;
    await work.cancel(reason);
    workEnded(deps, turn, 'canceled');
    throw new NothingToDo(reason);
  }
  turn.attempt = { step };
  return { rung: step.rung };
}

function likelyProcess(deps: RecoverDeps, { slot, machineId }: Job): LadderProcess {
  const row = deps.facts().get(slot)?.row;
  const isKnown = row?.machineId === machineId && row.provided;
  if (!isKnown || !deps.providers.has(row.provided.provider)) return 'ShepherdRecovery';
  const step = nextStep(row, circumstancesOf(deps, slot, row));
  return 'end' in step ? 'ShepherdRecovery' : step.process;
}

/** The ladder lets go of the machine for a while, without a permit: its agent is started again. */
async function left(deps: RecoverDeps, turn: Turn, end: string): Promise<Error> {
  await turn.work!.fail(deps.backoff, end, { unasked: { countsOn: null } });
  workEnded(deps, turn, 'failed');
  const { slot } = turn;
  deps.log.warn({ slot, machine: turn.work!.machineId, cause: end }, 'its agent is started again');
  return new NothingToDo(`${slot}: ${end}`);
}

/** Nothing is left to try: the machine waits for a person, and its permit is free for others. */
async function parked(
  deps: RecoverDeps,
  turn: Turn,
  end: string,
  signal: AbortSignal,
): Promise<Error> {
  const work = turn.work!;
  const provider = providerOfTurn(turn);
  const isOn = await leaveSwitchedOn(deps, turn, stepSignal(deps, turn, signal));
  const said = [end, ...(isOn ? [] : ['it may be switched off']), lastFailures(work.row)];
  const reason = said.filter((each) => each !== null).join('; ');
  await work.fail(deps.backoff, reason, { quarantine: { kind: 'needsHuman', reason } });
  workEnded(deps, turn, 'failed');
  deps.metrics.reboot(provider, 'exhausted');
  const { recovery } = work.row;
  if (recovery) deps.metrics.ladderAttempt(provider, recovery.rung, 'exhausted');
  deps.log.error({ slot: turn.slot, machine: work.machineId, reason }, 'a human is needed');
  return new NothingToDo(`${turn.slot}: ${reason}`);
}
