import {
  explain,
  FleetError,
  NotImplemented,
  ProviderError,
  TimedOut,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { requireOurs, type Claimed } from '../task.ts';
import { askProvider, cameTrueBy, probeBeforeBoot, resume, returnPermitLate } from './boot.ts';
import {
  noteProgress,
  rungPolicy,
  type Attempt,
  type RecoverDeps,
  type Recovering,
  type Told,
} from './deps.ts';
import { pause } from './evidence.ts';

/** When an attempt ends half-way, power is asked back for so long. */
const RESTORE_MS = 5 * 60_000;

/** Asks for the power to be switched off, unless that was done already. */
export async function switchOff(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Told<'asked'>> {
  const { attempt } = given;
  if (attempt.step.resumed) {
    attempt.power = 'off';
    return resume(given);
  }
  const { bootIdBefore, proof } = await probeBeforeBoot(deps, given, signal);
  if (proof) return cameTrueBy(bootIdBefore, proof);
  const asked = await askProvider(
    deps,
    given,
    {
      call: 'power',
      bootIdBefore,
      ask: (provider, id, how) => {
        attempt.power = 'off';
        return provider.setPower(id, 'off', how);
      },
    },
    signal,
  );
  return { asked };
}

/** Asks again until the power is seen off, which is noted. @throws {TimedOut} within the patience. */
export async function awaitOff(
  deps: RecoverDeps,
  given: Recovering & Told<'asked'>,
  signal: AbortSignal,
): Promise<void> {
  const { slot, work, row, attempt, asked } = given;
  const wasSeenOff = attempt.step.resumed && (row.recovery?.offSeenAtMs ?? null) !== null;
  if (asked.proof || wasSeenOff) return;
  deps.taskPool.leavePlace(slot);
  const { patienceMs } = rungPolicy(deps, given);
  const deadline = deps.clock.monotonic() + patienceMs;
  const whileWaiting = returnPermitLate(deps, given, asked.askedAtMs ?? deps.nowMs());
  while ((await powerOf(deps, given, signal)) !== 'off') {
    if (deps.clock.monotonic() >= deadline) {
      throw new TimedOut(`${slot} was not seen switched off within ${patienceMs} ms`);
    }
    await whileWaiting();
    await pause(deps, signal);
  }
  await work.note({ kind: 'powerSeenOff' });
}

/** A question that fails shows nothing; `unknown` is not `off`. */
async function powerOf(
  deps: RecoverDeps,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<ProviderMachine['power']> {
  try {
    return (await requireOurs(claimed, signal)).power;
  } catch (error) {
    if (signal.aborted || !(error instanceof FleetError)) throw error;
    deps.log.debug({ slot: claimed.slot, err: error }, 'the power could not be looked at');
    return 'unknown';
  }
}

/** Asks for power until that is accepted, at most as long as patience. */
export async function switchOn(
  deps: RecoverDeps,
  given: Recovering & Told<'asked'>,
  signal: AbortSignal,
): Promise<Told<'asked'>> {
  const { asked } = given;
  if (asked.proof) return { asked };
  const { patienceMs } = rungPolicy(deps, given);
  await powerOn(deps, given, { forMs: patienceMs, attempt: given.attempt }, signal);
  return { asked: { ...asked, askedAtMs: deps.nowMs() } };
}

/** After an attempt failed: asks for power on, if it was asked off and not on again. */
export async function restorePower(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<void> {
  const { slot, work, attempt } = given;
  if (attempt.power !== 'off') return;
  try {
    await powerOn(deps, given, { forMs: RESTORE_MS, attempt }, signal);
  } catch (error) {
    const fields = { slot, machine: work.machineId, cause: explain(error) };
    deps.log.error(fields, isSwitchedOff(attempt) ? PERHAPS_OFF : ON_UNNOTED);
    throw error;
  }
}

/** Whether off is what was asked of the power last; `powerOn` may have changed that meanwhile. */
const isSwitchedOff = ({ power }: Attempt): boolean => power === 'off';
const ON_UNNOTED = 'the machine is switched on, which could not be noted';
const PERHAPS_OFF = 'the machine may be switched off, and could not be switched on';

/**
 * Before any other step: a machine whose power was asked off and not accepted to be on again is
 * asked on. A power cycle that is taken over does that itself. A refusal for good is only told: the
 * step may help all the same.
 * @throws {ProviderError} it was not accepted now; it may be later.
 */
export async function powerFirst(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<void> {
  const { attempt } = given;
  const isCycle = attempt.step.resumed && attempt.step.rung === 'powerCycling';
  if (!isAskedOff(given) || isCycle || attempt.power !== undefined) return;
  try {
    await powerOn(deps, given, { forMs: 0, attempt }, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderError) || mayPass(error)) throw error;
    deps.log.error({ slot: given.slot, cause: explain(error) }, LEFT_OFF);
  }
}

const isAskedOff = ({ row }: Claimed): boolean =>
  (row.recovery?.powerOffAskedAtMs ?? null) !== null;

const LEFT_OFF = 'the machine is left switched off';

/**
 * At the end of the ladder: a power cycle that nobody ended may have left the machine off. That it
 * cannot be switched on is only told: a person is about to be called anyway.
 * @returns whether nothing is known to keep it off.
 */
export async function leaveSwitchedOn(
  deps: RecoverDeps,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<boolean> {
  const { slot, provider, row } = claimed;
  if (!provider.capabilities.power || !row.recovery) return !isAskedOff(claimed);
  try {
    if (!isAskedOff(claimed) && (await powerOf(deps, claimed, signal)) !== 'off') return true;
    deps.taskPool.leavePlace(slot);
    await powerOn(deps, claimed, { forMs: RESTORE_MS }, signal);
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    deps.log.error({ slot, cause: explain(error) }, LEFT_OFF);
    return false;
  }
}

interface PowerOn {
  /** For how long it is asked again, milliseconds; it is asked at least once. */
  readonly forMs: number;
  /** Where it is written down that it was accepted. */
  readonly attempt?: Attempt;
}

async function powerOn(
  deps: RecoverDeps,
  { slot, work, provider, provided }: Claimed,
  { forMs, attempt }: PowerOn,
  signal: AbortSignal,
): Promise<void> {
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
      deps.log.warn({ slot, cause: explain(error) }, 'power on is asked for again');
    }
    await pause(deps, signal);
  }
  if (attempt) attempt.power = 'on';
  deps.log.info({ slot, machine: work.machineId }, 'power on asked for');
  await noteProgress({ work, attempt }, { kind: 'powerOnAccepted' });
}

const mayPass = (error: unknown): boolean =>
  !(error instanceof NotImplemented) &&
  error instanceof ProviderError &&
  (error.retryable || facetsOf(error).outcome === 'unknown');
