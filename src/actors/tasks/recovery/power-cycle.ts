import { barOf } from '../../../domain/eligibility.ts';
import {
  AmbiguousCommit,
  explain,
  isRetryable,
  NotImplemented,
  ProviderError,
  TimedOut,
} from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { lackOf, meansOf } from '../../../domain/recovery/rungs.ts';
import type { Claimed } from '../task.ts';
import {
  askProvider,
  awaitBoot,
  cameTrueBy,
  probeBeforeBoot,
  resume,
  returnPermitLate,
} from './boot.ts';
import {
  glance,
  noteProgress,
  pause,
  rungPolicy,
  type Attempt,
  type RecoverDeps,
  type Recovering,
  type RecoveryFacts,
} from './recovering.ts';

/** Time for which power-on is requested again after an attempt ended halfway. */
const RESTORE_MS = 5 * 60_000;

/** Requests power-off, unless it was requested already. */
export async function switchOff(given: Recovering): Promise<RecoveryFacts<'asked'>> {
  const { attempt } = given;
  if (attempt.step.resumed) {
    attempt.power = 'off';
    return resume(given);
  }
  const { bootIdBefore, proof } = await probeBeforeBoot(given);
  if (proof) return cameTrueBy(bootIdBefore, proof);
  const asked = await askProvider(given, {
    ...{ call: 'power', bootIdBefore },
    ask: (provider, id, how) => {
      attempt.power = 'off';
      return provider.setPower(id, 'off', how);
    },
  });
  return { asked };
}

/** Repeats the request until the power is seen off, and records it. @throws {TimedOut} */
export async function awaitOff(given: Recovering & RecoveryFacts<'asked'>): Promise<void> {
  const { deps, slot, work, row, attempt, asked } = given;
  const wasSeenOff = attempt.step.resumed && (row.recovery?.offSeenAtMs ?? null) !== null;
  if (asked.proof || wasSeenOff) return;
  deps.taskPool.leavePlace(slot);
  const { patienceMs } = rungPolicy(given);
  const deadline = deps.clock.monotonic() + patienceMs;
  const whileWaiting = returnPermitLate(given, asked.askedAtMs ?? deps.nowMs());
  while (!(await isSeenOff(given))) {
    if (deps.clock.monotonic() >= deadline) {
      throw new TimedOut(`${slot} was not seen switched off within ${patienceMs} ms`);
    }
    await whileWaiting();
    await pause(given);
  }
  await work.note({ kind: 'powerSeenOff' });
}

/** `unknown` does not count as `off`. */
const isSeenOff = async (given: Claimed): Promise<boolean> =>
  (await glance(given, 'the power state could not be read'))?.power === 'off';

/** Requests power-on until it is accepted, within the patience. */
export async function switchOn(
  given: Recovering & RecoveryFacts<'asked'>,
): Promise<RecoveryFacts<'asked'>> {
  const { deps, asked, attempt } = given;
  if (asked.proof) return { asked };
  const { patienceMs } = rungPolicy(given);
  await powerOn(given, { forMs: patienceMs, attempt });
  return { asked: { ...asked, askedAtMs: deps.nowMs() } };
}

/** A machine that reboots may be seen off for this long. */
const REBOOT_OFF_MS = 60_000;
/** Some power buttons switch off at a second press; a request that failed may be repeated. */
const SWITCH_ON_TRIES = 3;

/**
 * Waits for a boot, and switches on a machine that a reboot leaves off: it shut down later than its
 * driver waited, or the daemon that waited is gone. Not if the machine may not be recovered now.
 */
export async function awaitBootSwitchedOn(
  given: Recovering & RecoveryFacts<'asked'>,
): Promise<RecoveryFacts<'proof'>> {
  const { deps, slot, attempt, signal } = given;
  let offAtMs: number | null = null;
  let triesLeft = attempt.step.rung === 'rebooting' && canSwitch(given) ? SWITCH_ON_TRIES : 0;
  return awaitBoot(given, async (power) => {
    const nowMs = deps.clock.monotonic();
    offAtMs = power === 'off' ? (offAtMs ?? nowMs) : null;
    if (offAtMs === null || triesLeft === 0 || nowMs - offAtMs < REBOOT_OFF_MS) return;
    if (!mayRecover(given)) return;
    offAtMs = null;
    triesLeft -= 1;
    try {
      await powerOn(given, { forMs: 0, attempt });
      triesLeft = 0;
    } catch (error) {
      const isPassing = isRetryable(error) || error instanceof AmbiguousCommit;
      if (signal.aborted || !(error instanceof ProviderError || isPassing)) throw error;
      deps.log.warn({ slot, cause: explain(error) }, LEFT_OFF);
    }
  });
}

/** Whether the machine's power can be switched at all. */
function canSwitch({ deps, slot, provider, row }: Claimed<RecoverDeps>): boolean {
  const means = meansOf(provider.capabilities, { row, listed: deps.facts().get(slot)?.listed });
  return lackOf('power', means) === null;
}

/** Whether nothing forbids recovery since the request, so that nobody works on the machine. */
function mayRecover({ deps, slot, work }: Claimed<RecoverDeps>): boolean {
  const { row, holds } = deps.facts().get(slot) ?? { row: null, holds: [] };
  if (row?.machineId !== work.machineId) return false;
  const now = { holds, nowMs: deps.nowMs(), loss: deps.loss };
  return barOf('ShepherdRecovery', row, now) === null;
}

/** After a failed attempt: requests power-on if power-off was requested and not undone. */
export async function restorePower(given: Recovering): Promise<void> {
  const { deps, slot, work, attempt } = given;
  if (attempt.power !== 'off') return;
  try {
    await powerOn(given, { forMs: RESTORE_MS, attempt });
  } catch (error) {
    const fields = { slot, machine: work.machineId, cause: explain(error) };
    deps.log.error(fields, isSwitchedOff(attempt) ? PERHAPS_OFF : ON_UNNOTED);
    throw error;
  }
}

/** Whether power-off was the last request; `powerOn` may have changed that. */
const isSwitchedOff = ({ power }: Attempt): boolean => power === 'off';
const ON_UNNOTED = 'the machine is switched on, but this could not be recorded';
const PERHAPS_OFF = 'the machine may be off, and could not be switched on';

/**
 * Before any other step: requests power-on if power-off was requested and no power-on was accepted
 * since. A resumed power cycle does this itself. A definite refusal is only logged: the step may
 * still help.
 * @throws {ProviderError} power-on was not accepted now; it may be later.
 */
export async function powerFirst(given: Recovering): Promise<void> {
  const { deps, slot, attempt, signal } = given;
  const isCycle = attempt.step.resumed && attempt.step.rung === 'powerCycling';
  if (!isAskedOff(given) || isCycle || attempt.power !== undefined) return;
  try {
    await powerOn(given, { forMs: 0, attempt });
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderError) || mayPass(error)) throw error;
    deps.log.error({ slot, cause: explain(error) }, LEFT_OFF);
  }
}

const isAskedOff = ({ row }: Claimed): boolean =>
  (row.recovery?.powerOffAskedAtMs ?? null) !== null;

const LEFT_OFF = 'the machine is left switched off';

/**
 * At the end of the ladder: an unfinished power cycle may have left the machine off. A failed
 * power-on is only logged, because a person is about to be called.
 * @returns whether nothing known keeps it off.
 */
export async function leaveSwitchedOn(claimed: Claimed<RecoverDeps>): Promise<boolean> {
  const { deps, slot, row, signal } = claimed;
  if (!canSwitch(claimed) || !row.recovery) return !isAskedOff(claimed);
  try {
    if (!isAskedOff(claimed) && !(await isSeenOff(claimed))) return true;
    deps.taskPool.leavePlace(slot);
    await powerOn(claimed, { forMs: RESTORE_MS });
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    deps.log.error({ slot, cause: explain(error) }, LEFT_OFF);
    return false;
  }
}

interface PowerOn {
  /** How long the request is repeated, milliseconds; it is made at least once. */
  readonly forMs: number;
  /** Where acceptance is recorded. */
  readonly attempt?: Attempt;
}

async function powerOn(claimed: Claimed<RecoverDeps>, { forMs, attempt }: PowerOn): Promise<void> {
  const { deps, slot, work, provider, provided, signal } = claimed;
  const name = provided.provider;
  const deadline = deps.clock.monotonic() + forMs;
  for (;;) {
    let isAsked = false;
    try {
      deps.holds.check(name, 'power');
      isAsked = true;
      const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
      await provider.setPower(provided.providerId, 'on', { signal });
      await deps.holds.succeeded(name, 'power', begun);
      break;
    } catch (error) {
      if (isAsked) await deps.holds.failed(name, 'power', error);
      if (signal.aborted || !mayPass(error) || deps.clock.monotonic() >= deadline) throw error;
      deps.log.warn({ slot, cause: explain(error) }, 'power-on is requested again');
    }
    await pause(claimed);
  }
  if (attempt) attempt.power = 'on';
  deps.log.info({ slot, machine: work.machineId }, 'power-on was requested');
  await noteProgress({ work, attempt }, { kind: 'powerOnAccepted' });
}

const mayPass = (error: unknown): boolean =>
  !(error instanceof NotImplemented) &&
  error instanceof ProviderError &&
  (error.retryable || facetsOf(error).outcome === 'unknown');
