import type { Work } from '../../../adapters/bmdb/port.ts';
import {
  AmbiguousCommit,
  explain,
  FleetError,
  isProviderError,
  NothingToDo,
  Throttled,
  TimedOut,
} from '../../../domain/errors.ts';
import type { Controller } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { hungControllerOf } from '../../../domain/recovery/rungs.ts';
import { stepBeyondController } from '../../../domain/recovery/ladder.ts';
import { createSendCheck } from '../../providers/holds.ts';
import { required, requireOurs } from '../task.ts';
import {
  circumstancesOf,
  countAttempt,
  rungPolicy,
  type RecoverDeps,
  type Recovering,
  type Told,
} from './deps.ts';
import { pause } from './evidence.ts';

const CALL = 'resetController';

/**
 * Has a hanging controller restarted, which is noted just before. Where it may not be, since that was
 * done a short while ago, or need not, since it answers again, the same attempt goes on with the rung
 * that it was in the way of.
 * @throws {ProviderError} the provider refused, or perhaps did it.
 */
export async function askReset(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Told<'rung'>> {
  const { slot, work, provided } = given;
  const controller = required(hungControllerOf(slot, deps.facts()), 'controller that hangs');
  try {
    await reset(deps, given, controller, signal);
  } catch (error) {
    if (!(error instanceof FleetError) || !(await isNeedless(deps, given, error, signal)))
      throw error;
    deps.log.info({ slot, controller, cause: explain(error) }, 'the controller is left as it is');
    return onwards(deps, given);
  }
  countAttempt(deps, provided.provider, 'resettingBmc', 'asked');
  deps.log.warn({ slot, machine: work.machineId, controller }, 'its controller is restarted');
  return { rung: 'resettingBmc' };
}

/** It was restarted a short while ago, or answers again by itself: the provider refuses that. */
async function isNeedless(
  deps: RecoverDeps,
  given: Recovering,
  error: FleetError,
  signal: AbortSignal,
): Promise<boolean> {
  if (error instanceof Throttled) return true;
  if (!isProviderError(error, 'conflict') || facetsOf(error).outcome !== 'not-done') return false;
  return (await controllerOf(deps, given, signal))?.hangs === false;
}

async function reset(
  deps: RecoverDeps,
  { work, provider, provided }: Recovering,
  controller: string,
  signal: AbortSignal,
): Promise<void> {
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
      countAttempt(deps, name, 'resettingBmc', 'refused');
      await work.note({ kind: 'controllerResetRefused', controller });
    }
    if (isNoteLost) await takeBack(deps, work, controller);
    throw error;
  }
}

/**
 * A note whose answer was lost stopped the request before it was sent. Left there, it would keep the
 * machine from any restart of its controller for a day.
 */
async function takeBack({ log }: RecoverDeps, work: Work, controller: string): Promise<void> {
  try {
    await work.note({ kind: 'controllerResetRefused', controller });
  } catch (err) {
    log.warn(
      { machine: work.machineId, controller, err },
      'a restart that was not sent stays noted',
    );
  }
}

/**
 * Waits, without a place, until the controller answers again, and goes on with the rung that it was in
 * the way of: nothing has recovered the machine yet.
 * @throws {TimedOut} within the patience.
 */
export async function awaitController(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Told<'rung'>> {
  const { slot, provided } = given;
  deps.taskPool.leavePlace(slot);
  const { patienceMs } = rungPolicy(deps, given);
  const deadline = deps.clock.monotonic() + patienceMs;
  do {
    if (deps.clock.monotonic() >= deadline) {
      throw new TimedOut(`the controller of ${slot} does not answer within ${patienceMs} ms`);
    }
    await pause(deps, signal);
  } while ((await controllerOf(deps, given, signal))?.hangs !== false);
  countAttempt(deps, provided.provider, 'resettingBmc', 'proved');
  deps.log.info({ slot }, 'its controller answers again');
  return onwards(deps, given);
}

/** A question that fails shows nothing. */
async function controllerOf(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Controller | null> {
  try {
    return (await requireOurs(given, signal)).controller ?? null;
  } catch (error) {
    if (signal.aborted || !(error instanceof FleetError)) throw error;
    deps.log.debug(
      { slot: given.slot, cause: explain(error) },
      'the controller does not answer yet',
    );
    return null;
  }
}

/** @throws {NothingToDo} what comes next is another process's. */
function onwards(deps: RecoverDeps, given: Recovering): Told<'rung'> {
  const { slot, work, row, attempt } = given;
  const next = stepBeyondController(row, circumstancesOf(deps, given));
  if ('end' in next || next.process !== work.process) {
    throw new NothingToDo(`${slot}: what comes next is another one's to do`);
  }
  attempt.step = next;
  return { rung: next.rung };
}
