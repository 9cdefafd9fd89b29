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

/**
 * IP addresses in the one form in which they are compared: IPv4 as four plain numbers, IPv6 in small
 * letters with its longest row of zeros left out (RFC 5952), and IPv4 written as IPv6 as the IPv4 that
 * it is. Null: it is none, has a port or a zone, or is written in a way that readers understand
 * differently, such as `010.0.0.1`.
 */
export function canonicalAddress(text: string): string | null {
  if (!text.includes(':')) return isIpv4(text) ? text : null;
  const url = /^[0-9a-f:.]+$/i.test(text) ? `http://[${text}]/` : '';
  if (!URL.canParse(url)) return null;
  const v6 = new URL(url).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(v6) ?? [];
  if (high === undefined || low === undefined) return v6;
  const halves = [high, low].map((half) => parseInt(half, 16));
  return halves.flatMap((half) => [half >> 8, half & 255]).join('.');
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const isIpv4 = (text: string): boolean => IPV4.test(text);

export type Family = 'ipv4' | 'ipv6';

/** Of an address in canonical form. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'ipv6' : 'ipv4');

/** External addresses of a pool, each with the ports under which clients find it there. */
export type Addresses = ReadonlyMap<string, readonly number[]>;

/**
 * Where clients find a pool whichever of its balancers they come to: a port counts only if every one
 * of them has it, an address only if a port of it is left. One that cannot be read has none.
 */
export function mergedAddresses(balancers: readonly Addresses[]): Addresses {
  const [first, ...others] = balancers;
  const merged = new Map<string, readonly number[]>();
  for (const [address, ports] of first ?? []) {
    const left = ports.filter((port) =>
      others.every((other) => other.get(address)?.includes(port) === true),
    );
    if (left.length > 0) merged.set(address, left);
  }
  return merged;
}
