import {
  explain,
  FleetError,
  NotImplemented,
  ProviderError,
  TimedOut,
} from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../desk.ts';
import { locate, providerFor, stepSignal } from '../task.ts';
import { askProvider, hasBootedLate } from './ask.ts';
import { attemptOf, providerOfTurn, rungPolicy, type RecoverDeps } from './deps.ts';
import { pause } from './evidence.ts';
import { powerSeen } from './look.ts';
import { resume } from './reboot.ts';

/** Power is asked back for so long when an attempt ends half-way. */
const RESTORE_MS = 5 * 60_000;

/** Asks for the power to be switched off, unless that was done already. */
export async function switchOff(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const attempt = attemptOf(turn);
  const ends = stepSignal(deps, turn, signal);
  if (attempt.step.resumed) {
    attempt.power = 'off';
    return resume(turn);
  }
  if (await hasBootedLate(deps, turn, ends)) return;
  await askProvider(
    deps,
    turn,
    {
      call: 'power',
      ask: (provider, id, how) => {
        attempt.power = 'off';
        return provider.setPower(id, 'off', how);
      },
    },
    ends,
  );
}

/** Looks until the power is seen off, which is noted. @throws {TimedOut} within the patience. */
export async function awaitOff(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const { step, proof } = attemptOf(turn);
  if (proof || (step.resumed && turn.work!.row.recovery!.offSeenAtMs !== null)) return;
  deps.desk.leavePlace(slot);
  const ends = stepSignal(deps, turn, signal);
  const { patienceMs } = rungPolicy(deps, turn);
  const deadline = deps.clock.monotonic() + patienceMs;
  while ((await powerOf(deps, turn, ends)) !== 'off') {
    if (deps.clock.monotonic() >= deadline) {
      throw new TimedOut(`${slot} was not seen switched off within ${patienceMs} ms`);
    }
    await pause(deps, ends);
  }
  await turn.work!.note({ kind: 'powerSeenOff' });
}

/** A look that fails shows nothing; `unknown` is not `off`. */
async function powerOf(deps: RecoverDeps, turn: Turn, signal: AbortSignal) {
  delete turn.machine;
  try {
    await locate(deps, turn, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof FleetError)) throw error;
    deps.log.debug({ slot: turn.slot, err: error }, 'the power could not be looked at');
  }
  return powerSeen(turn);
}

/** Asks for power until that is accepted, at most as long as patience. */
export async function switchOn(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  if (attemptOf(turn).proof) return;
  const { patienceMs } = rungPolicy(deps, turn);
  await powerOn(deps, turn, patienceMs, stepSignal(deps, turn, signal));
  attemptOf(turn).askedAtMs = deps.nowMs();
}

/** The attempt failed: power that was asked off and not on again is asked for. */
export async function restorePower(
  deps: RecoverDeps,
  { slot, machineId }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  if (attemptOf(turn).power !== 'off') return;
  try {
    await powerOn(deps, turn, RESTORE_MS, stepSignal(deps, turn, signal));
  } catch (error) {
    const fields = { slot, machine: machineId, cause: explain(error) };
    const isOn = attemptOf(turn).power !== 'off';
    deps.log.error(
      fields,
      isOn
        ? 'the machine is switched on, which could not be noted'
        : 'the machine may be switched off, and could not be switched on',
    );
    throw error;
  }
}

/**
 * Before any other step: a machine whose power was asked off and not accepted to be on again is
 * asked on. A power cycle that is taken over does that itself. A refusal for good is only told: the
 * step may help all the same.
 * @throws {ProviderError} it was not accepted now; it may be later.
 */
export async function powerFirst(deps: RecoverDeps, turn: Turn, signal: AbortSignal) {
  const { step, power } = attemptOf(turn);
  const isCycle = step.resumed && step.rung === 'powerCycling';
  if (!isAskedOff(turn) || isCycle || power !== undefined) return;
  try {
    await powerOn(deps, turn, 0, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderError) || mayPass(error)) throw error;
    deps.log.error({ slot: turn.slot, cause: explain(error) }, LEFT_OFF);
  }
}

const isAskedOff = (turn: Turn): boolean =>
  (turn.work!.row.recovery?.powerOffAskedAtMs ?? null) !== null;

const LEFT_OFF = 'the machine is left switched off';

/**
 * At the end of the ladder: a power cycle that nobody ended may have left the machine off. That it
 * cannot be switched on is only told: a person is about to be called anyway.
 * @returns whether nothing is known to keep it off.
 */
export async function leaveSwitchedOn(
  deps: RecoverDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<boolean> {
  const provider = providerFor(deps, turn);
  if (!provider.capabilities.power || !turn.work!.row.recovery) return !isAskedOff(turn);
  try {
    if (!isAskedOff(turn) && (await powerOf(deps, turn, signal)) !== 'off') return true;
    deps.desk.leavePlace(turn.slot);
    await powerOn(deps, turn, RESTORE_MS, signal);
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    deps.log.error({ slot: turn.slot, cause: explain(error) }, LEFT_OFF);
    return false;
  }
}

const providerIdOf = (turn: Turn): string => turn.work!.row.provided!.providerId;

async function powerOn(
  deps: RecoverDeps,
  turn: Turn,
  forMs: number,
  signal: AbortSignal,
): Promise<void> {
  const provider = providerOfTurn(turn);
  const deadline = deps.clock.monotonic() + forMs;
  for (;;) {
    let isAsked = false;
    try {
      deps.holds.check(provider, 'power');
      isAsked = true;
      const begun = { holds: deps.holds.holds(provider), nowMs: deps.nowMs() };
      await providerFor(deps, turn).setPower(providerIdOf(turn), 'on', { signal });
      await deps.holds.succeeded(provider, 'power', begun);
      break;
    } catch (error) {
      if (isAsked) await deps.holds.failed(provider, 'power', error);
      if (signal.aborted || !mayPass(error) || deps.clock.monotonic() >= deadline) throw error;
      deps.log.warn({ slot: turn.slot, cause: explain(error) }, 'power on is asked for again');
    }
    await pause(deps, signal);
  }
  if (turn.attempt) turn.attempt.power = 'on';
  deps.log.info({ slot: turn.slot, machine: turn.work!.machineId }, 'power on asked for');
  await turn.work!.note({ kind: 'powerOnAccepted' });
}

const mayPass = (error: unknown): boolean =>
  !(error instanceof NotImplemented) &&
  error instanceof ProviderError &&
  (error.retryable || facetsOf(error).outcome === 'unknown');
