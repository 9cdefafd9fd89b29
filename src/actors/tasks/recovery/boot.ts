import type { FleetCall, FleetProvider, OperationRef } from '../../../adapters/provider/port.ts';
import {
  AmbiguousCommit,
  codeOf,
  isRetryable,
  ProviderError,
  TimedOut,
} from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import {
  askAgainInMs,
  beyondReachMs,
  GRACE_MS,
  patienceOf,
} from '../../../domain/recovery/ladder.ts';
import { RUNGS, RUNG_FACTS, isStanding, type LadderMeans } from '../../../domain/recovery/rungs.ts';
import type { Asked, Proof } from '../../../machines/recovery.ts';
import { createSendCheck } from '../../providers/holds.ts';
import { required } from '../task.ts';
import {
  countAttempt,
  evidenceOfBoot,
  isOutage,
  knownBootId,
  noteProgress,
  orderPart,
  probe,
  rungPolicy,
  type Recovering,
  type Told,
} from './recovering.ts';

/** What the provider is asked for. */
interface ProviderCall {
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
  given: Recovering,
  { call, bootIdBefore, ask }: ProviderCall,
): Promise<Asked> {
  const { deps, slot, work, provider, provided, attempt, signal } = given;
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
    countEscalation(given);
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
  }).catch((error: unknown) => refused(given, call, error));
  await deps.holds.succeeded(name, call, begun);
  countAttempt(given, step.rung, 'asked');
  deps.log.info({ slot, machine: work.machineId, ...step }, `${call} asked for`);
  await noteProgress(given, { kind: 'recoveryAccepted', operationRef });
  return { askedAtMs, bootIdBefore, proof: null, isGraceful };
}

function countEscalation({ deps, attempt, row, provided }: Recovering): void {
  const { rung, order } = attempt.step;
  if (order !== null) return;
  const before = row.recovery?.rung ?? 'restartingAgent';
  const isHigher = RUNGS.indexOf(rung) > RUNGS.indexOf(before);
  const { provider } = provided;
  if (isHigher) deps.metrics.count('shepherd_escalations_total', { provider, rung });
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

/** A request that may have been carried out stays noted and counts, or it would be asked for ever. */
async function refused(
  given: Recovering,
  call: ProviderCall['call'],
  error: unknown,
): Promise<never> {
  const { deps, work, provided, attempt, signal } = given;
  await deps.holds.failed(provided.provider, call, error);
  if (!attempt.asked) {
    // Nothing was sent.
    delete attempt.power;
    throw error;
  }
  const isOurEnd = signal.aborted || codeOf(error) === 'stopped';
  if (facetsOf(error).outcome === 'unknown' || isOurEnd) throw error;
  const counts = !isOutage(error);
  delete attempt.power;
  await work.note({ kind: 'recoveryRefused', counts });
  attempt.asked = counts;
  countAttempt(given, attempt.step.rung, 'refused');
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
export async function probeBeforeBoot(given: Recovering): Promise<BeforeBoot> {
  const { deps, row, attempt } = given;
  const { step } = attempt;
  const { ssh } = await probe(given);
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
  const proof = await evidenceOfBoot(given, question);
  return { bootIdBefore, answers, proof };
}

/** The boot id before an earlier request that is not proved yet; null: there is no such request. */
function bootIdBeforeRequest({ row: { recovery } }: Recovering): string | null {
  if (!recovery?.askedRung) return null;
  return RUNG_FACTS[recovery.askedRung].boots ? recovery.bootIdBefore : null;
}

/** What a boot that needed no request is known by. */
export const cameTrueBy = (bootIdBefore: string | null, proof: Proof): Told<'asked'> => ({
  asked: { askedAtMs: null, bootIdBefore, proof },
});

/** Asks for a reboot, unless an earlier request may still come true, or just did. */
export async function askReboot(given: Recovering): Promise<Told<'asked'>> {
  if (given.attempt.step.resumed) return resume(given);
  const { bootIdBefore, answers, proof } = await probeBeforeBoot(given);
  if (proof) return cameTrueBy(bootIdBefore, proof);
  const asked = await ask(given, bootIdBefore);
  return { asked: answers ? { ...asked, isGraceful: false } : asked };
}

async function ask(given: Recovering, bootIdBefore: string | null): Promise<Asked> {
  const { mode } = given.attempt.step;
  const asked = await askProvider(given, {
    ...{ call: 'reboot', bootIdBefore },
    ask: (provider, id, how) => provider.rebootMachine(id, mode, how),
  });
  const { provider } = given.provided;
  given.deps.metrics.count('shepherd_reboots_total', { provider, outcome: 'asked' });
  return asked;
}

/**
 * A machine that did not answer may hang, and hear of no graceful reboot either: it is forced after a
 * short while, which counts as an attempt of its own. What a person ordered is done as ordered.
 */
async function pastGrace(given: Recovering & Told<'asked'>): Promise<Asked> {
  const { attempt, asked } = given;
  const { askedAtMs, bootIdBefore } = asked;
  if (asked.isGraceful !== true || attempt.step.order !== null) return asked;
  const question = { askedAtMs, bootIdBefore, offSeen: false, isMeasured: true, forMs: GRACE_MS };
  const proof = await evidenceOfBoot(given, question);
  if (proof) return { ...asked, proof };
  attempt.step = { ...attempt.step, mode: 'force' };
  return ask(given, bootIdBefore);
}

/** Goes on with a request of a process that died before it saw the end of it. */
export function resume(given: Recovering): Told<'asked'> {
  const { askedAtMs, bootIdBefore } = required(given.row.recovery, 'recovery to go on with');
  return { asked: { askedAtMs, bootIdBefore, proof: null } };
}

/** Waits, without a place, for evidence that the machine booted. @throws {TimedOut} */
export async function awaitBoot(given: Recovering & Told<'asked'>): Promise<Told<'proof'>> {
  const { deps, slot, work, attempt } = given;
  deps.taskPool.leavePlace(slot);
  const asked = await pastGrace(given);
  const { bootIdBefore } = asked;
  const { rung, resumed } = attempt.step;
  const askedAtMs = asked.askedAtMs ?? deps.nowMs();
  const forMs = remainingMs(given, askedAtMs);
  const offSeen = rung === 'powerCycling';
  const whileWaiting = returnPermitLate(given, askedAtMs);
  const question = { askedAtMs, bootIdBefore, offSeen, isMeasured: !resumed, forMs, whileWaiting };
  const proof = asked.proof ?? (await evidenceOfBoot(given, question));
  if (!proof) throw new TimedOut(`no evidence that ${slot} booted within ${forMs} ms`);
  deps.log.info({ slot, machine: work.machineId, proof: proof.what }, 'boot proved');
  return { proof };
}

/**
 * A machine that does not answer for so long is beyond reach: others need not wait for its permit while
 * the rest of its patience passes.
 */
export function returnPermitLate(
  { deps: { nowMs, log }, slot, work, row }: Recovering,
  askedAtMs: number,
): () => Promise<void> {
  const returnAtMs = askedAtMs + beyondReachMs(row.bootTimes);
  let isHeld = true;
  return async () => {
    if (!isHeld || nowMs() < returnAtMs) return;
    try {
      await work.note({ kind: 'permitReturned' });
      isHeld = false;
      log.info({ slot, machine: work.machineId }, 'beyond reach: its permit is returned');
    } catch (err) {
      // Done twice it is done once, so a lost commit does not end the wait either.
      if (!isRetryable(err) && !(err instanceof AmbiguousCommit)) throw err;
      log.warn({ slot, machine: work.machineId, err }, 'its permit could not be returned yet');
    }
  };
}

/** How long to wait: the attempt's patience; for a request that was taken over, the rest of its time. */
function remainingMs(given: Recovering, askedAtMs: number): number {
  const { deps, row, attempt } = given;
  const policy = rungPolicy(given);
  if (!attempt.step.resumed) return patienceOf(attempt.step, policy, row.bootTimes);
  const wholeMs = Math.max(policy.patienceMs, deps.askAgainMs);
  return askedAtMs + wholeMs - deps.nowMs();
}
