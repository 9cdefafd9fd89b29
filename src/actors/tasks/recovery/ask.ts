import type { FleetCall, FleetProvider, OperationRef } from '../../../adapters/provider/port.ts';
import { codeOf, ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { ThrottledCall } from '../../../domain/provisioning/provider-holds.ts';
import { askAgainInMs } from '../../../domain/recovery/ladder.ts';
import { isStanding, RUNG_FACTS, type LadderMeans } from '../../../domain/recovery/rungs.ts';
import { createSendCheck } from '../../providers/send-check.ts';
import {
  countAttempt,
  knownBootId,
  noteProgress,
  orderPart,
  type Asked,
  type Proof,
  type RecoverDeps,
  type Recovering,
} from './deps.ts';
import { evidenceOfBoot } from './evidence.ts';
import { isOutage } from './first-step.ts';
import { probe } from './probe.ts';
import { RUNGS } from '../../../domain/recovery/rung-names.ts';

/** What the provider is asked for. */
export interface ProviderCall {
  /** Its name in throttles, and among the provider's capabilities. */
  readonly call: keyof LadderMeans;
  /** The boot in which the machine is; null: not known. */
  readonly bootIdBefore: string | null;
  ask(provider: FleetProvider, providerId: string, how: FleetCall): Promise<OperationRef>;
}

/**
 * Asks the provider once, after it has shown that the device is there and ours. The request is noted
 * when its turn has come, just before it is sent; and whether it was accepted after. A certain refusal
 * is noted too, so that the next attempt may ask again.
 * @throws {ProviderError} what it cannot is not asked for, nor what is throttled; or what it said.
 * @throws {NothingToDo} or {NoPermit}: the machine or the fleet is not as at the claim; nothing was
 *   asked.
 */
export async function askProvider(
  deps: RecoverDeps,
  given: Recovering,
  { call, bootIdBefore, ask }: ProviderCall,
  signal: AbortSignal,
): Promise<Asked> {
  const { slot, work, provider, provided, attempt } = given;
  const { step } = attempt;
  const name = provided.provider;
  if (!provider.capabilities[call]) {
    throw new ProviderError('not-implemented', `provider ${name} has not the capability ${call}`);
  }
  // A call that is let through on trial has to be made: others wait to hear how it ended.
  deps.holds.check(name, call);
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  let askedAtMs: number | null = null;
  const check = async () => {
    await noteAsked(given, bootIdBefore);
    countEscalation(deps, given);
    askedAtMs = deps.nowMs();
    // A new system has to prove itself anew, whatever its key.
    if (step.rung === 'reinstalling') delete attempt.believed;
  };
  // A request that is noted twice would count twice; the next attempt notes it anew.
  const beforeSending = createSendCheck(deps.clock, check, async () => {
    throw new ProviderError('transient', 'the machine was looked at too long ago to ask again');
  });
  const { operationRef, isGraceful = false } = await ask(provider, provided.providerId, {
    signal,
    beforeSending,
  }).catch((error: unknown) => refused(deps, given, { call, error, signal }));
  await deps.holds.succeeded(name, call, begun);
  countAttempt(deps, name, step.rung, 'asked');
  deps.log.info({ slot, machine: work.machineId, ...step }, `${call} asked for`);
  await noteProgress(given, { kind: 'recoveryAccepted', operationRef });
  return { ...given, askedAtMs, bootIdBefore, proof: null, isGraceful };
}

function countEscalation({ metrics }: RecoverDeps, { attempt, row, provided }: Recovering): void {
  const { rung, order } = attempt.step;
  if (order !== null) return;
  const before = row.recovery?.rung ?? 'restartingAgent';
  const isHigher = RUNGS.indexOf(rung) > RUNGS.indexOf(before);
  if (isHigher) metrics.count('shepherd_escalations_total', { provider: provided.provider, rung });
}

/** Notes the attempt, which counts from here, with what the machine was like before it. */
export async function noteAsked(given: Recovering, bootId: string | null): Promise<void> {
  const { attempt } = given;
  const { step } = attempt;
  const { rung } = step;
  if (!isStanding(rung)) throw new Error(`${rung} recovers no machine`);
  await noteProgress(given, { kind: 'recoveryAsked', rung, bootId, ...orderPart(step) });
  attempt.asked = true;
}

interface Refusal {
  readonly call: ThrottledCall;
  readonly error: unknown;
  readonly signal: AbortSignal;
}

/** A request that may have been carried out stays noted and counts, or it would be asked for ever. */
async function refused(
  deps: RecoverDeps,
  { work, provided, attempt }: Recovering,
  { call, error, signal }: Refusal,
): Promise<never> {
  const code = codeOf(error);
  const name = provided.provider;
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
  await work.note({ kind: 'recoveryRefused', counts });
  attempt.asked = counts;
  countAttempt(deps, name, attempt.step.rung, 'refused');
  throw error;
}

/** What was found out before a boot is asked for. */
interface BeforeBoot {
  readonly bootIdBefore: string | null;
  /** Whether it answered by SSH just now. */
  readonly answers: boolean;
  /** Proof that it has booted already, so that nothing is to be asked for; null: it has not. */
  readonly proof: Proof | null;
}

/**
 * Before a boot is asked for: finds out which boot the machine is in, and whether an earlier request
 * came true in the end. One that was made a short while ago is given its time.
 */
export async function probeBeforeBoot(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<BeforeBoot> {
  const { row, attempt } = given;
  const { step } = attempt;
  const { ssh } = await probe(deps, given, signal);
  const now = typeof ssh === 'string' ? null : ssh.bootId;
  const answers = now !== null;
  const before = bootIdBeforeRequest(given);
  if (step.order === null && before !== null && now !== null && now !== before) {
    const what = 'boot id changed after the wait for it was over';
    return { bootIdBefore: before, answers, proof: { what, bootSeconds: null } };
  }
  const bootIdBefore = now ?? before ?? knownBootId(given);
  const { askAgainMs } = deps;
  const forMs = askAgainInMs(row.recovery, step.rung, { nowMs: deps.nowMs(), askAgainMs });
  if (forMs === 0 || step.order !== null) return { bootIdBefore, answers, proof: null };
  deps.taskPool.leavePlace(given.slot);
  const askedAtMs = row.recovery?.askedAtMs ?? null;
  const question = { askedAtMs, bootIdBefore, offSeen: false, isMeasured: false, forMs };
  const proof = await evidenceOfBoot(deps, given, question, signal);
  return { bootIdBefore, answers, proof };
}

/** The boot id before an earlier request that is not proved yet; null: there is no such request. */
function bootIdBeforeRequest({ row: { recovery } }: Recovering): string | null {
  if (!recovery?.askedRung) return null;
  return RUNG_FACTS[recovery.askedRung].boots ? recovery.bootIdBefore : null;
}
