import { createHash } from 'node:crypto';

const TYPES = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh|ecdsa)-[a-z0-9@.-]+)$/;

/** The problem of a public key's text, or undefined. */
export function sshKeyProblem(text: string): string | undefined {
  const [type, encoded, ...extra] = text.trim().split(/[ \t]+/);
  if (/[\r\n]/.test(text.trim())) return 'is not a single line';
  if (!type || !TYPES.test(type)) return 'is not an OpenSSH public key';
  if (!encoded || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return 'has no base64 part';
  const blob = Buffer.from(encoded, 'base64');
  const length = blob.length >= 4 ? blob.readUInt32BE(0) : -1;
  const inner = blob.subarray(4, 4 + Math.max(0, length)).toString('latin1');
  if (inner !== type || blob.length <= 4 + length) return 'does not decode to a key of its type';
  return extra.join(' ').length > 1024 ? 'has a comment over 1024 characters' : undefined;
}

/** MD5 fingerprint as the service shows it: sixteen pairs of digits with colons. */
export function fingerprintOf(text: string): string {
  const encoded = text.trim().split(/[ \t]+/)[1] ?? '';
  const digest = createHash('md5').update(Buffer.from(encoded, 'base64')).digest('hex');
  return digest.match(/../g)!.join(':');
}
