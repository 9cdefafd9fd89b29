import { createHash } from 'node:crypto';
import type { Random } from '../../adapters/clock/port.ts';

/** SHA-256: what is stored in place of a secret, and what is compared. */
export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** 256 bits that nobody can guess, as 43 characters of base64url. */
export const makeSecret = ({ uuid }: Random): string =>
  digestOf(`${uuid()}${uuid()}${uuid()}`).toString('base64url');

const FORM = /^shp_([0-9a-z]{10})_[\w-]{43}$/;

/** A token for a program: its id, which may be shown, and all of it, which is shown once. */
export function makeToken(random: Random): { readonly id: string; readonly token: string } {
  const id = random.uuid().replaceAll('-', '').slice(0, 10);
  return { id, token: `shp_${id}_${makeSecret(random)}` };
}

/** The id of something that has the form of a token; null: it has not. */
export const idOfToken = (text: string): string | null => FORM.exec(text)?.[1] ?? null;
