import { AmbiguousCommit, isRetryable } from '../../../domain/errors.ts';
import { beyondReachMs, GRACE_MS, patienceOf } from '../../../domain/recovery/ladder.ts';
import { required } from '../task.ts';
import { askProvider, probeBeforeBoot } from './ask.ts';
import { rungPolicy, type Asked, type Proved, type RecoverDeps, type Recovering } from './deps.ts';
import { evidenceOfBoot, requireEvidence } from './evidence.ts';

/** Asks for a reboot, unless an earlier request may still come true, or just did. */
export async function askReboot(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Asked> {
  const { step } = given.attempt;
  if (step.resumed) return resume(given);
  const { bootIdBefore, answers, proof } = await probeBeforeBoot(deps, given, signal);
  if (proof) return { ...given, askedAtMs: null, bootIdBefore, proof };
  const asked = await ask(deps, given, bootIdBefore, signal);
  return answers ? { ...asked, isGraceful: false } : asked;
}

async function ask(
  deps: RecoverDeps,
  given: Recovering,
  bootIdBefore: string | null,
  signal: AbortSignal,
): Promise<Asked> {
  const { mode } = given.attempt.step;
  const call = 'reboot';
  const asked = await askProvider(
    deps,
    given,
    { call, bootIdBefore, ask: (provider, id, how) => provider.rebootMachine(id, mode, how) },
    signal,
  );
  deps.metrics.count('shepherd_reboots_total', {
    provider: given.provided.provider,
    outcome: 'asked',
  });
  return asked;
}

/**
 * A machine that did not answer may hang, and hear of no graceful reboot either: it is forced after a
 * short while, which counts as an attempt of its own. What a person ordered is done as ordered.
 */
async function pastGrace(deps: RecoverDeps, given: Asked, signal: AbortSignal): Promise<Asked> {
  const { attempt, askedAtMs, bootIdBefore } = given;
  if (given.isGraceful !== true || attempt.step.order !== null) return given;
  const question = { askedAtMs, bootIdBefore, offSeen: false, isMeasured: true, forMs: GRACE_MS };
  const proof = await evidenceOfBoot(deps, given, question, signal);
  if (proof) return { ...given, proof };
  attempt.step = { ...attempt.step, mode: 'force' };
  return ask(deps, given, bootIdBefore, signal);
}

/** Goes on with a request of a process that died before it saw the end of it. */
export function resume(given: Recovering): Asked {
  const { askedAtMs, bootIdBefore } = required(given.row.recovery, 'recovery to go on with');
  return { ...given, askedAtMs, bootIdBefore, proof: null };
}

/** Waits, without a place, for evidence that the machine booted. @throws {TimedOut} */
export async function awaitBoot(
  deps: RecoverDeps,
  asked: Asked,
  signal: AbortSignal,
): Promise<Proved> {
  deps.taskPool.leavePlace(asked.slot);
  const given = await pastGrace(deps, asked, signal);
  const { slot, work, attempt, bootIdBefore } = given;
  const { rung, resumed } = attempt.step;
  const askedAtMs = given.askedAtMs ?? deps.nowMs();
  const forMs = remainingMs(deps, given, askedAtMs);
  const offSeen = rung === 'powerCycling';
  const whileWaiting = returnPermitLate(deps, given, askedAtMs);
  const question = { askedAtMs, bootIdBefore, offSeen, isMeasured: !resumed, forMs, whileWaiting };
  const proof = given.proof ?? (await requireEvidence(deps, given, question, signal));
  deps.log.info({ slot, machine: work.machineId, proof: proof.what }, 'boot proved');
  return { ...given, proof };
}

/**
 * A machine that does not answer for so long is beyond reach: others need not wait for its permit while
 * the rest of its patience passes.
 */
export function returnPermitLate(
  { nowMs, log }: RecoverDeps,
  { slot, work, row }: Recovering,
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
function remainingMs(deps: RecoverDeps, given: Recovering, askedAtMs: number): number {
  const { step } = given.attempt;
  const policy = rungPolicy(deps, given);
  if (!step.resumed) return patienceOf(step, policy, given.row.bootTimes);
  const wholeMs = Math.max(policy.patienceMs, deps.askAgainMs);
  return askedAtMs + wholeMs - deps.nowMs();
}
