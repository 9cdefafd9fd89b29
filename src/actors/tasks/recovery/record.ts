import type { Job } from '../../../machines/task.ts';
import { workEnded } from '../task.ts';
import { attemptOf, orderPart, providerOfTurn, type RecoverDeps } from './deps.ts';

/** Ends the attempt: the machine is ready for a new agent start, and its permit is free. */
export async function recordRecovery(deps: RecoverDeps, { slot, machineId }: Job): Promise<void> {
  const turn = deps.desk.turn(slot);
  const { step, proof, asked } = attemptOf(turn);
  await turn.work!.finish({
    kind: 'recovered',
    coolDown: deps.backoff,
    bootSeconds: proof?.bootSeconds ?? null,
    ...orderPart(step),
    ...(asked ? {} : { unasked: true }),
  });
  workEnded(deps, turn, 'finished');
  const provider = providerOfTurn(turn);
  if (step.rung === 'rebooting') deps.metrics.reboot(provider, 'proved');
  deps.metrics.ladderAttempt(provider, step.rung, 'proved');
  const { rung, attempt } = step;
  const fields = { slot, machine: machineId, rung, attempt, proof: proof?.what };
  deps.log.info(fields, 'machine recovered');
}
