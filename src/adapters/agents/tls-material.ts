import 'reflect-metadata';
import { X509Certificate, createPrivateKey, webcrypto } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { isDiskFull, NotWritable, UsageError } from '../../domain/errors.ts';
import { complaintAboutStrangers } from '../../settings/file-checks.ts';

/** What the agent server presents, and what agents trust. */
export interface TlsMaterial {
  /** PEM, PKCS#8. */
  readonly key: string;
  /** PEM of the server's certificate. */
  readonly cert: string;
  /** DER of the development authority. */
  readonly caDer: Uint8Array;
}

interface Pair {
  readonly key: string;
  readonly certificate: X509Certificate;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 3600_000;
const VALID_DAYS = 3650;
/** A certificate that ends sooner is replaced. */
const SPARE_DAYS = 30;
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * Creates a development authority and a server certificate for this machine's own names and those
 * given. With a directory they are stored there (0700, files 0600) and reused, so that running
 * agents still trust the server after a restart. `nowMs` is epoch milliseconds.
 * @throws {UsageError} another user may have placed the authority that agents are to trust.
 * @throws {NotWritable} the disk is full. @throws {Error} the directory cannot be used.
 */
export async function createDevCertificates(options: {
  readonly dir?: string;
  readonly names: readonly string[];
  readonly nowMs?: number;
}): Promise<TlsMaterial> {
  const { dir, nowMs = Date.now() } = options;
  const names = [...new Set([...LOCAL_NAMES, ...options.names])];
  if (dir !== undefined) makeOwn(dir);
  const ca = await keep(
    dir,
    'agent-ca.pem',
    (pair) => isFresh(pair, nowMs),
    () => issueAuthority(nowMs),
  );
  const server = await keep(
    dir,
    'agent-server.pem',
    (pair) => isFresh(pair, nowMs) && isIssuedBy(pair, ca) && covers(pair, names),
    () => issueServer(ca, names, nowMs),
  );
  return { key: server.key, cert: server.certificate.toString(), caDer: ca.certificate.raw };
}

function makeOwn(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const complaint = complaintAboutStrangers(dir);
  if (complaint !== null) throw new UsageError(`agent server: certificates: ${complaint}`);
  if ((statSync(dir).mode & 0o022) !== 0) chmodSync(dir, 0o700);
}

/** Returns the pair stored in the file, or stores a new one. */
async function keep(
  dir: string | undefined,
  name: string,
  isUsable: (pair: Pair) => boolean,
  issue: () => Promise<Pair>,
): Promise<Pair> {
  if (dir === undefined) return issue();
  const path = join(dir, name);
  const kept = readPair(path);
  if (typeof kept === 'object' && isUsable(kept)) return kept;
  if (kept !== 'absent') rmSync(path, { force: true });
  writePair(path, await issue());
  const winner = readPair(path);
  if (typeof winner !== 'object')
    throw new Error(`${path} is ${winner} right after it was written`);
  return winner;
}

function readPair(path: string): Pair | 'absent' | 'damaged' {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
  try {
    const certificate = new X509Certificate(text);
    const privateKey = createPrivateKey(text);
    if (!certificate.checkPrivateKey(privateKey)) return 'damaged';
    return { key: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, certificate };
  } catch {
    // The file holds no pair of ours, so it is replaced.
    return 'damaged';
  }
}

/** Writes the whole file or nothing; if another process was first, its pair stays. */
function writePair(path: string, { key, certificate }: Pair): void {
  const draft = `${path}.${process.pid}.${webcrypto.randomUUID()}`;
  try {
    writeFileSync(draft, `${key.trim()}\n${certificate.toString()}`, { mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if (isDiskFull(error)) throw new NotWritable(`${path} cannot be written`, { cause: error });
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

const isFresh = ({ certificate }: Pair, nowMs: number): boolean =>
  Date.parse(certificate.validTo) > nowMs + SPARE_DAYS * DAY_MS;

const isIssuedBy = ({ certificate }: Pair, ca: Pair): boolean =>
  certificate.checkIssued(ca.certificate) && certificate.verify(ca.certificate.publicKey);

const covers = ({ certificate }: Pair, names: readonly string[]): boolean =>
  names.every((name) =>
    isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name),
  );

async function issueAuthority(nowMs: number): Promise<Pair> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...lifetime(nowMs),
    name: 'CN=Shepherd development authority',
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toPair(keys, certificate);
}

async function issueServer(ca: Pair, names: readonly string[], nowMs: number): Promise<Pair> {
  const keys = await newKeys();
  const authority = new x509.X509Certificate(ca.certificate.raw);
  const certificate = await x509.X509CertificateGenerator.create({
    ...lifetime(nowMs),
    subject: 'CN=Shepherd agent server',
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: await importSigningKey(ca.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  return toPair(keys, certificate);
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

function importSigningKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
}

/** Valid from a day ago, for clocks that are behind. */
const lifetime = (nowMs: number) => ({
  serialNumber: webcrypto.randomUUID().replaceAll('-', ''),
  notBefore: new Date(nowMs - DAY_MS),
  notAfter: new Date(nowMs + VALID_DAYS * DAY_MS),
});

async function toPair(
  keys: webcrypto.CryptoKeyPair,
  certificate: x509.X509Certificate,
): Promise<Pair> {
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    key: x509.PemConverter.encode(der, 'PRIVATE KEY'),
    certificate: new X509Certificate(Buffer.from(certificate.rawData)),
  };
}
