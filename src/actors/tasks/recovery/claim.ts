import { NothingToDo } from '../../../domain/errors.ts';
import { lastFailures, nextStep, type LadderProcess } from '../../../domain/recovery/ladder.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../turns/task-pool.ts';
import { claim, workEnded, type Claimed } from '../task.ts';
import { countAttempt, circumstancesOf, type RecoverDeps, type Recovering } from './deps.ts';
import { leaveSwitchedOn } from './power-cycle.ts';

/**
 * Claims the machine for the process of its next step, as far as the mirror can tell which one that
 * is; the rows that come with the claim decide.
 */
export async function claimStep(deps: RecoverDeps, turn: Turn, job: Job): Promise<Recovering> {
  const process = likelyProcess(deps, job);
  const claimed = await claim(deps, process, turn, job);
  const { slot, work, row } = claimed;
  const step = nextStep(row, circumstancesOf(deps, claimed));
  if ('end' in step) {
    throw step.startAgain
      ? await left(deps, claimed, step.end)
      : await parked(deps, claimed, step.end);
  }
  if (step.process !== process) {
    const reason = `${slot} is due for ${step.process}, not for ${process}`;
    await work.cancel(reason);
    workEnded(deps, claimed, 'canceled');
    throw new NothingToDo(reason);
  }
  return { ...claimed, attempt: { step } };
}

function likelyProcess(deps: RecoverDeps, { slot, machineId }: Job): LadderProcess {
  const row = deps.facts().get(slot)?.row;
  const provider = row?.provided && deps.providers.get(row.provided.provider);
  if (!provider || row.machineId !== machineId) return 'ShepherdRecovery';
  const step = nextStep(row, circumstancesOf(deps, { slot, row, provider }));
  return 'end' in step ? 'ShepherdRecovery' : step.process;
}

/** The ladder lets go of the machine for a while, without a permit: its agent is started again. */
async function left(deps: RecoverDeps, claimed: Claimed, end: string): Promise<Error> {
  const { slot, work } = claimed;
  await work.fail(deps.backoff, end, { unasked: { countsOn: null } });
  workEnded(deps, claimed, 'failed');
  deps.log.warn({ slot, machine: work.machineId, cause: end }, 'its agent is started again');
  return new NothingToDo(`${slot}: ${end}`);
}

/** Nothing is left to try: the machine waits for a person, and its permit is free for others. */
async function parked(deps: RecoverDeps, claimed: Claimed, end: string): Promise<Error> {
  const { slot, work, row, provided } = claimed;
  const isOn = await leaveSwitchedOn(deps, claimed, claimed.signal);
  const said = [end, ...(isOn ? [] : ['it may be switched off']), lastFailures(row)];
  const reason = said.filter((each) => each !== null).join('; ');
  await work.fail(deps.backoff, reason, { quarantine: { kind: 'needsHuman', reason } });
  workEnded(deps, claimed, 'failed');
  deps.metrics.count('shepherd_reboots_total', {
    provider: provided.provider,
    outcome: 'exhausted',
  });
  const { recovery } = row;
  if (recovery) countAttempt(deps, provided.provider, recovery.rung, 'exhausted');
  deps.log.error({ slot, machine: work.machineId, reason }, 'a human is needed');
  return new NothingToDo(`${slot}: ${reason}`);
}
