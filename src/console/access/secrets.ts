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

/** SHA-256: stored and compared instead of the secret. */
export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** An unguessable secret of 256 bits, as 43 characters of base64url. */
export const makeSecret = ({ uuid }: Random): string =>
  digestOf(`${uuid()}${uuid()}${uuid()}`).toString('base64url');

const FORM = /^shp_([0-9a-z]{10})_[\w-]{43}$/;

/** A program's token: its id, which may be shown, and the whole, which is shown once. */
export function makeToken(random: Random): { readonly id: string; readonly token: string } {
  const id = random.uuid().replaceAll('-', '').slice(0, 10);
  return { id, token: `shp_${id}_${makeSecret(random)}` };
}

/** The id of a text in the form of a token; null: another form. */
export const idOfToken = (text: string): string | null => FORM.exec(text)?.[1] ?? null;

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Key from a cookie's or token's secret, which is stored nowhere: only its holder can unseal. */
const keyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'renewal of a session of the console', 32));

/** Encrypts a text for the holder of the secret. */
export function seal(text: string, secret: string, random: Random): Uint8Array {
  const iv = digestOf(random.uuid()).subarray(0, IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** Decrypts what was sealed for this secret; null: sealed for another secret, or damaged. */
export function unseal(sealed: Uint8Array, secret: string): string | null {
  const bytes = Buffer.from(sealed);
  if (bytes.length < IV_BYTES + TAG_BYTES) return null;
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
  const decipher = createDecipheriv(CIPHER, keyOf(secret), iv).setAuthTag(tag);
  const body = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([body, decipher.final()]).toString('utf8');
  } catch {
    // The error says only that tag and content do not match.
    return null;
  }
}

/** Head of an X25519 private key by RFC 8410 (PKCS #8), without the last 32 bytes. */
const X25519_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

const privateKeyOf = (secret: string) =>
  createPrivateKey({
    key: Buffer.concat([X25519_HEAD, digestOf(`key of a login of a command: ${secret}`)]),
    ...{ format: 'der', type: 'pkcs8' },
  });
/** DER (SPKI) of the key to which `sealFor` encrypts; only this secret yields the private half. */
export const publicKeyOf = (secret: string): Buffer =>
  createPublicKey(privateKeyOf(secret)).export({ format: 'der', type: 'spki' });

const sharedSecret = (own: string, other: Uint8Array): string =>
  diffieHellman({
    privateKey: privateKeyOf(own),
    publicKey: createPublicKey({ key: Buffer.from(other), format: 'der', type: 'spki' }),
  }).toString('base64url');

/** Encrypts a text for the holder of a public key's secret, who may be absent. */
export function sealFor(text: string, publicKey: Uint8Array, random: Random): Uint8Array {
  const once = makeSecret(random);
  const mine = publicKeyOf(once);
  const sealed = seal(text, sharedSecret(once, publicKey), random);
  return Buffer.concat([Buffer.from([mine.length]), mine, sealed]);
}

/** Decrypts what was encrypted for this secret's public key; null: damaged. */
export function unsealFor(sealed: Uint8Array, secret: string): string | null {
  const bytes = Buffer.from(sealed);
  const end = 1 + bytes[0]!;
  return unseal(bytes.subarray(end), sharedSecret(secret, bytes.subarray(1, end)));
}
