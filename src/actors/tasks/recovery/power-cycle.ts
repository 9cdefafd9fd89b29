import { explain, NotImplemented, ProviderError, TimedOut } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import type { Claimed } from '../task.ts';
import { askProvider, cameTrueBy, probeBeforeBoot, resume, returnPermitLate } from './boot.ts';
import {
  glance,
  noteProgress,
  pause,
  rungPolicy,
  type Attempt,
  type RecoverDeps,
  type Recovering,
  type Told,
} from './recovering.ts';

/** When an attempt ends half-way, power is asked back for so long. */
const RESTORE_MS = 5 * 60_000;

/** Asks for the power to be switched off, unless that was done already. */
export async function switchOff(given: Recovering): Promise<Told<'asked'>> {
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

/** Asks again until the power is seen off, which is noted. @throws {TimedOut} within the patience. */
export async function awaitOff(given: Recovering & Told<'asked'>): Promise<void> {
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

/** `unknown` is not `off`. */
const isSeenOff = async (given: Claimed): Promise<boolean> =>
  (await glance(given, 'the power could not be looked at'))?.power === 'off';

/** Asks for power until that is accepted, at most as long as patience. */
export async function switchOn(given: Recovering & Told<'asked'>): Promise<Told<'asked'>> {
  const { deps, asked, attempt } = given;
  if (asked.proof) return { asked };
  const { patienceMs } = rungPolicy(given);
  await powerOn(given, { forMs: patienceMs, attempt });
  return { asked: { ...asked, askedAtMs: deps.nowMs() } };
}

/** After an attempt failed: asks for power on, if it was asked off and not on again. */
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
 * At the end of the ladder: a power cycle that nobody ended may have left the machine off. That it
 * cannot be switched on is only told: a person is about to be called anyway.
 * @returns whether nothing is known to keep it off.
 */
export async function leaveSwitchedOn(claimed: Claimed<RecoverDeps>): Promise<boolean> {
  const { deps, slot, provider, row, signal } = claimed;
  if (!provider.capabilities.power || !row.recovery) return !isAskedOff(claimed);
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
  /** For how long it is asked again, milliseconds; it is asked at least once. */
  readonly forMs: number;
  /** Where it is written down that it was accepted. */
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
      deps.log.warn({ slot, cause: explain(error) }, 'power on is asked for again');
    }
    await pause(claimed);
  }
  if (attempt) attempt.power = 'on';
  deps.log.info({ slot, machine: work.machineId }, 'power on asked for');
  await noteProgress({ work, attempt }, { kind: 'powerOnAccepted' });
}

const mayPass = (error: unknown): boolean =>
  !(error instanceof NotImplemented) &&
  error instanceof ProviderError &&
  (error.retryable || facetsOf(error).outcome === 'unknown');
