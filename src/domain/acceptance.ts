import { slot, slotIdOf } from './ids.ts';
import type { HoldRow, MachineRow, PartOf, SlotFacts } from './machine.ts';

/** The acceptance of a machine: checks by its agent before it serves. It never reinstalls. */

/** The expected hardware. An absent field is not checked. */
export interface Inventory {
  /** Installed memory. */
  readonly memoryGiB?: number;
  /** Hardware threads of all processors. */
  readonly cpus?: number;
  readonly disks?: readonly { readonly sizeGB: number; readonly count: number }[];
  /** Speed of the fastest link that is up. */
  readonly networkMbps?: number;
}

/** What an agent has to check. */
export interface AcceptanceProfile extends Inventory {
  /** Minimum speed of a short sequential read of each disk, in MB/s. Absent: no disk is read. */
  readonly readMBps?: number;
}

/** The configured profile of a provider's machines. */
export interface AcceptancePolicy extends AcceptanceProfile {
  /** Without a passed acceptance, the machine stays out of its pools. */
  readonly required?: boolean;
}
/** By provider. */
export type AcceptancePolicies = Readonly<Record<string, AcceptancePolicy>>;

/** Why a machine has to be accepted. */
export type AcceptanceCause = 'first' | 'reinstalled' | 'unretired' | 'repaired' | 'asked';

export const CHECK_STATUSES = ['ok', 'failed', 'unknown'] as const;
/** One check and its result; texts for people. */
export interface AcceptanceCheck {
  readonly name: string;
  /** Empty: nothing is expected, so that an unknown result is no failure. */
  readonly expected: string;
  readonly found: string;
  readonly status: (typeof CHECK_STATUSES)[number];
}

/** A request of an acceptance, as it is handed to the agent. */
export interface AcceptanceRequest {
  readonly id: bigint;
  readonly profile: AcceptanceProfile;
}

/** An agent's answer to the request with this id. */
export interface AcceptanceReport {
  readonly id: bigint;
  readonly checks: readonly AcceptanceCheck[];
  /** Becomes the expected inventory once the machine is accepted. */
  readonly found: Inventory;
}

/** Source of the condition `acceptance-failed`, and name of the hold. No person may use it. */
export const ACCEPTANCE_SOURCE = 'acceptance';

/** Why the checks do not accept the machine, one line; null: they do. */
export function whyNotAccepted(checks: readonly AcceptanceCheck[]): string | null {
  if (checks.length === 0) return 'nothing was checked';
  const failed = checks.filter(
    ({ status, expected }) => status === 'failed' || (status === 'unknown' && expected !== ''),
  );
  const [first] = failed;
  if (!first) return null;
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : '';
  return `${first.name}: ${first.found}, expected ${first.expected}${more}`;
}

/** An agent that has not answered for this long cannot run the checks. */
export const ANSWER_MS = 30 * 60_000;

export type AcceptanceRow = PartOf<'acceptance'>;
export const ACCEPTANCE_STATES = ['waiting', 'due', 'passed', 'failed', 'unknown'] as const;
/**
 * `waiting`: for the end of a repair, or for a maintenance window. `unknown`: the agent got the
 * request and does not answer, for example because it is too old.
 */
export type AcceptanceState = (typeof ACCEPTANCE_STATES)[number];

/** A machine may still be broken, or serve, when a repair or a person makes its acceptance due. */
export const firstState = (cause: AcceptanceCause): 'waiting' | 'due' =>
  cause === 'repaired' || cause === 'asked' ? 'waiting' : 'due';

export function acceptanceState(row: AcceptanceRow, nowMs: number): AcceptanceState {
  const { state, handedOutAtMs } = row;
  if (state === 'waiting' || state === 'passed') return state;
  if (state !== 'due') return 'failed';
  return handedOutAtMs !== null && handedOutAtMs + ANSWER_MS <= nowMs ? 'unknown' : 'due';
}

/** What is to be known about the acceptance, as a short phrase; null: it passed. */
export function acceptanceText(row: AcceptanceRow, nowMs: number): string | null {
  switch (acceptanceState(row, nowMs)) {
    case 'passed':
      return null;
    case 'failed':
      return `its acceptance failed: ${row.reason}`;
    case 'unknown':
      return 'acceptance: no answer (old agent?); run shepherd machine accept';
    case 'waiting':
      return row.cause === 'repaired'
        ? 'it is checked again after its repair'
        : 'its acceptance begins soon, or in its maintenance window';
    case 'due':
      return 'its acceptance is due';
  }
}

/** Keeps a machine that must be accepted out of its pools. Null: it may serve. */
function holdOf(row: MachineRow | null, policies: AcceptancePolicies): HoldRow | null {
  const { acceptance, provided } = row ?? {};
  if (!acceptance || !provided || policies[provided.provider]?.required !== true) return null;
  const { state, held, reason } = acceptance;
  const isOpen = state === 'due' || state === 'waiting';
  if (state === 'passed' || (isOpen && !held)) return null;
  const slotId = slotIdOf(slot(provided.provider, provided.reservationId ?? provided.providerId));
  return {
    ...{ provider: provided.provider, slotId, kind: 'no-serve', setBy: ACCEPTANCE_SOURCE },
    reason: isOpen ? 'it is not accepted yet' : `it was not accepted: ${reason}`,
    untilMs: null,
  };
}

/** Gives facts the hold that follows from the machine's row. The same row keeps its hold object. */
export function createAcceptanceHolds(policies: AcceptancePolicies) {
  const known = new WeakMap<MachineRow, HoldRow | null>();
  return (facts: SlotFacts): SlotFacts => {
    const { row, holds } = facts;
    const hold = (row && known.get(row)) ?? holdOf(row, policies);
    if (row) known.set(row, hold);
    const others = holds.filter(({ setBy }) => setBy !== ACCEPTANCE_SOURCE);
    if (!hold && others.length === holds.length) return facts;
    return { ...facts, holds: hold ? [...others, hold] : others };
  };
}
