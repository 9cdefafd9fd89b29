import type {
  Algorithms,
  CipherAlgorithm,
  CompressionAlgorithm,
  KexAlgorithm,
  MacAlgorithm,
  ServerHostKeyAlgorithm,
} from 'ssh2';

/**
 * Elliptic curves only. In a group exchange, the server chooses the prime, and our event loop tests
 * it before the host key is known: 4423 bits took 27 s, 9689 took 116 s. The fixed Diffie-Hellman
 * groups (up to 8192 bits) cost up to 0.2 s each time.
 */
const kex: KexAlgorithm[] = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
];
/** Without `ssh-rsa`, which signs with SHA-1, and without DSA. */
const serverHostKey: ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];
/** AES-GCM first: by far the fastest measured, with hardware support on every server CPU. */
const cipher: CipherAlgorithm[] = [
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'aes128-ctr',
  'aes192-ctr',
  'aes256-ctr',
];
/** For the ciphers without built-in authentication. */
const hmac: MacAlgorithm[] = [
  'hmac-sha2-256-etm@openssh.com',
  'hmac-sha2-512-etm@openssh.com',
  'hmac-sha2-256',
  'hmac-sha2-512',
];
/** A few compressed bytes may decompress to gigabytes. */
const compress: CompressionAlgorithm[] = ['none'];

/**
 * Permitted algorithms of a connection.
 * @param expected the known host key, base64 of the wire form: a machine with keys of several types
 *   is asked for the type that can be compared. Null if no key is known.
 */
export function algorithmsFor(expected: string | null): Algorithms & { kex: KexAlgorithm[] } {
  const wanted = signaturesOf(expected);
  const others = serverHostKey.filter((name) => !wanted.includes(name));
  return { kex, serverHostKey: [...wanted, ...others], cipher, hmac, compress };
}

/** Permitted signature algorithms of a key. None: the key is damaged, or has a type that is not permitted. */
export const signaturesOf = (key: string | null): ServerHostKeyAlgorithm[] =>
  serverHostKey.filter((name) => makes(name) === keyTypeOf(key));

/** Key type of a signature algorithm. */
const makes = (name: ServerHostKeyAlgorithm): string =>
  name.startsWith('rsa-') ? 'ssh-rsa' : name;

/** The first field of a key's wire form (RFC 4253 §6.6). */
export function keyTypeOf(key: string | null): string | null {
  const blob = Buffer.from(key ?? '', 'base64');
  return blob.length < 4 ? null : blob.toString('latin1', 4, 4 + blob.readUInt32BE(0));
}

const REMEDIES: readonly {
  readonly said: string;
  readonly what: string;
  readonly ours: readonly string[];
  readonly keyword: string;
}[] = [
  { said: 'key exchange', what: 'key exchange', ours: kex, keyword: 'KexAlgorithms' },
  { said: 'host key', what: 'type of host key', ours: serverHostKey, keyword: 'HostKeyAlgorithms' },
  { said: 'cipher', what: 'cipher', ours: cipher, keyword: 'Ciphers' },
  { said: 'MAC', what: 'MAC', ours: hmac, keyword: 'MACs' },
  { said: 'compression', what: 'compression', ours: compress, keyword: 'Compression' },
];

/** Advice for a machine without common algorithms; null if ssh2's complaint is another. */
export function remedyFor(complaint: string): string | null {
  const [, which = ''] = /no matching (.*)$/i.exec(complaint) ?? [];
  const remedy = REMEDIES.find(({ said }) => which.includes(said));
  if (!remedy) return null;
  const { what, ours, keyword } = remedy;
  return (
    `its SSH server offers no ${what} that we take; allow one of ${ours.join(', ')} by ${keyword} ` +
    'in its sshd_config, or upgrade it (OpenSSH 7.2 or later has them all): docs/ssh.md'
  );
}
