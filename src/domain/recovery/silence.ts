import {
  STARTABLE,
  currentHeartbeat,
  installState,
  isQuarantined,
  isStartGivenUp,
  lostAtMs,
} from '../eligibility.ts';
import type { MachineRow } from '../machine.ts';
import { PERMIT_RETURNED_AFTER } from '../policy.ts';
import type { LossPolicy } from '../policy.ts';
import { FLEET } from './guard-judgement.ts';
import type { GuardCounts } from './guard-judgement.ts';

/** Who notes in the log of a slot that a machine fell silent, or was heard again. */
export const SILENCE_ACTOR = 'shepherd';
export const SILENT = 'Running · silent';
export const SILENCE_REASONS = {
  fell: 'no heartbeat within the deadline',
  heard: `${PERMIT_RETURNED_AFTER} heartbeats without a break`,
  installed: 'its installation succeeded',
} as const;

export interface SilenceMoment {
  /** Database clock. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
}

/**
 * A machine that Shepherd should hear needs a person when it has been silent, or no start of its agent
 * has succeeded, for longer than the limit, whatever is tried meanwhile.
 */
export function isUnheardTooLong(row: MachineRow, { nowMs, loss }: SilenceMoment): boolean {
  const { agentStarted, provided, deprovision } = row;
  if (!provided || deprovision || installState(row) === 'DONE') return false;
  if (provided.status === 'Missing' || isQuarantined(row, nowMs)) return false;
  const isAwaited =
    agentStarted !== null ||
    (STARTABLE.includes(provided.status) && isStartGivenUp(row, nowMs, loss));
  return isAwaited && nowMs > unheardTooLongAtMs(row, loss);
}

/** If it is not heard until then, `isUnheardTooLong` may hold after this moment, and not before. */
export function unheardTooLongAtMs(row: MachineRow, loss: LossPolicy): number {
  const { agentStarted, heartbeat, createdAtMs } = row;
  if (!agentStarted) return (heartbeat?.atMs ?? createdAtMs) + loss.needsHumanAfterMs;
  const heardAtMs = currentHeartbeat(row)?.atMs ?? agentStarted.atMs;
  return Math.max(heardAtMs + loss.needsHumanAfterMs, lostAtMs(row, loss)!);
}

/**
 * Whether to search for machines that fell silent: only where heartbeats have been taken in, or silence
 * would mean nothing; and where the guard's last assessment counted some, so that a fleet in good
 * health costs nothing.
 */
export const mayBeSilent = (grace: string | null, counts: readonly GuardCounts[]): boolean =>
  grace === null && counts.find(({ scope }) => scope === FLEET)?.silent !== 0;
