import type { FleetCall, FleetProvider, OperationRef } from '../../../adapters/provider/port.ts';
import { capabilitiesFor } from '../../../domain/provisioning/adoption.ts';
import {
  AmbiguousCommit,
  codeOf,
  isRetryable,
  ProviderError,
  TimedOut,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import {
  askAgainInMs,
  beyondReachMs,
  GRACE_MS,
  isUnheard,
  patienceOf,
  unheard,
} from '../../../domain/recovery/ladder.ts';
import { RUNGS, RUNG_FACTS, isStanding, type LadderMeans } from '../../../domain/recovery/rungs.ts';
import type { SentRequest, Proof } from '../../../machines/recovery.ts';
import { createSendCheck } from '../../providers/holds.ts';
import { takeEvidence } from '../evidence.ts';
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
  type RecoveryFacts,
} from './recovering.ts';

/** A request to the provider. */
interface ProviderCall {
  /** Its name in throttles and among the provider's capabilities. */
  readonly call: keyof LadderMeans;
  /** The machine's current boot id; null: unknown. */
  readonly bootIdBefore: string | null;
  /** The machine answers, or a person wants just this: it gets its time. Default true. */
  readonly isHeard?: boolean;
  ask(provider: FleetProvider, providerId: string, how: FleetCall): Promise<OperationRef>;
}

/**
 * Sends one request after the provider has shown that the device exists and is ours. Records the
 * request just before it is sent, and its acceptance afterwards. Records a definite refusal too, so
 * that the next attempt may ask again.
 * @throws {ProviderError} the request is unsupported, throttled, or failed.
 * @throws {NothingToDo} or {NoPermit}: machine or fleet changed since the claim; nothing was sent.
 */
export async function askProvider(
  given: Recovering,
  { call, bootIdBefore, isHeard = true, ask }: ProviderCall,
): Promise<SentRequest> {
  const { deps, slot, work, provider, provided, attempt, signal } = given;
  const { step } = attempt;
  const name = provided.provider;
  if (!capabilitiesFor(provider.capabilities, provided)[call]) {
    throw new ProviderError('not-implemented', `provider ${name} lacks the capability ${call}`);
  }
  // A call on trial must be made, because others wait for its result.
  deps.holds.check(name, call);
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  let askedAtMs: number | null = null;
  const check = async () => {
    await noteAsked(given, bootIdBefore);
    countEscalation(given);
    askedAtMs = deps.nowMs();
    // A new system must be proved again, whatever its key.
    if (step.rung === 'reinstalling') delete attempt.believed;
  };
  // A request recorded twice would count twice; the next attempt records it again.
  const beforeSending = createSendCheck(deps.clock, check, async () => {
    throw new ProviderError('transient', 'the last look at the machine is too old to ask again');
  });
  const { operationRef: accepted, isGraceful = false } = await ask(provider, provided.providerId, {
    signal,
    beforeSending,
  }).catch((error: unknown) => refused(given, call, error));
  await deps.holds.succeeded(name, call, begun);
  countAttempt(given, step.rung, 'asked');
  deps.log.info({ slot, machine: work.machineId, ...step }, `${call} asked for`);
  // Whoever goes on after this process has died reads it there.
  const operationRef = isGraceful && !isHeard ? unheard(accepted) : accepted;
  await noteProgress(given, { kind: 'recoveryAccepted', operationRef });
  return { askedAtMs, bootIdBefore, proof: null, isUnheard: isUnheard(operationRef) };
}

function countEscalation({ deps, attempt, row, provided }: Recovering): void {
  const { rung, order } = attempt.step;
  if (order !== null) return;
  const before = row.recovery?.rung ?? 'restartingAgent';
  const isHigher = RUNGS.indexOf(rung) > RUNGS.indexOf(before);
  const { provider } = provided;
  if (isHigher) deps.metrics.count('shepherd_escalations_total', { provider, rung });
}

/** Records the attempt, which counts from here, with the machine's state before it. */
export async function noteAsked(given: Recovering, bootId: string | null): Promise<void> {
  const { attempt } = given;
  const { step } = attempt;
  const { rung } = step;
  if (!isStanding(rung)) throw new Error(`${rung} recovers no machine`);
  await noteProgress(given, { kind: 'recoveryAsked', rung, bootId, ...orderPart(step) });
  attempt.asked = true;
}

/** A request that may have been carried out stays recorded and counts. */
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

/** Facts found before a boot request. */
interface BeforeBoot {
  readonly bootIdBefore: string | null;
  /** Whether the machine answered by SSH just now. */
  readonly answers: boolean;
  /** Proof that it has already booted, so that no request is needed; null: none. */
  readonly proof: Proof | null;
}

/**
 * Before a boot request: finds the machine's current boot and whether an earlier request succeeded
 * late. A recent request gets its time. Takes evidence, unless a person orders the boot.
 */
export async function probeBeforeBoot(given: Recovering): Promise<BeforeBoot> {
  const { deps, row, attempt } = given;
  const { step } = attempt;
  const { ssh } = await probe(given, async (shell) => {
    if (step.order === null) await takeEvidence(given, 'evidence-before', shell);
  });
  const now = typeof ssh === 'string' ? null : ssh.bootId;
  const answers = now !== null;
  const before = bootIdBeforeRequest(given);
  if (step.order === null && before !== null && now !== null && now !== before) {
    const what = 'boot id changed after the wait had ended';
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

/** The boot id before an unproved earlier request; null: there is no such request. */
function bootIdBeforeRequest({ row: { recovery } }: Recovering): string | null {
  if (!recovery?.askedRung) return null;
  return RUNG_FACTS[recovery.askedRung].boots ? recovery.bootIdBefore : null;
}

/** The result of a boot that needed no request. */
export const cameTrueBy = (bootIdBefore: string | null, proof: Proof): RecoveryFacts<'asked'> => ({
  asked: { askedAtMs: null, bootIdBefore, proof },
});

/** Requests a reboot, unless an earlier request may still succeed or just did. */
export async function askReboot(given: Recovering): Promise<RecoveryFacts<'asked'>> {
  if (given.attempt.step.resumed) return resume(given);
  const { bootIdBefore, answers, proof } = await probeBeforeBoot(given);
  if (proof) return cameTrueBy(bootIdBefore, proof);
  return { asked: await ask(given, { bootIdBefore, answers }) };
}

async function ask(
  given: Recovering,
  { bootIdBefore, answers }: Pick<BeforeBoot, 'bootIdBefore' | 'answers'>,
): Promise<SentRequest> {
  const { mode, order } = given.attempt.step;
  const asked = await askProvider(given, {
    ...{ call: 'reboot', bootIdBefore, isHeard: answers || order !== null },
    ask: (provider, id, how) => provider.rebootMachine(id, mode, how),
  });
  const { provider } = given.provided;
  given.deps.metrics.count('shepherd_reboots_total', { provider, outcome: 'asked' });
  return asked;
}

/**
 * A machine that does not answer may hang and ignore a graceful reboot. A forced reboot follows
 * after a short while and counts as its own attempt, also if another process asked.
 */
async function pastGrace(given: Recovering & RecoveryFacts<'asked'>): Promise<SentRequest> {
  const { attempt, asked, deps } = given;
  const { askedAtMs, bootIdBefore } = asked;
  if (asked.isUnheard !== true) return asked;
  const isMeasured = !attempt.step.resumed;
  const forMs = GRACE_MS - (deps.nowMs() - askedAtMs!);
  const question = { askedAtMs, bootIdBefore, offSeen: false, isMeasured, forMs };
  const proof = await evidenceOfBoot(given, question);
  if (proof) return { ...asked, proof };
  attempt.step = { ...attempt.step, mode: 'force', resumed: false };
  return ask(given, { bootIdBefore, answers: false });
}

/** Continues the request of a process that died before its end. */
export function resume(given: Recovering): RecoveryFacts<'asked'> {
  const recovery = required(given.row.recovery, 'recovery to go on with');
  const { askedAtMs, bootIdBefore, operationRef } = recovery;
  return { asked: { askedAtMs, bootIdBefore, proof: null, isUnheard: isUnheard(operationRef) } };
}

/**
 * Waits, without a place, for evidence that the machine booted.
 * @param meanwhile called after each look without evidence, with the power that it saw.
 * @throws {TimedOut}
 */
export async function awaitBoot(
  given: Recovering & RecoveryFacts<'asked'>,
  meanwhile: (power: ProviderMachine['power']) => Promise<void>,
): Promise<RecoveryFacts<'proof'>> {
  const { deps, slot, work, attempt } = given;
  deps.taskPool.leavePlace(slot);
  const asked = await pastGrace(given);
  const { bootIdBefore } = asked;
  const { rung, resumed } = attempt.step;
  const askedAtMs = asked.askedAtMs ?? deps.nowMs();
  const forMs = remainingMs(given, askedAtMs);
  const offSeen = rung === 'powerCycling';
  const returnPermit = returnPermitLate(given, askedAtMs);
  const whileWaiting = async (power: ProviderMachine['power']) => {
    await returnPermit();
    await meanwhile(power);
  };
  const question = { askedAtMs, bootIdBefore, offSeen, isMeasured: !resumed, forMs, whileWaiting };
  const proof = asked.proof ?? (await evidenceOfBoot(given, question));
  if (!proof) throw new TimedOut(`no evidence that ${slot} booted within ${forMs} ms`);
  deps.log.info({ slot, machine: work.machineId, proof: proof.what }, 'boot proved');
  return { proof };
}

/**
 * Returns the permit of a machine that is beyond reach, so that others need not wait during the
 * rest of its patience.
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
      // The call is idempotent, so that a lost commit does not end the wait.
      if (!isRetryable(err) && !(err instanceof AmbiguousCommit)) throw err;
      log.warn({ slot, machine: work.machineId, err }, 'its permit could not be returned yet');
    }
  };
}

/** Remaining wait: the attempt's patience, or what is left of it for a resumed request. */
function remainingMs(given: Recovering, askedAtMs: number): number {
  const { deps, row, attempt } = given;
  const policy = rungPolicy(given);
  if (!attempt.step.resumed) return patienceOf(attempt.step, policy, row.bootTimes);
  const wholeMs = Math.max(policy.patienceMs, deps.askAgainMs);
  return askedAtMs + wholeMs - deps.nowMs();
}
