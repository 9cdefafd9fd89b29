import { ProviderError } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/ids.ts';

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
