import ssh2 from 'ssh2';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  type KeyObject,
} from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Malformed, UsageError } from '../../domain/errors.ts';
import { fingerprintOf } from './port.ts';

/** A key that may log in to machines. */
export interface SshKey {
  /** Unencrypted PEM for ssh2. Secret: never log it. */
  readonly privateKey: string;
  /** One line of `authorized_keys`, without a line end. */
  readonly publicLine: string;
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

export interface SshKeyOptions {
  /** Last word of the public line. */
  readonly comment?: string;
  /** For an encrypted OpenSSH key. */
  readonly passphrase?: string;
}

const rawBytes = 64;
const seedBytes = 32;
/** PKCS#8 header of an Ed25519 seed. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Reads the key, or creates one if the file does not exist. Two processes that start together get
 * the same key: the file appears whole or not at all, and the second process reads the first one's.
 * @throws {UsageError} the file cannot be read or written, others may read it, or its passphrase is
 *   missing or wrong. @throws {Malformed} the content is no private key.
 */
export async function loadOrCreateSshKey(
  path: string,
  options: SshKeyOptions = {},
): Promise<SshKey> {
  const content = (await readKeyFile(path)) ?? (await createKeyFile(path, options));
  return parseSshKey(content, path, options);
}

/**
 * Reads the key of an existing file; with `onMissing`, the file may be missing.
 * @throws {UsageError} see {@link loadOrCreateSshKey}, or the file does not exist. @throws
 *   {Malformed}
 */
export function loadSshKey(path: string, options?: SshKeyOptions): Promise<SshKey>;
export function loadSshKey(
  path: string,
  options: SshKeyOptions,
  onMissing: () => void,
): Promise<SshKey | undefined>;
export async function loadSshKey(
  path: string,
  options: SshKeyOptions = {},
  onMissing: () => void = () => {
    throw new UsageError(`SSH key file ${path} does not exist`);
  },
): Promise<SshKey | undefined> {
  const content = await readKeyFile(path);
  if (content) return parseSshKey(content, path, options);
  onMissing();
  return undefined;
}

/** Returns undefined if the file does not exist. */
async function readKeyFile(path: string): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw new UsageError(`SSH key file ${path} cannot be read`, { cause });
    },
  );
  if (!file) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new UsageError(`SSH key file ${path} is not a regular file`);
    const { mode, uid } = found;
    if (process.geteuid && ![0, process.geteuid()].includes(uid)) {
      throw new UsageError(`SSH key file ${path} belongs to another user (uid ${uid})`);
    }
    if ((mode & 0o077) !== 0) {
      const octal = (mode & 0o777).toString(8).padStart(4, '0');
      throw new UsageError(
        `SSH key file ${path} is open to others (mode ${octal}); make it 0400 or 0600`,
      );
    }
    return await file.readFile();
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`SSH key file ${path} cannot be read`, { cause });
  } finally {
    await file.close();
  }
}

/**
 * Returns the file's final content, which may be another process's key. Writes the public line
 * beside it, as `ssh-keygen` does, for manual logins and `authorized_keys`.
 */
async function createKeyFile(path: string, options: SshKeyOptions): Promise<Buffer> {
  const key = fromEd25519(generateKeyPairSync('ed25519').privateKey, options);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (await appear(path, key.privateKey, 0o400)) {
      // The existing file belongs to a deleted key.
      await unlink(`${path}.pub`).catch(unlessAbsent);
      await appear(`${path}.pub`, `${key.publicLine}\n`, 0o644);
    }
    await syncDirectory(dirname(path));
  } catch (cause) {
    throw new UsageError(`SSH key file ${path} cannot be created`, { cause });
  }
  const content = await readKeyFile(path);
  if (!content) throw new UsageError(`SSH key file ${path} disappeared while it was created`);
  return content;
}

/** Creates the file whole or not at all. False: the file exists, and stays. */
async function appear(path: string, content: string, mode: number): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeDurably(temporary, content, mode);
    await link(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    await unlink(temporary).catch(unlessAbsent);
  }
}

function unlessAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function writeDurably(path: string, content: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Reads a raw Ed25519 key (32 bytes seed, 32 public), an OpenSSH PEM or a PKCS#8 PEM, distinguished
 * by content. `path` is for messages. @throws {Malformed} @throws {UsageError} passphrase.
 */
export function parseSshKey(content: Buffer, path: string, options: SshKeyOptions = {}): SshKey {
  const text = content.toString('latin1');
  if (text.includes('-----BEGIN OPENSSH PRIVATE KEY-----')) return fromOpenssh(text, path, options);
  if (text.includes('-----BEGIN PRIVATE KEY-----')) return fromPkcs8(text, path, options);
  if (content.length === rawBytes) return fromRaw(content, path, options);
  throw new Malformed(
    `${path} contains no SSH key: expected ${rawBytes} raw bytes (Ed25519 seed and public key), ` +
      `OpenSSH PEM or PKCS#8 PEM, found ${content.length} bytes`,
  );
}

function fromRaw(content: Buffer, path: string, options: SshKeyOptions): SshKey {
  const der = Buffer.concat([pkcs8Prefix, content.subarray(0, seedBytes)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  if (!publicKeyOf(key).equals(content.subarray(seedBytes))) throw halvesDiffer(path);
  return fromEd25519(key, options);
}

function fromPkcs8(text: string, path: string, options: SshKeyOptions): SshKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    throw new Malformed(`${path} contains an unreadable PKCS#8 key`, { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new Malformed(`${path} contains a ${key.asymmetricKeyType} key; PKCS#8 must be Ed25519`);
  }
  return fromEd25519(key, options);
}

function fromOpenssh(text: string, path: string, options: SshKeyOptions): SshKey {
  const parsed = ssh2.utils.parseKey(text.trim(), options.passphrase);
  if (parsed instanceof Error) throw unreadable(parsed, path, options);
  const key = createPrivateKey(parsed.getPrivatePEM());
  const spki = { type: 'spki', format: 'der' } as const;
  const stated = createPublicKey(parsed.getPublicPEM()).export(spki);
  if (!createPublicKey(key).export(spki).equals(stated)) throw halvesDiffer(path);
  if (key.asymmetricKeyType === 'ed25519') return fromEd25519(key, options);
  const blob = parsed.getPublicSSH();
  return describe(parsed.getPrivatePEM(), parsed.type, blob, options);
}

function unreadable(cause: Error, path: string, { passphrase }: SshKeyOptions) {
  if (/encrypted|passphrase|decrypt|integrity/i.test(cause.message)) {
    const why =
      passphrase === undefined ? 'needs a passphrase' : 'cannot be decrypted with its passphrase';
    return new UsageError(`SSH key file ${path} ${why}`, { cause });
  }
  return new Malformed(`${path} contains an unreadable OpenSSH key`, { cause });
}

function fromEd25519(key: KeyObject, options: SshKeyOptions): SshKey {
  const seed = Buffer.from(key.export({ format: 'jwk' }).d!, 'base64url');
  const publicKey = publicKeyOf(key);
  const privateKey = encodeOpensshKey(seed, publicKey);
  return describe(privateKey, 'ssh-ed25519', publicBlob(publicKey), options);
}

function describe(
  privateKey: string,
  type: string,
  blob: Buffer,
  { comment = 'shepherd' }: SshKeyOptions,
): SshKey {
  return {
    privateKey,
    publicLine: `${type} ${blob.toString('base64')} ${comment}`,
    fingerprint: fingerprintOf(blob),
  };
}

const publicKeyOf = (key: KeyObject) =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x!, 'base64url');

const halvesDiffer = (path: string) =>
  new Malformed(`the public half in ${path} does not match its private half`);

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
 * Unencrypted `openssh-key-v1` PEM of an Ed25519 key, the only form of such keys that ssh2 reads
 * (OpenSSH, PROTOCOL.key).
 */
export function encodeOpensshKey(seed: Buffer, publicKey: Buffer): string {
  const blob = publicBlob(publicKey);
  const secret = Buffer.concat([
    // Two equal numbers, which reveal a wrong passphrase; this key has none.
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
