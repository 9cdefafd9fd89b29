import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Keeps what only our daemons may read in records that others may read: a seed holds the secret of a
 * new machine. The key comes from a secret of its own and not from a BMC's password, which somebody
 * who has the record could guess.
 */
export interface Sealing {
  /** @param about whose it is: under another name it cannot be opened. */
  seal(text: string, about: string): string;
  /** Null: it was sealed with another key, or about somebody else. */
  open(sealed: string, about: string): string | null;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** A secret that is shorter could be guessed. */
export const SEED_KEY_LENGTH_MIN = 32;

/**
 * @param secret looked up each time, so that a change of it needs no restart.
 * @param salt of the provider, not secret.
 */
export function createSealing(secret: () => string, salt: string): Sealing {
  const key = () => Buffer.from(hkdfSync('sha256', secret(), salt, 'seed', KEY_BYTES));
  return {
    seal(text, about) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key(), nonce).setAAD(Buffer.from(about));
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString('base64');
    },
    open(sealed, about) {
      const bytes = Buffer.from(sealed, 'base64');
      const hidden = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      const opening = key();
      try {
        const decipher = createDecipheriv(CIPHER, opening, bytes.subarray(0, NONCE_BYTES));
        decipher.setAAD(Buffer.from(about));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([decipher.update(hidden), decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
