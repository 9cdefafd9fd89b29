import type { ProviderMachine } from '../machine.ts';
import type { ProviderName } from '../ids.ts';
import type { Traits } from '../traits.ts';
import type { HealthCheck, PoolRef } from './objects.ts';

/** A pool: machines that serve the same, and the ports and addresses under which clients find them. */
export interface Pool extends PoolRef {
  /** Names of the balancers that serve it, each by itself. */
  readonly balancers: readonly string[];
  /** Where clients come in, in canonical form. */
  readonly addresses: readonly string[];
  readonly ports: readonly PoolPort[];
  readonly select: PoolSelector;
  /** In which of these states a machine may be a member. */
  readonly memberStates: readonly MemberStateOfMachine[];
  readonly drain: DrainPolicy;
  /** No planned drain leaves fewer active members than these. */
  readonly minActive: number;
  /** A new member that is not well after this gets traffic all the same, and is flagged. */
  readonly warmUpMs: number;
}

export interface PoolPort {
  readonly name: string;
  /** Of the balancer. */
  readonly external: number;
  /** Of the machines. */
  readonly internal: number;
  readonly check: HealthCheck;
}

/** States of a machine in which it can be a member. */
export const SERVING_STATES = ['Running', 'HandedOver'] as const;
export type MemberStateOfMachine = (typeof SERVING_STATES)[number];

/** What to do with a planned interruption while the balancer cannot be reached. */
export const DRAIN_POLICIES = ['require', 'best-effort'] as const;
export type DrainPolicyName = (typeof DRAIN_POLICIES)[number];

export interface DrainPolicy {
  /** So long connections may go on before they are cut. */
  readonly graceMs: number;
  readonly policy: DrainPolicyName;
  /** `require`: so long a drain waits for a balancer that cannot be reached. */
  readonly waitMs: number;
  /** Members that are interrupted by plan at the same time, at most. */
  readonly atOnce: number;
}

/** Grace can be no longer: whoever waits for the machine holds others up. */
export const LONGEST_GRACE_MS = 5 * 60_000;

/** Which machines belong to a pool. A list that is null leaves its question out. */
export interface PoolSelector {
  readonly providers: readonly string[] | null;
  readonly locations: readonly string[] | null;
  readonly plans: readonly string[] | null;
  /** Tags that its device has at the provider, each with this value. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What is known of a machine by which it can be selected. */
export interface Selectable {
  readonly provider: ProviderName;
  /** From its row, or else from the listing; null: neither tells it (yet). */
  readonly location: Traits['location'];
  /** As its provider's latest listing shows it; null: it does not show it. */
  readonly listed: Pick<ProviderMachine, 'plan' | 'tags'> | null;
}

/**
 * Whether a machine belongs to a pool. Null: nobody can tell, since what is asked for is told only by
 * a listing that does not show the machine, or was not told yet. Then it stays what it is: a listing
 * that fails takes no machine out of a pool, and lets none in.
 */
export function isSelected(select: PoolSelector, machine: Selectable): boolean | null {
  const { providers, locations, plans, labels } = select;
  const { listed } = machine;
  const answers = [
    answer(providers, machine.provider),
    answer(locations, machine.location),
    answer(plans, listed === null ? null : listed.plan),
    ...Object.entries(labels).map(([label, value]) =>
      listed === null ? null : Object.hasOwn(listed.tags, label) && listed.tags[label] === value,
    ),
  ];
  if (answers.includes(false)) return false;
  return answers.includes(null) ? null : true;
}

const answer = (wanted: readonly string[] | null, known: string | null): boolean | null => {
  if (wanted === null) return true;
  return known === null ? null : wanted.includes(known);
};
