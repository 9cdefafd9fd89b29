/** `string` of RFC 4251 §5: length, then bytes. */
const field = (content: Buffer | string) => {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Wire form of an Ed25519 public key of 32 bytes (RFC 8709 §4). */
export const publicBlob = (publicKey: Buffer) =>
  Buffer.concat([field('ssh-ed25519'), field(publicKey)]);

const lineChars = 70;
const blockBytes = 8;

/**
 * Unencrypted `openssh-key-v1` PEM of an Ed25519 key, the one form of such keys that ssh2 reads
 * (OpenSSH, PROTOCOL.key).
 */
export function encodeOpensshKey(seed: Buffer, publicKey: Buffer): string {
  const blob = publicBlob(publicKey);
  const secret = Buffer.concat([
    // Two equal numbers, by which a wrong passphrase would show; there is none.
    number(0),
    number(0),
    blob,
    field(Buffer.concat([seed, publicKey])),
    field(''),
  ]);
  const missing = (blockBytes - (secret.length % blockBytes)) % blockBytes;
  const padding = Buffer.from(Array.from({ length: missing }, (_, at) => at + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(blob),
    field(Buffer.concat([secret, padding])),
  ]).toString('base64');
  const lines = body.match(new RegExp(`.{1,${lineChars}}`, 'g')) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}
