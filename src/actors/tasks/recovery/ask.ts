import type { FleetCall, FleetProvider, OperationRef } from '../../../adapters/provider/port.ts';
import { codeOf, ProviderError } from '../../../domain/errors.ts';
import { RUNGS } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import { askAgainInMs } from '../../../domain/recovery/ladder.ts';
import type { ThrottledCall } from '../../../domain/provisioning/provider-holds.ts';
import type { Turn } from '../../desk.ts';
import { createSendCheck } from '../../send-check.ts';
import { providerFor, requireOurs } from '../task.ts';
import { attemptOf, orderPart, providerOfTurn, type RecoverDeps } from './deps.ts';
import { evidenceOfBoot } from './evidence.ts';
import { isOutage } from './first-step.ts';
import { look } from './look.ts';

/** What the provider is asked for. */
export interface ProviderCall {
  /** What it is called where calls are throttled, and among the provider's capabilities. */
  readonly call: Extract<ThrottledCall, 'reboot' | 'reinstall' | 'power'>;
  ask(provider: FleetProvider, providerId: string, how: FleetCall): Promise<OperationRef>;
}

/**
 * Asks the provider once; that the device is there and ours is looked at first. The request is noted
 * when its turn has come, just before it is sent; and whether it was accepted after. A certain refusal
 * is noted too, so that the next attempt may ask again.
 * @throws {ProviderError} what it cannot is not asked for, nor what is throttled; or what it said.
 * @throws {NothingToDo} or {NoPermit}: the machine or the fleet is not as at the claim; nothing was
 *   asked.
 */
export async function askProvider(
  deps: RecoverDeps,
  turn: Turn,
  { call, ask }: ProviderCall,
  signal: AbortSignal,
): Promise<void> {
  const attempt = attemptOf(turn);
  const { step } = attempt;
  const name = providerOfTurn(turn);
  if (!providerFor(deps, turn).capabilities[call]) {
    throw new ProviderError('not-implemented', `provider ${name} has not the capability ${call}`);
  }
  await requireOurs(deps, turn, signal);
  // Who is let through on trial has to ask, or nobody hears how the trial ended.
  deps.holds.check(name, call);
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  const { providerId } = turn.work!.row.provided!;
  const how = { signal, beforeSending: createCheck(deps, turn) };
  const { operationRef } = await ask(providerFor(deps, turn), providerId, how).catch(
    (error: unknown) => refused(deps, turn, { call, error, signal }),
  );
  await deps.holds.succeeded(name, call, begun);
  deps.metrics.ladderAttempt(name, step.rung, 'asked');
  const fields = { slot: turn.slot, machine: turn.work!.machineId, ...step };
  deps.log.info(fields, `${call} asked for`);
  await turn.work!.note({ kind: 'recoveryAccepted', operationRef });
}

/** Notes that the provider is asked, which checks whether the machine still needs it. */
function createCheck(deps: RecoverDeps, turn: Turn): () => Promise<void> {
  const attempt = attemptOf(turn);
  const check = async () => {
    await noteAsked(turn);
    countEscalation(deps, turn);
    attempt.askedAtMs = deps.nowMs();
    // A new system has to prove itself anew, whatever its key.
    if (attempt.step.rung === 'reinstalling') delete attempt.believed;
  };
  // Noted again it would count twice: that is for the next attempt.
  return createSendCheck(deps.clock, check, async () => {
    throw new ProviderError('transient', 'the machine was looked at too long ago to ask again');
  });
}

function countEscalation({ metrics }: RecoverDeps, turn: Turn): void {
  const { rung, order } = attemptOf(turn).step;
  if (order !== null) return;
  const before = turn.work!.row.recovery?.rung ?? 'restartingAgent';
  const isHigher = RUNGS.indexOf(rung) > RUNGS.indexOf(before);
  if (isHigher) metrics.escalation(providerOfTurn(turn), rung);
}

/** Counts the attempt, with what is known from before it. */
export async function noteAsked(turn: Turn): Promise<void> {
  const attempt = attemptOf(turn);
  const { step } = attempt;
  const bootId = turn.bootId ?? null;
  await turn.work!.note({ kind: 'recoveryAsked', rung: step.rung, bootId, ...orderPart(step) });
  attempt.asked = true;
}

interface Refusal {
  readonly call: ThrottledCall;
  readonly error: unknown;
  readonly signal: AbortSignal;
}

/** What may have been carried out stays noted, and counts: else it were asked for ever again. */
async function refused(
  deps: RecoverDeps,
  turn: Turn,
  { call, error, signal }: Refusal,
): Promise<never> {
  const attempt = attemptOf(turn);
  const code = codeOf(error);
  const name = providerOfTurn(turn);
  await deps.holds.failed(name, call, error);
  if (!attempt.asked) {
    // Nothing was sent.
    delete attempt.power;
    throw error;
  }
  const isOurEnd = signal.aborted || code === 'stopped';
  if (facetsOf(error).outcome === 'unknown' || isOurEnd) throw error;
  const counts = !isOutage(error);
  delete attempt.power;
  await turn.work!.note({ kind: 'recoveryRefused', counts });
  attempt.asked = counts;
  deps.metrics.ladderAttempt(name, attempt.step.rung, 'refused');
  throw error;
}

/**
 * Before a boot is asked for: finds out which boot the machine is in, and whether an earlier request
 * came true in the end. One that was made a short while ago is given its time.
 * @returns true: it has booted already, and nothing is to be asked for.
 */
export async function hasBootedLate(
  deps: RecoverDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<boolean> {
  const { row } = turn.work!;
  const attempt = attemptOf(turn);
  const known = row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;
  const { ssh } = await look(deps, turn, signal);
  const now = typeof ssh === 'string' ? null : ssh.bootId;
  const before = bootIdBeforeRequest(turn);
  if (attempt.step.order === null && before !== null && now !== null && now !== before) {
    attempt.proof = { what: 'boot id changed after the wait for it was over', bootSeconds: null };
    return true;
  }
  turn.bootId = now ?? before ?? known;
  const forMs = askAgainInMs(row.recovery, attempt.step.rung, {
    nowMs: deps.nowMs(),
    askAgainMs: deps.askAgainMs,
  });
  if (forMs === 0 || attempt.step.order !== null) return false;
  deps.desk.leavePlace(turn.slot);
  const asked = { askedAtMs: row.recovery!.askedAtMs, bootIdBefore: turn.bootId, offSeen: false };
  const proof = await evidenceOfBoot(deps, turn, { ...asked, isMeasured: false, forMs }, signal);
  if (proof) attempt.proof = proof;
  return proof !== null;
}

/** The boot that an earlier request, unproved until now, was to end; null: there is none. */
function bootIdBeforeRequest(turn: Turn): string | null {
  const { recovery } = turn.work!.row;
  const isBoot = recovery?.askedRung === 'rebooting' || recovery?.askedRung === 'powerCycling';
  return isBoot ? recovery.bootIdBefore : null;
}
