import {
  currentHeartbeat,
  installState,
  isHeartbeating,
  isLost,
  isQuarantined,
} from '../../../src/domain/eligibility.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { PERMIT_RETURNED_AFTER } from '../../../src/domain/policy.ts';
import {
  SILENCE_ACTOR,
  SILENCE_REASONS,
  SILENT,
  type SilenceMoment,
} from '../../../src/domain/recovery/guard-status.ts';
import type { GuardedMachine } from './guard-counts.ts';

/**
 * What a slot's log says of silence: when a running machine fell silent, and when it was certainly
 * heard again, whatever was tried in between. The BMDB's SQL computes the same; a property test
 * compares the two.
 */
export interface SilenceLine {
  readonly kind: 'fellSilent' | 'heardAgain';
  readonly actor: string;
  readonly reason: string;
  /** Names of states as people see them. */
  readonly from: string;
  readonly to: string;
}

/** Time since which a machine that should run is silent; null: it is not. */
export function silentSinceMs(row: MachineRow, { nowMs, loss }: SilenceMoment): number | null {
  const { agentStarted, provided, deprovision } = row;
  if (!agentStarted || !provided || provided.status === 'Missing' || deprovision) return null;
  if (installState(row) === 'DONE' || isQuarantined(row, nowMs)) return null;
  return isLost(row, nowMs, loss) ? (currentHeartbeat(row)?.atMs ?? agentStarted.atMs) : null;
}

/**
 * A silent machine is heard again: it sent as many heartbeats in a row as return a permit, or its
 * installation succeeded, after which nobody waits for it. With single heartbeats, the log of an
 * unstable machine would grow for ever.
 */
export const isHeardAgain = (
  { row, unbroken }: Pick<GuardedMachine, 'row' | 'unbroken'>,
  { nowMs, loss }: SilenceMoment,
): boolean =>
  installState(row) === 'DONE' ||
  (isHeartbeating(row, nowMs, loss) && unbroken.count >= PERMIT_RETURNED_AFTER);

export const fellSilent = (row: MachineRow): SilenceLine => ({
  kind: 'fellSilent',
  actor: SILENCE_ACTOR,
  reason: SILENCE_REASONS.fell,
  from: runningState(row),
  to: SILENT,
});

export const heardAgain = (row: MachineRow, nowMs: number): SilenceLine => ({
  kind: 'heardAgain',
  actor: SILENCE_ACTOR,
  reason: installState(row) === 'DONE' ? SILENCE_REASONS.installed : SILENCE_REASONS.heard,
  from: SILENT,
  to: stateWhenHeard(row, nowMs),
});

/** Its state at the last heartbeat. */
function runningState(row: MachineRow): string {
  const isInstalling = installState(row) === 'PENDING' && row.installation.handedOutAtMs !== null;
  if (isInstalling) return 'Running · installingOs';
  return currentHeartbeat(row) ? 'Running · healthy' : 'Running · awaitingHeartbeat';
}

/** See `viewOf`, which also knows the provider's listing. */
function stateWhenHeard(row: MachineRow, nowMs: number): string {
  if (isQuarantined(row, nowMs)) return `Quarantined · ${row.quarantine!.kind}`;
  if (row.deprovision) return 'Deprovisioning';
  if (row.provided?.status === 'Missing') return 'Quarantined · missing';
  if (row.permit) return 'Recovering';
  return installState(row) === 'DONE' ? 'HandedOver · installed' : runningState(row);
}
