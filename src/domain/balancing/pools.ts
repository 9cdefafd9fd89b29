import type { ProviderMachine } from '../machine.ts';
import type { ProviderName } from '../ids.ts';
import type { Traits } from '../traits.ts';
import type { HealthCheck, PoolRef } from './objects.ts';

/** A pool: machines that offer the same service, with the ports and addresses for clients. */
export interface Pool extends PoolRef {
  /** Names of its balancers; each serves the pool alone. */
  readonly balancers: readonly string[];
  /** Addresses for clients, in canonical form. */
  readonly addresses: readonly string[];
  readonly ports: readonly PoolPort[];
  readonly select: PoolSelector;
  /** States of a machine in which it may be a member. */
  readonly memberStates: readonly MemberStateOfMachine[];
  readonly drain: DrainPolicy;
  /** No planned drain leaves fewer active members than this. */
  readonly minActive: number;
  /** A new member that is still unhealthy after this gets traffic nevertheless, and is flagged. */
  readonly warmUpMs: number;
}

export interface PoolPort {
  readonly name: string;
  /** Port of the balancer. */
  readonly external: number;
  /** Port of the machines. */
  readonly internal: number;
  readonly check: HealthCheck;
}

/** States of a machine in which it can be a member. */
export const SERVING_STATES = ['Running', 'HandedOver'] as const;
export type MemberStateOfMachine = (typeof SERVING_STATES)[number];

/** Handling of a planned interruption while the balancer cannot be reached. */
export const DRAIN_POLICIES = ['require', 'best-effort'] as const;
export type DrainPolicyName = (typeof DRAIN_POLICIES)[number];

export interface DrainPolicy {
  /** Connections may go on for this long before they are cut. */
  readonly graceMs: number;
  readonly policy: DrainPolicyName;
  /** `require`: a drain waits this long for an unreachable balancer. */
  readonly waitMs: number;
  /** Maximum number of members that are interrupted by plan at the same time. */
  readonly atOnce: number;
}

/** Longest grace: a request that waits for the machine holds up others. */
export const LONGEST_GRACE_MS = 5 * 60_000;

/** Selects the machines of a pool. A null list matches every machine. */
export interface PoolSelector {
  readonly providers: readonly string[] | null;
  readonly locations: readonly string[] | null;
  readonly plans: readonly string[] | null;
  /** Tags, with values, that the device must have at the provider. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The known properties of a machine by which a pool can select it. */
export interface Selectable {
  readonly provider: ProviderName;
  /** From its row, else from the listing; null: neither has it (yet). */
  readonly location: Traits['location'];
  /** The entry in its provider's latest listing; null: the listing does not show it. */
  readonly listed: Pick<ProviderMachine, 'plan' | 'tags'> | null;
}

/**
 * Whether the selector matches a machine. Null: unknown, because only a listing can tell, and no
 * listing shows the machine yet. Then the machine stays as it is: a failed listing takes no machine
 * out of a pool and adds none.
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
 * Writes an IP address in the one form used for comparison: IPv4 as four plain numbers, IPv6 in RFC
 * 5952 form, an IPv4-mapped IPv6 address as IPv4. Null: the text is no address, has a port or a
 * zone, or has a form that programs read differently, such as `010.0.0.1`.
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

/** The family of an address in canonical form. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'ipv6' : 'ipv4');

/** External addresses of a pool, each with its ports for clients. */
export type Addresses = ReadonlyMap<string, readonly number[]>;

/**
 * Addresses and ports that every balancer of a pool has, so that clients find the pool at each of
 * them. An address without a common port is left out. An unreadable balancer has none.
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
