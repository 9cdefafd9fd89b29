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
 * Restarts a hanging controller, and records it just before. If a restart is not allowed again yet,
 * or the controller answers again, the same attempt continues with the blocked rung.
 * @throws {ProviderError} the provider refused, or perhaps did it.
 */
export async function askReset(given: Recovering): Promise<Told<'rung'>> {
  const { deps, slot, work } = given;
  const controller = required(hungControllerOf(slot, deps.facts()), 'controller that hangs');
  try {
    await reset(given, controller);
  } catch (error) {
    if (!(error instanceof FleetError) || !(await isNeedless(given, error))) throw error;
    deps.log.info({ slot, controller, cause: explain(error) }, 'the controller is not restarted');
    return onwards(given);
  }
  countAttempt(given, 'resettingBmc', 'asked');
  deps.log.warn({ slot, machine: work.machineId, controller }, 'its controller is restarted');
  return { rung: 'resettingBmc' };
}

/** The controller was restarted recently or answers again, so that the provider refuses. */
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
    throw new TimedOut('the last look at the controller is too old for a restart');
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
 * Removes a record whose lost answer stopped the request before it was sent. The record would
 * prevent any restart of the controller for a day.
 */
async function takeBack({ deps, work }: Recovering, controller: string): Promise<void> {
  try {
    await work.note({ kind: 'controllerResetRefused', controller });
  } catch (err) {
    const fields = { machine: work.machineId, controller, err };
    deps.log.warn(fields, 'a restart that was not sent stays recorded');
  }
}

/**
 * Waits, without a place, until the controller answers again, then continues with the blocked rung:
 * nothing has recovered the machine yet.
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

/** @throws {NothingToDo} the next step belongs to another process. */
function onwards(given: Recovering): Told<'rung'> {
  const { slot, work, row, attempt } = given;
  const next = stepBeyondController(row, circumstancesOf(given));
  if ('end' in next || next.process !== work.process) {
    throw new NothingToDo(`${slot}: the next step belongs to another process`);
  }
  attempt.step = next;
  return { rung: next.rung };
}
