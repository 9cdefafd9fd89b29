import ssh2 from 'ssh2';
import type { AuthContext, ParsedKey } from 'ssh2';

/**
 * A new host key, OpenSSH PEM. In one of 256 keys, ssh2 1.17 strips a leading zero byte of the
 * public half, so that nothing can read the key. Such keys are discarded.
 */
export function generateHostKey(): string {
  for (;;) {
    const pem = ssh2.utils.generateKeyPairSync('ed25519').private;
    if (!(ssh2.utils.parseKey(pem) instanceof Error)) return pem;
  }
}

/** Public half of a host key, wire form. */
export const publicBlobOf = (pem: string): Buffer => readKey(pem).getPublicSSH();

/** @throws {Error} it is not a key. */
export function readKey(text: string): ParsedKey {
  const key = ssh2.utils.parseKey(text);
  if (key instanceof Error) throw key;
  return key;
}

/**
 * Whether one of the keys accepts this attempt. A client first asks whether a key is acceptable,
 * then returns with a signature.
 */
export function isAuthorized(attempt: AuthContext, keys: readonly ParsedKey[]): boolean {
  if (attempt.method !== 'publickey') return false;
  const key = keys.find((one) => one.getPublicSSH().equals(attempt.key.data));
  if (!key) return false;
  const { blob, signature, hashAlgo } = attempt;
  if (!signature) return true;
  return blob !== undefined && key.verify(blob, signature, hashAlgo) === true;
}
