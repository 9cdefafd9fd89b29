import { createHash } from 'node:crypto';
import type { Random } from '../../../clock/port.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const TOKEN_DIGITS = 52;

/** Names an installation for its installer: 256 bits in base32, 52 digits. */
export const TOKEN = /^[a-z2-7]{52}$/;

/** Of three UUIDs that nobody can guess, which have more chance in them than that. */
export function newToken({ uuid }: Pick<Random, 'uuid'>): string {
  const bytes = createHash('sha256').update(`${uuid()} ${uuid()} ${uuid()}`).digest();
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = bits.padEnd(TOKEN_DIGITS * 5, '0').match(/.{5}/g) ?? [];
  return digits.map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/** An address of the configuration for one installation. */
export const withToken = (address: string, token: string): string =>
  address.replaceAll('{token}', token);
