import { workEnded } from '../task.ts';
import { orderPart, type Proved, type RecoverDeps } from './deps.ts';

/** Ends the attempt: the machine is ready for a new agent start, and its permit is free. */
export async function recordRecovery(deps: RecoverDeps, given: Proved): Promise<Proved> {
  const { slot, work, provided, attempt, proof } = given;
  const { step, asked } = attempt;
  await work.finish({
    kind: 'recovered',
    coolDown: deps.backoff,
    bootSeconds: proof.bootSeconds,
    ...orderPart(step),
    ...(asked ? {} : { unasked: true }),
  });
  workEnded(deps, given, 'finished');
  if (step.rung === 'rebooting') deps.metrics.reboot(provided.provider, 'proved');
  deps.metrics.ladderAttempt(provided.provider, step.rung, 'proved');
  const { rung, attempt: nth } = step;
  const fields = { slot, machine: work.machineId, rung, attempt: nth, proof: proof.what };
  deps.log.info(fields, 'machine recovered');
  return given;
}
