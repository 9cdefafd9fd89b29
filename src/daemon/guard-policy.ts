import type { Config } from '../config.ts';
import type { GuardPolicy } from '../domain/recovery/guard-judgement.ts';
import type { Tuning } from './tuning.ts';

/** Assessments that may be missed before heartbeats count as not taken in. */
const MISSED_MAX = 4;

/** When recovery freezes and thaws: from the configuration, and figures of the design. */
export function guardPolicyOf(
  { guard, agent }: Pick<Config, 'guard' | 'agent'>,
  { assessMs, ingestGapMs }: Pick<Tuning, 'assessMs' | 'ingestGapMs'>,
): GuardPolicy {
  const { silentMin, silentPercent, newFor, calmPercent, calmFor, unreachablePercent } = guard;
  return {
    silentMin,
    silentPercent,
    calmPercent,
    unreachablePercent,
    assessMs,
    newForMs: newFor,
    calmForMs: calmFor,
    ingestGapMs: ingestGapMs ?? Math.max(2 * agent.heartbeatPeriod, MISSED_MAX * assessMs),
  };
}
