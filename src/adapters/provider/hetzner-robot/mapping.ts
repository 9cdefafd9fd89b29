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
 * Robot has no tags, so a server's name is the mark: free for us, ours with its creation, or being
 * given back.
 */

const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567';
/** 128 bits in base-32 digits. */
const WITNESS_LENGTH = 26;
const WITNESS = new RegExp(`^[a-z2-7]{${WITNESS_LENGTH}}$`);
/** Digits of the creation key in an id. */
const ID_LENGTH = 8;

/** The two name prefixes of one instance set; neither is a prefix of the other. */
export interface Prefixes {
  readonly namePrefix: string;
  readonly freePrefix: string;
}

/** A creation key in the form used in names. @throws {ProviderError} `invalid`: it is no UUID. */
export function witnessText(witness: string): string {
  if (!isUuid(witness)) throw new ProviderError('invalid', 'the creation key is not a UUID');
  let bits = BigInt(`0x${witness.replaceAll('-', '')}`) << 2n;
  let text = '';
  for (let digit = 0; digit < WITNESS_LENGTH; digit++, bits >>= 5n) {
    text = DIGITS[Number(bits & 31n)]! + text;
  }
  return text;
}

/** The creation key in a name; null if the text is none. */
export function witnessOfText(text: string): string | null {
  if (!WITNESS.test(text)) return null;
  let bits = 0n;
  for (const digit of text) bits = (bits << 5n) | BigInt(DIGITS.indexOf(digit));
  if ((bits & 3n) !== 0n) return null;
  const hex = (bits >> 2n).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** What a name says about its server. */
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

/** Whether somebody renamed the server. A cleared or truncated name belongs to nobody. */
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
/** Hostname of the installed system; constant for a slot. */
export const hostnameOf = ({ namePrefix }: Prefixes, slotId: string): string => namePrefix + slotId;

/** Opaque id: it ends with the give-back, and the next machine gets another. */
export const machineIdOf = (server: number, witness: string): string =>
  `${server}-${witnessText(witness).slice(0, ID_LENGTH)}`;

/** Server number in an id; null if the id is not ours. */
export function serverOfId(id: string): number | null {
  const parts = /^([1-9]\d{0,15})-[a-z2-7]{8}$/.exec(id);
  return parts ? Number(parts[1]) : null;
}

/** Server number of a slot; null if the slot is not ours. */
export const serverOfSlot = (slotId: string): number | null =>
  /^[1-9]\d{0,15}$/.test(slotId) ? Number(slotId) : null;

/** First digits of the creation key, as in ids and in the name of the guard directory. */
export const shortWitness = (witness: string): string => witnessText(witness).slice(0, ID_LENGTH);

/** Settings that the view of servers needs. */
export interface View extends Prefixes {
  readonly instanceSetId: string;
  /** Server numbers that may be listed and changed; undefined: all. */
  readonly servers?: readonly number[] | undefined;
  /** SSH port of all servers. */
  readonly sshPort: number;
  /** Plans by server number, if different from the product. */
  readonly plan: Readonly<Record<string, string>>;
}

/**
 * A server's state for us. `unfinished`: our creation stopped before its installation began. It
 * counts as free, so that the creation can be resumed; the claim keeps other creations out.
 */
export type Standing = 'machine' | 'free' | 'unfinished' | 'leaving' | 'unusable' | 'foreign';

/** The claim overrides the name, which may be truncated or changed manually. */
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

/** According to the claim, nothing has been written to a disk yet. */
export const isUnfinished = ({ order, phase }: Pick<Claim, 'order' | 'phase'>): boolean =>
  order === 'create' && (phase === 'claimed' || phase === 'rescue');

/** A reinstallation was ordered, but nothing leads to it any more: the next order starts over. */
export const isBrokenOff = ({ order, phase, resetAtMs }: Claim): boolean =>
  order === 'reinstall' && phase === 'rescue' && resetAtMs === null;

/** A server in the port's form; null if it is not shown. */
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

/** Claimed by another set, or renamed by somebody since: nothing is done to it. */
export const isAnothers = (server: Server, claims: Claims, view: View): boolean =>
  claims.untouchable.has(server.number) || isStrangers(server.name, view);

/** Without a claim, only the name gives the tags. */
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

/** Includes an unusual port. */
function shownAddress(server: Server, { sshPort }: View): string | null {
  const address = addressOf(server);
  return address === null || sshPort === 22 ? address : `${address}:${sshPort}`;
}

/** IPv4 before IPv6: in an IPv6 network, the machine has the first address. */
export function addressOf({ ipv4, ipv6Net }: Pick<Server, 'ipv4' | 'ipv6Net'>): string | null {
  if (ipv4) return ipv4;
  if (!ipv6Net) return null;
  const net = ipv6Net.replace(/\/\d+$/, '');
  return net.endsWith('::') ? `[${net}1]` : null;
}

/** A listing in the port's form. */
export function toListing(list: ServerList, claims: Claims, view: View): DriverListing {
  const machines = list.servers.flatMap((server) => toMachine(server, claims, view) ?? []);
  const isListed = (server: number) => !view.servers || view.servers.includes(server);
  const unreadable = list.unreadable
    .filter(isListed)
    .map((server) => ({
      id: idByClaim(claims.ours.get(server)),
      reservationId: String(server),
      fault: 'its entry is malformed',
    }));
  return { machines, complete: list.nameless === 0, unreadable };
}
const idByClaim = (claim: Claim | undefined): string | null =>
  claim ? machineIdOf(claim.server, claim.witness) : null;

/** Number of servers in each state, for the log. */
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
