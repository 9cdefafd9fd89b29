import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
} from 'node:crypto';
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

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Of what a cookie or token holds, which is stored nowhere: only its holder can open what is sealed. */
const keyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'renewal of a session of the console', 32));

/** Encrypts a text for whoever has the secret. */
export function seal(text: string, secret: string, random: Random): Uint8Array {
  const iv = digestOf(random.uuid()).subarray(0, IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** What was sealed for this secret; null: it was sealed for another, or is damaged. */
export function unseal(sealed: Uint8Array, secret: string): string | null {
  const bytes = Buffer.from(sealed);
  if (bytes.length < IV_BYTES + TAG_BYTES) return null;
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
  const decipher = createDecipheriv(CIPHER, keyOf(secret), iv).setAuthTag(tag);
  const body = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([body, decipher.final()]).toString('utf8');
  } catch {
    // All that it tells is that tag and content do not go together.
    return null;
  }
}

/** A private key for X25519 as RFC 8410 writes it (PKCS #8), without its last 32 bytes. */
const X25519_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

const privateKeyOf = (secret: string) =>
  createPrivateKey({
    key: Buffer.concat([X25519_HEAD, digestOf(`key of a login of a command: ${secret}`)]),
    ...{ format: 'der', type: 'pkcs8' },
  });
/** DER (SPKI) of a key to which `sealFor` encrypts; only this secret leads to the other half. */
export const publicKeyOf = (secret: string): Buffer =>
  createPublicKey(privateKeyOf(secret)).export({ format: 'der', type: 'spki' });

const sharedSecret = (own: string, other: Uint8Array): string =>
  diffieHellman({
    privateKey: privateKeyOf(own),
    publicKey: createPublicKey({ key: Buffer.from(other), format: 'der', type: 'spki' }),
  }).toString('base64url');

/** Encrypts a text for the holder of the secret of a public key, who need not be there. */
export function sealFor(text: string, publicKey: Uint8Array, random: Random): Uint8Array {
  const once = makeSecret(random);
  const mine = publicKeyOf(once);
  const sealed = seal(text, sharedSecret(once, publicKey), random);
  return Buffer.concat([Buffer.from([mine.length]), mine, sealed]);
}

/** What was encrypted for the public key of this secret; null: it is damaged. */
export function unsealFor(sealed: Uint8Array, secret: string): string | null {
  const bytes = Buffer.from(sealed);
  const end = 1 + bytes[0]!;
  return unseal(bytes.subarray(end), sharedSecret(secret, bytes.subarray(1, end)));
}
