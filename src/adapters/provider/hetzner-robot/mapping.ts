import {
  DISPUTED,
  SET_ID_TAG,
  type Tags,
  WITNESS_TAG,
} from '../../../domain/provisioning/provider-tags.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Claim, Claims } from './claims.ts';
import type { Server, ServerList } from './client/schema.ts';
import { classifyName, isStrangers, machineIdOf, type Prefixes } from './names.ts';

/** How servers are looked at. */
export interface View extends Prefixes {
  readonly instanceSetId: string;
  /** Server numbers that may be listed and touched; undefined: all. */
  readonly servers?: readonly number[] | undefined;
  /** Where SSH is on all of them. */
  readonly sshPort: number;
  /** Plans by server number, where the product is not to be it. */
  readonly plan: Readonly<Record<string, string>>;
}

/**
 * What a server is to us. `unfinished`: a creation of ours stopped before its installation began; it
 * counts as free, so that the creation can be taken up again, and nobody else's gets past the claim.
 */
export type Standing = 'machine' | 'free' | 'unfinished' | 'leaving' | 'unusable' | 'foreign';

/** What the claim says comes before what the name says: a name may be cut, or changed by hand. */
export function standingOf(server: Server, claims: Claims, view: View): Standing {
  if (view.servers && !view.servers.includes(server.number)) return 'foreign';
  const claim = claims.ours.get(server.number);
  const { kind } = classifyName(server.name, view);
  if (claims.untouchable.has(server.number)) return kind === 'ours' ? 'machine' : 'unusable';
  if (claim?.phase === 'leaving' || claim?.phase === 'wiped') return 'leaving';
  if (claim && isUnfinished(claim)) return kind === 'other' ? 'unusable' : 'unfinished';
  if (claim || kind === 'ours') return 'machine';
  if (kind === 'leaving') return 'leaving';
  if (kind === 'other') return 'foreign';
  return server.isReady && !server.isCancelled ? 'free' : 'unusable';
}

/** Nothing of it is on a disk yet, as far as the claim tells. */
export const isUnfinished = ({ order, phase }: Pick<Claim, 'order' | 'phase'>): boolean =>
  order === 'create' && (phase === 'claimed' || phase === 'rescue');

/** A new system was ordered, and nothing leads there any more: the next order begins anew. */
export const isBrokenOff = ({ order, phase, resetAtMs }: Claim): boolean =>
  order === 'reinstall' && phase === 'rescue' && resetAtMs === null;

/** A server as the port shows it; null: it is not shown. */
export function toMachine(server: Server, claims: Claims, view: View): DriverMachine | null {
  const common = {
    reservationId: String(server.number),
    plan: view.plan[String(server.number)] ?? server.product,
    location: server.location,
  };
  const standing = standingOf(server, claims, view);
  if (standing === 'free' || standing === 'unfinished') {
    return { ...common, id: null, availability: 'KnownUnused' };
  }
  if (standing !== 'machine') return null;
  const claim = claims.ours.get(server.number);
  const name = classifyName(server.name, view);
  const witness = claim?.witness ?? (name.kind === 'ours' ? name.witness : null);
  if (witness === null) return null;
  return {
    ...common,
    id: machineIdOf(server.number, witness),
    availability: 'KnownUsed',
    hostname: claim?.hostname ?? null,
    address: shownAddress(server, view),
    remoteUser: 'root',
    failed: claim?.phase === 'failed',
    status: statusOf(server, claim),
    power: 'unknown',
    tags: tagsOf(witness, claim, isAnothers(server, claims, view), view),
  };
}

/** Claimed by another set, or called by a name that somebody gave it since: nothing is done to it. */
export const isAnothers = (server: Server, claims: Claims, view: View): boolean =>
  claims.untouchable.has(server.number) || isStrangers(server.name, view);

/** Of a server whose claim is gone only the name tells. */
function tagsOf(witness: string, claim: Claim | undefined, disputed: boolean, view: View): Tags {
  if (disputed) return { [SET_ID_TAG]: DISPUTED };
  return claim?.tags ?? { [SET_ID_TAG]: view.instanceSetId, [WITNESS_TAG]: witness };
}

function statusOf({ isReady }: Server, claim: Claim | undefined): ProviderStatus {
  if (claim?.phase === 'failed') return 'ProvisioningFailedPermanent';
  const isAtWork = claim && claim.phase !== 'ready' && !isBrokenOff(claim);
  if (!isReady || isAtWork) return 'Provisioning';
  return 'Unknown';
}

/** With the port where it is not the usual one. */
function shownAddress(server: Server, { sshPort }: View): string | null {
  const address = addressOf(server);
  return address === null || sshPort === 22 ? address : `${address}:${sshPort}`;
}

/** IPv4 before IPv6: of a net of addresses the machine itself has the first. */
export function addressOf({ ipv4, ipv6Net }: Pick<Server, 'ipv4' | 'ipv6Net'>): string | null {
  if (ipv4) return ipv4;
  if (!ipv6Net) return null;
  const net = ipv6Net.replace(/\/\d+$/, '');
  return net.endsWith('::') ? `[${net}1]` : null;
}

/** A listing as the port shows it. */
export function toListing(list: ServerList, claims: Claims, view: View): DriverListing {
  const machines = list.servers.flatMap((server) => toMachine(server, claims, view) ?? []);
  const isListed = (server: number) => !view.servers || view.servers.includes(server);
  const unreadable = list.unreadable
    .filter(isListed)
    .map((server) => ({
      id: idByClaim(claims.ours.get(server)),
      reservationId: String(server),
      fault: 'its entry is not as agreed',
    }));
  return { machines, complete: list.nameless === 0, unreadable };
}
const idByClaim = (claim: Claim | undefined): string | null =>
  claim ? machineIdOf(claim.server, claim.witness) : null;

/** How many servers there are of each standing, for the log. */
export function countStandings(list: ServerList, claims: Claims, view: View) {
  const counts: Record<Standing, number> = {
    machine: 0,
    free: 0,
    unfinished: 0,
    leaving: 0,
    unusable: 0,
    foreign: 0,
  };
  for (const server of list.servers) counts[standingOf(server, claims, view)] += 1;
  return counts;
}
