import { patienceOf } from '../../../domain/recovery/ladder.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../desk.ts';
import { stepSignal } from '../task.ts';
import { askProvider, hasBootedLate } from './ask.ts';
import { attemptOf, providerOfTurn, rungPolicy, type RecoverDeps } from './deps.ts';
import { requireEvidence } from './evidence.ts';

/** Asks for a reboot, unless an earlier request may still come true, or just did. */
export async function askReboot(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const { step } = attemptOf(turn);
  const ends = stepSignal(deps, turn, signal);
  if (step.resumed) return resume(turn);
  if (await hasBootedLate(deps, turn, ends)) return;
  await askProvider(
    deps,
    turn,
    {
      call: 'reboot',
      ask: (provider, id, how) => provider.rebootMachine(id, step.mode, how),
    },
    ends,
  );
  deps.metrics.reboot(providerOfTurn(turn), 'asked');
}

/** Goes on with what somebody asked for and did not live to see. */
export function resume(turn: Turn): void {
  const { askedAtMs, bootIdBefore } = turn.work!.row.recovery!;
  attemptOf(turn).askedAtMs = askedAtMs!;
  turn.bootId = bootIdBefore;
}

/** Waits, without a place, for evidence that the machine booted. @throws {TimedOut} */
export async function awaitBoot(
  deps: RecoverDeps,
  { slot, machineId }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const attempt = attemptOf(turn);
  deps.desk.leavePlace(slot);
  const { step } = attempt;
  const askedAtMs = attempt.askedAtMs ?? deps.nowMs();
  const forMs = remainingMs(deps, turn, askedAtMs);
  attempt.proof ??= await requireEvidence(
    deps,
    turn,
    {
      askedAtMs,
      bootIdBefore: turn.bootId ?? null,
      offSeen: step.rung === 'powerCycling',
      isMeasured: !step.resumed,
      forMs,
    },
    stepSignal(deps, turn, signal),
  );
  deps.log.info({ slot, machine: machineId, proof: attempt.proof.what }, 'boot proved');
}

/** Of the patience that the attempt deserves; a request that was taken over gets all its time. */
function remainingMs(deps: RecoverDeps, turn: Turn, askedAtMs: number): number {
  const { step } = attemptOf(turn);
  const policy = rungPolicy(deps, turn);
  if (!step.resumed) return patienceOf(step, policy, turn.work!.row.bootTimes);
  const wholeMs = Math.max(policy.patienceMs, deps.askAgainMs);
  return askedAtMs + wholeMs - deps.nowMs();
}
