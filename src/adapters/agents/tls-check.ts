import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { duplexPair } from 'node:stream';
import { checkServerIdentity, connect, rootCertificates, TLSSocket } from 'node:tls';
import { explain } from '../../domain/errors.ts';

/** What the agent server presents, and what agents learn about it. */
export interface TlsFiles {
  /** PEM. */
  readonly key: string;
  /** PEM: the server's certificate, and those between it and its authority. */
  readonly certificate: string;
  /** PEM, whose first certificate agents learn; null: they trust Node's own list. */
  readonly authority: string | null;
  /** Name or address that agents connect to. */
  readonly host: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** What agents would refuse now, or soon. */
export interface TlsComplaint {
  readonly about: 'key' | 'certificate' | 'host' | 'authority';
  /** The fault, and what to do. */
  readonly message: string;
  readonly isWarning?: boolean;
}

const SOON_MS = 14 * 24 * 3600_000;

/** Returns all complaints at once. Makes no connection: an agent's handshake runs in memory. */
export async function complaintsAboutTls(files: TlsFiles): Promise<readonly TlsComplaint[]> {
  const chain = certificatesIn(files.certificate);
  const [leaf] = chain;
  if (!leaf) return [{ about: 'certificate', message: UNREADABLE }];
  const [authority] = files.authority === null ? [] : certificatesIn(files.authority);
  if (files.authority !== null && !authority) return [{ about: 'authority', message: UNREADABLE }];
  const key = privateKeyOf(files.key);
  const pair = complaintAboutPair(key, leaf);
  return [
    ...(pair ? [pair] : []),
    ...chain.flatMap((each, index) =>
      timesOf(each, index === 0 ? '' : ' in a later position', files),
    ),
    ...(authority ? timesOf(authority, null, files) : []),
    ...complaintsAboutName(leaf, files.host),
    ...(key instanceof Error || pair
      ? trustByInspection(chain, authority)
      : await trustByTrying(files, chain, authority)),
  ];
}

const UNREADABLE = 'contains no readable certificate; give one in PEM';
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(pem: string): X509Certificate[] {
  try {
    return (pem.match(PEM) ?? []).map((text) => new X509Certificate(text));
  } catch {
    // An unreadable file counts as a file without certificates.
    return [];
  }
}

function privateKeyOf(pem: string): KeyObject | Error {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function complaintAboutPair(key: KeyObject | Error, leaf: X509Certificate): TlsComplaint | null {
  if (key instanceof Error) {
    const message = `contains no readable private key (${key.message}); give one in PEM, without a passphrase`;
    return { about: 'key', message };
  }
  if (leaf.checkPrivateKey(key)) return null;
  const message =
    `does not match the first certificate (of ${subjectOf(leaf)}) in ` +
    'agentServer.certificatePath; give a matching pair, with the server’s own certificate first';
  return { about: 'key', message };
}

/** @param where position in the file; null for the authority's certificate. */
function timesOf(
  certificate: X509Certificate,
  where: string | null,
  { nowMs }: TlsFiles,
): TlsComplaint[] {
  const about = where === null ? ('authority' as const) : ('certificate' as const);
  const which = `a certificate${where ?? ''} (of ${subjectOf(certificate)}) that`;
  const { validFromDate: from, validToDate: to } = certificate;
  if (to.getTime() < nowMs) {
    return [{ about, message: `contains ${which} expired at ${to.toISOString()}; renew it` }];
  }
  if (from.getTime() > nowMs) {
    const mend = 'wait, set this computer’s clock right, or give another';
    return [
      { about, message: `contains ${which} is not valid before ${from.toISOString()}; ${mend}` },
    ];
  }
  if (to.getTime() > nowMs + SOON_MS) return [];
  const message = `contains ${which} expires at ${to.toISOString()}; renew it before`;
  return [{ about, message, isWarning: true }];
}

/** Uses the same check as agents. */
function complaintsAboutName(leaf: X509Certificate, host: string): TlsComplaint[] {
  if (!checkServerIdentity(host, leaf.toLegacyObject())) return [];
  const names = leaf.subjectAltName ?? `no subjectAltName, only ${subjectOf(leaf)}`;
  const message =
    `does not match the server’s certificate (for ${names}): agents will refuse the server; ` +
    `give a name or address in the certificate, or issue one for ${host}`;
  return [{ about: 'host', message }];
}

/** Checks what can be checked without the right key. */
function trustByInspection(
  chain: readonly X509Certificate[],
  authority: X509Certificate | undefined,
): TlsComplaint[] {
  return authority && !leadsTo(chain, authority) ? [notItsAuthority(chain, authority)] : [];
}

const isIssuedBy = (one: X509Certificate, by: X509Certificate): boolean =>
  one.checkIssued(by) && one.verify(by.publicKey);

/** Whether the chain leads from its first certificate to the authority. */
function leadsTo([leaf, ...between]: readonly X509Certificate[], end: X509Certificate): boolean {
  if (!leaf) return false;
  if (leaf.raw.equals(end.raw) || isIssuedBy(leaf, end)) return true;
  const next = between.find((each) => isIssuedBy(leaf, each));
  return next !== undefined && leadsTo([next, ...between.filter((each) => each !== next)], end);
}

/** OpenSSL's codes for expired certificates, which were already reported with their dates. */
const OF_TIMES = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

async function trustByTrying(
  files: TlsFiles,
  chain: readonly X509Certificate[],
  authority: X509Certificate | undefined,
): Promise<TlsComplaint[]> {
  const verdict = await handshake(files).catch((error: unknown) => error);
  if (verdict === null) return [];
  if (verdict instanceof Error) {
    const message = `is refused by TLS (${explain(verdict)}); give another`;
    return [{ about: 'certificate', message }];
  }
  const code = String(verdict);
  if (!authority) return OF_TIMES.has(code) ? [] : [notListed(chain, code)];
  if (!leadsTo(chain, authority)) return [notItsAuthority(chain, authority)];
  return OF_TIMES.has(code) ? [] : [{ about: 'authority', message: reasonOf(code) }];
}

function notItsAuthority(
  chain: readonly X509Certificate[],
  authority: X509Certificate,
): TlsComplaint {
  const message =
    `contains an authority (${subjectOf(authority)}) that did not sign the certificate in ` +
    `agentServer.certificatePath (issued by ${oneLine(chain[0]!.issuer)}): agents will refuse the ` +
    'server; put the right authority first in its file, and append the intermediate ' +
    'certificates to certificatePath, after the server’s';
  return { about: 'authority', message };
}

const notListed = (chain: readonly X509Certificate[], code: string): TlsComplaint => ({
  about: 'authority',
  message:
    `is missing, and the certificate (issued by ${oneLine(chain[0]!.issuer)}) comes from none of the ` +
    `${rootCertificates.length} authorities of Node (${code}): agents will refuse the server, ` +
    'unless Node on the machines trusts its authority; give the authority’s certificate',
  isWarning: true,
});

function reasonOf(code: string): string {
  const why = REASONS[code] ?? 'is not trusted by TLS; give another authority or certificate';
  return `${why} (${code})`;
}

const REASONS: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT:
    'is an intermediate certificate, but agents need the root; give the root here, and append this one to certificatePath, after the server’s',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'is an intermediate certificate, but agents need the root; give the root here, and append this one to certificatePath, after the server’s',
  INVALID_CA: 'is not an authority’s certificate (basicConstraints CA:TRUE); give one that is',
  INVALID_PURPOSE:
    'signed a certificate that is not for TLS servers (extendedKeyUsage serverAuth); issue another',
};

const subjectOf = ({ subject }: X509Certificate): string => oneLine(subject ?? 'nobody');
const oneLine = (name: string): string => name.replaceAll('\n', ', ');

/** Returns an agent's complaint, or null. The name is checked separately. @throws {Error} */
async function handshake({ key, certificate, authority }: TlsFiles): Promise<string | null> {
  const [near, far] = duplexPair();
  const minVersion = 'TLSv1.3';
  const server = new TLSSocket(near, { isServer: true, key, cert: certificate, minVersion });
  try {
    const client = connect({
      socket: far,
      minVersion,
      ...(authority !== null && { ca: [new X509Certificate(authority).toString()] }),
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    try {
      await new Promise<void>((resolve, reject) => {
        client.once('secureConnect', resolve);
        client.on('error', reject);
        server.on('error', reject);
      });
      return client.authorized ? null : String(client.authorizationError);
    } finally {
      client.destroy();
    }
  } finally {
    server.destroy();
  }
}
