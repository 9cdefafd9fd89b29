import { ProviderError } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/ids.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import {
  DISPUTED,
  SET_ID_TAG,
  WITNESS_TAG,
  type Tags,
} from '../../../domain/provisioning/provider-tags.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Server, ServerList } from './api.ts';
import type { Claim, Claims } from './parts.ts';

/**
 * A server has no tags at Robot, only a name, so the name is the mark: what is free for us, what is
 * ours and by which creation, and what is on its way back.
 */

const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567';
/** 128 bits in digits of five. */
const WITNESS_LENGTH = 26;
const WITNESS = new RegExp(`^[a-z2-7]{${WITNESS_LENGTH}}$`);
/** What of a witness stands in an id. */
const ID_LENGTH = 8;

/** The two prefixes of one set; neither begins the other. */
export interface Prefixes {
  readonly namePrefix: string;
  readonly freePrefix: string;
}

/**
 * A witness as it stands in a name.
 * @throws {ProviderError} `invalid`: it is no UUID.
 */
export function witnessText(witness: string): string {
  if (!isUuid(witness)) throw new ProviderError('invalid', 'the witness of a creation is no UUID');
  let bits = BigInt(`0x${witness.replaceAll('-', '')}`) << 2n;
  let text = '';
  for (let digit = 0; digit < WITNESS_LENGTH; digit++, bits >>= 5n) {
    text = DIGITS[Number(bits & 31n)]! + text;
  }
  return text;
}

/** The witness that a name holds; null: the text is none. */
export function witnessOfText(text: string): string | null {
  if (!WITNESS.test(text)) return null;
  let bits = 0n;
  for (const digit of text) bits = (bits << 5n) | BigInt(DIGITS.indexOf(digit));
  if ((bits & 3n) !== 0n) return null;
  const hex = (bits >> 2n).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** What a name says of a server. */
export type NameClass =
  | { readonly kind: 'ours'; readonly witness: string }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'free' }
  | { readonly kind: 'other' };

export function classifyName(name: string, { namePrefix, freePrefix }: Prefixes): NameClass {
  if (name.startsWith(namePrefix)) {
    const rest = name.slice(namePrefix.length);
    const witness = witnessOfText(rest);
    if (witness !== null) return { kind: 'ours', witness };
    return { kind: LEAVING.test(rest) ? 'leaving' : 'other' };
  }
  return { kind: name.startsWith(freePrefix) ? 'free' : 'other' };
}
const LEAVING = /^leaving-\d+$/;

/**
 * Whether somebody has given a server a name of their own. One that was cleared or cut, at whatever place,
 * is nobody's.
 */
export function isStrangers(name: string, { namePrefix, freePrefix }: Prefixes): boolean {
  return ![namePrefix, freePrefix].some(
    (prefix) => name.startsWith(prefix) || prefix.startsWith(name),
  );
}

export const ourName = ({ namePrefix }: Prefixes, witness: string): string =>
  namePrefix + witnessText(witness);
export const leavingName = ({ namePrefix }: Prefixes, server: number): string =>
  `${namePrefix}leaving-${server}`;
export const freeName = ({ freePrefix }: Prefixes, server: number): string =>
  `${freePrefix}${server}`;
/** Of the system that is installed on it; always the same. */
export const hostnameOf = ({ namePrefix }: Prefixes, slotId: string): string => namePrefix + slotId;

/** Opaque outside: it vanishes when the machine is given back, and the next one has another. */
export const machineIdOf = (server: number, witness: string): string =>
  `${server}-${witnessText(witness).slice(0, ID_LENGTH)}`;

/** The server that an id is about; null: it is no id of ours. */
export function serverOfId(id: string): number | null {
  const parts = /^([1-9]\d{0,15})-[a-z2-7]{8}$/.exec(id);
  return parts ? Number(parts[1]) : null;
}

/** The server that a slot is; null: it is none of ours. */
export const serverOfSlot = (slotId: string): number | null =>
  /^[1-9]\d{0,15}$/.test(slotId) ? Number(slotId) : null;

/** The beginning of the witness, such as stands in ids and in the name of the guard directory. */
export const shortWitness = (witness: string): string => witnessText(witness).slice(0, ID_LENGTH);

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
