import {
  AmbiguousCommit,
  explain,
  FleetError,
  isProviderError,
  NothingToDo,
  Throttled,
  TimedOut,
} from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { stepBeyondController } from '../../../domain/recovery/ladder.ts';
import { hungControllerOf } from '../../../domain/recovery/rungs.ts';
import { createSendCheck } from '../../providers/holds.ts';
import { required } from '../task.ts';
import {
  circumstancesOf,
  countAttempt,
  glance,
  pause,
  rungPolicy,
  type Recovering,
  type Told,
} from './recovering.ts';

const CALL = 'resetController';

/**
 * Has a hanging controller restarted, which is noted just before. Where it may not be, since that was
 * done a short while ago, or need not, since it answers again, the same attempt goes on with the rung
 * that it was in the way of.
 * @throws {ProviderError} the provider refused, or perhaps did it.
 */
export async function askReset(given: Recovering): Promise<Told<'rung'>> {
  const { deps, slot, work } = given;
  const controller = required(hungControllerOf(slot, deps.facts()), 'controller that hangs');
  try {
    await reset(given, controller);
  } catch (error) {
    if (!(error instanceof FleetError) || !(await isNeedless(given, error))) throw error;
    deps.log.info({ slot, controller, cause: explain(error) }, 'the controller is left as it is');
    return onwards(given);
  }
  countAttempt(given, 'resettingBmc', 'asked');
  deps.log.warn({ slot, machine: work.machineId, controller }, 'its controller is restarted');
  return { rung: 'resettingBmc' };
}

/** It was restarted a short while ago, or answers again by itself: the provider refuses that. */
async function isNeedless(given: Recovering, error: FleetError): Promise<boolean> {
  if (error instanceof Throttled) return true;
  if (!isProviderError(error, 'conflict') || facetsOf(error).outcome !== 'not-done') return false;
  return answers(given);
}

async function reset(given: Recovering, controller: string): Promise<void> {
  const { deps, work, provider, provided, signal } = given;
  const { provider: name, providerId } = provided;
  let isNoted = false;
  let isNoteLost = false;
  const check = async () => {
    try {
      await work.note({ kind: 'controllerResetAsked', controller });
    } catch (error) {
      isNoteLost = error instanceof AmbiguousCommit;
      throw error;
    }
    isNoted = true;
  };
  const beforeSending = createSendCheck(deps.clock, check, async () => {
    throw new TimedOut('the controller was looked at too long ago to be restarted');
  });
  try {
    await deps.holds.guard(name, CALL, () =>
      provider.resetController(providerId, { signal, beforeSending }),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    if (isNoted && facetsOf(error).outcome === 'not-done') {
      countAttempt(given, 'resettingBmc', 'refused');
      await work.note({ kind: 'controllerResetRefused', controller });
    }
    if (isNoteLost) await takeBack(given, controller);
    throw error;
  }
}

/**
 * A note whose answer was lost stopped the request before it was sent. Left there, it would keep the
 * machine from any restart of its controller for a day.
 */
async function takeBack({ deps, work }: Recovering, controller: string): Promise<void> {
  try {
    await work.note({ kind: 'controllerResetRefused', controller });
  } catch (err) {
    const fields = { machine: work.machineId, controller, err };
    deps.log.warn(fields, 'a restart that was not sent stays noted');
  }
}

/**
 * Waits, without a place, until the controller answers again, and goes on with the rung that it was in
 * the way of: nothing has recovered the machine yet.
 * @throws {TimedOut} within the patience.
 */
export async function awaitController(given: Recovering): Promise<Told<'rung'>> {
  const { deps, slot } = given;
  deps.taskPool.leavePlace(slot);
  const { patienceMs } = rungPolicy(given);
  const deadline = deps.clock.monotonic() + patienceMs;
  do {
    if (deps.clock.monotonic() >= deadline) {
      throw new TimedOut(`the controller of ${slot} does not answer within ${patienceMs} ms`);
    }
    await pause(given);
  } while (!(await answers(given)));
  countAttempt(given, 'resettingBmc', 'proved');
  deps.log.info({ slot }, 'its controller answers again');
  return onwards(given);
}

async function answers(given: Recovering): Promise<boolean> {
  const machine = await glance(given, 'the controller does not answer yet');
  return machine?.controller?.hangs === false;
}

/** @throws {NothingToDo} what comes next is another process's. */
function onwards(given: Recovering): Told<'rung'> {
  const { slot, work, row, attempt } = given;
  const next = stepBeyondController(row, circumstancesOf(given));
  if ('end' in next || next.process !== work.process) {
    throw new NothingToDo(`${slot}: what comes next is another one's to do`);
  }
  attempt.step = next;
  return { rung: next.rung };
}
