import { BlockList, isIP, type IPVersion } from 'node:net';
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import { ProviderError } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import type { DriverContext } from '../../port.ts';
import type { BmcEntry } from '../entries.ts';
import type { InstallSettings } from '../settings.ts';
import { hashOfToken, withToken, type Claims, type Claim } from './claims.ts';
import type { InstallerContent, InstallerFile, InstallerFiles } from './installer-files.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/**
 * @param secret read each time, so that a change needs no restart.
 * @param salt of the provider, not secret.
 */
export function createSealing(secret: () => string, salt: string) {
  const key = () => Buffer.from(hkdfSync('sha256', secret(), salt, 'seed', KEY_BYTES));
  return {
    /** @param about owner of the text: it cannot be opened under another name. */
    seal(text: string, about: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key(), nonce).setAAD(Buffer.from(about));
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString('base64');
    },
    /** Null if it was sealed with another key, or for another owner. */
    open(sealed: string, about: string): string | null {
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
/**
 * Encrypts what only our daemons may read in records that others can read: a seed holds a new
 * machine's secret. The key comes from its own secret, not from a BMC's password, which somebody
 * with the record could guess.
 */
export type Sealing = ReturnType<typeof createSealing>;

/** Maximum share of time spent on reads, however many ask, and minimum gap between them. */
const TIME_SHARE = 0.1;
const GAP_MS = 1_000;
const WAITING_MAX = 256;

/**
 * Finds entries by what installers know. Anybody may ask, so unknown values wait for the next read
 * of the records, which all requesters share.
 */
function createSeedIndex(
  { claims, entries, lifetime }: Pick<SeedServiceDeps, 'claims' | 'entries' | 'lifetime'>,
  { clock }: Pick<DriverContext, 'clock'>,
) {
  let listed: readonly SeedEntry[] = [];
  /** The next read, which has not begun yet. */
  let next: Promise<void> | null = null;
  let last: Promise<void> = Promise.resolve();
  let restUntilMs = -Infinity;
  let waiting = 0;

  async function read(): Promise<void> {
    await last.catch(() => undefined);
    await sleep(clock, Math.max(0, restUntilMs - clock.monotonic()), lifetime);
    next = null;
    const beganMs = clock.monotonic();
    try {
      listed = await entries(lifetime);
      await claims.read(lifetime);
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      restUntilMs = clock.monotonic() + Math.max(GAP_MS, tookMs / TIME_SHARE - tookMs);
    }
  }

  /** @throws {ProviderError} `transient`: too many requests for unknown values are waiting. */
  async function find(fits: (claim: Claim) => boolean): Promise<string | null> {
    const known = () => [...claims.known().claims.values()].find(fits)?.entryId;
    const found = known();
    if (found !== undefined) return found;
    if (waiting >= WAITING_MAX) {
      throw new ProviderError('transient', 'too many requests for unknown seeds');
    }
    waiting += 1;
    try {
      next ??= last = read();
      await next;
    } finally {
      waiting -= 1;
    }
    return known() ?? null;
  }

  return {
    byToken: (tokenSha256: string) => find(({ install }) => install.tokenSha256 === tokenSha256),
    /** @param isWanted whether a claim of the entry with this network card answers the request. */
    byMac: (mac: string, isWanted: (claim: Claim) => boolean) =>
      find(
        (claim) =>
          isWanted(claim) && listed.some(({ id, mac: its }) => id === claim.entryId && its === mac),
      ),
  };
}
export type Document = 'user-data' | 'meta-data' | 'install' | 'ipxe';

/** Sealed data of a claim. */
export interface Sealed {
  readonly token: string;
  readonly seed: Seed;
}

/** The entry of a machine that is installed. */
export type SeedEntry = Pick<BmcEntry, 'id' | 'address' | 'mac' | 'disk'>;

/** An installer's result, and its words about it. */
export interface Report {
  readonly end: 'done' | 'failed';
  readonly reason: string | null;
}

/** How long a file is served without another look at the records: drives read an ISO in many parts. */
const FILE_MS = 10_000;

export interface SeedServiceDeps {
  readonly claims: Claims;
  readonly sealing: Sealing;
  readonly options: Pick<InstallSettings, 'bootUri' | 'image'>;
  readonly lifetime: AbortSignal;
  readonly entries: (signal: AbortSignal) => Promise<readonly SeedEntry[]>;
  readonly seedUrl: () => Promise<string>;
  /** Null: an installer of the site's own. */
  readonly installer: InstallerFiles | null;
  /** Called when an installer has begun. */
  readonly asked?: (entry: SeedEntry) => Promise<void>;
  /** Called with the installer's result. */
  readonly ended: (entry: SeedEntry, tokenSha256: string, report: Report) => Promise<void>;
}

/** Finds installers' data in the records that all daemons share. */
export function createSeedService(
  deps: SeedServiceDeps,
  { log, clock, instanceSetId }: Pick<DriverContext, 'log' | 'clock' | 'instanceSetId'>,
) {
  const { claims, sealing, options, lifetime, entries, seedUrl, installer, ended } = deps;
  const index = createSeedIndex(deps, { clock });
  /** By entry: the installation and the address of the last request from another network. */
  const toldFar = new Map<string, string>();
  const servedUntilMs = new Map<string, number>();

  const isOpen = ({ set, result, install }: Claim): boolean =>
    set === instanceSetId && result === null && clock.now() < install.deadlineMs;

  /** Whether its network card may request the script now. */
  const isAwaited = (claim: Claim): boolean =>
    isOpen(claim) &&
    !claim.install.isAnswered &&
    ['poweringOn', 'installing'].includes(claim.install.phase);

  /** Reads the entry's claim again: nothing is served from a cache. */
  async function found(id: string | null, fits: (claim: Claim) => boolean, from: string) {
    if (id === null) return null;
    const entry = (await entries(lifetime)).find((one) => one.id === id);
    const claim = entry && (await claims.of(id, lifetime));
    if (!entry || !claim || claim.set !== instanceSetId || !fits(claim)) return null;
    const asked = `${claim.install.tokenSha256} ${from}`;
    if (!isNear(from, entry.address) && toldFar.get(id) !== asked) {
      toldFar.set(id, asked);
      const fields = { machine: entry.id, from };
      log.warn(fields, 'a seed was requested from another network than its machine’s');
    }
    return { entry, claim };
  }

  function opened({ id }: SeedEntry, { install }: Claim): Sealed | null {
    const text = install.sealed === null ? null : sealing.open(install.sealed, id);
    if (text !== null) return JSON.parse(text) as Sealed;
    const fields = { machine: id };
    log.warn(fields, 'a seed cannot be opened: it was sealed with another install.seedKey');
    return null;
  }

  async function write(
    which: Document,
    { entry, claim }: { readonly entry: SeedEntry; readonly claim: Claim },
  ): Promise<string | null> {
    const sealed = opened(entry, claim);
    if (!sealed) return null;
    const { token, seed } = sealed;
    const url = await seedUrl();
    if (which === 'user-data') return userDataOf(seed, url, token);
    if (which === 'meta-data') return metaDataOf(seed);
    if (which === 'ipxe') {
      const { bootUri } = options;
      const own = `${url}${seedPath(token)}`;
      const words = installer && installer.commandLine(own);
      return ipxeOf(own, words, bootUri === undefined ? null : withToken(bootUri, token));
    }
    await deps.asked?.(entry);
    const restMs = claim.install.deadlineMs - clock.now();
    const disk = claim.install.self?.disk ?? entry.disk ?? '';
    return options.image ? installOf(options.image, disk, restMs) : null;
  }

  /** Whether an installation with this token is in progress. */
  async function isServed(token: string, from: string): Promise<boolean> {
    if ((servedUntilMs.get(token) ?? -Infinity) > clock.monotonic()) return true;
    const asked = await asking(token, from);
    servedUntilMs.clear();
    if (asked) servedUntilMs.set(token, clock.monotonic() + FILE_MS);
    return asked !== null;
  }

  async function asking(token: string, from: string) {
    const hash = hashOfToken(token);
    const isFitting = (claim: Claim) => isOpen(claim) && claim.install.tokenSha256 === hash;
    return found(await index.byToken(hash), isFitting, from);
  }

  return {
    /** Null if there is no such installation. */
    async document(token: string, which: Document, from: string): Promise<string | null> {
      const asked = await asking(token, from);
      return asked && write(which, asked);
    },
    /** A file of the installer. Null if there is no such installation, or no installer of ours. */
    async file(token: string, name: InstallerFile, from: string): Promise<InstallerContent | null> {
      if (!installer || !(await isServed(token, from))) return null;
      return installer.open(name, `${await seedUrl()}${seedPath(token)}`);
    },
    /** The script for the network card, once for each power-on; null if none is due. */
    async byMac(mac: string, from: string): Promise<string | null> {
      const asked = await found(await index.byMac(mac, isAwaited), isAwaited, from);
      if (!asked) return null;
      let isFirst = false;
      const { tokenSha256 } = asked.claim.install;
      await claims.update(
        asked.entry.id,
        (claim) => {
          const { install } = claim;
          isFirst = isOpen(claim) && !install.isAnswered && install.tokenSha256 === tokenSha256;
          return isFirst ? { install: { ...install, isAnswered: true } } : null;
        },
        lifetime,
      );
      return isFirst ? write('ipxe', asked) : null;
    },
    /** False if there is no such installation. */
    async ended(token: string, report: Report, from: string): Promise<boolean> {
      const hash = hashOfToken(token);
      const asked = await found(
        await index.byToken(hash),
        ({ install }) => install.tokenSha256 === hash,
        from,
      );
      if (!asked) return false;
      const { entry, claim } = asked;
      if (claim.result) return claim.result.end === report.end;
      if (!isOpen(claim)) return false;
      await ended(entry, hash, report);
      return true;
    },
  };
}

export type SeedService = ReturnType<typeof createSeedService>;

/** Whether an address is in the machine's own network: /24, or /64. */
function isNear(from: string, own: string): boolean {
  const plain = from.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*/, '');
  const version = isIP(own);
  if (version === 0 || isIP(plain) !== version) return false;
  const near = new BlockList();
  near.addSubnet(own, version === 4 ? 24 : 64, `ipv${version}` as IPVersion);
  return near.check(plain, `ipv${version}` as IPVersion);
}

/** Data that an installer puts on the machine. Holds a secret. */
interface Seed {
  /** Different for each installation. */
  readonly instanceId: string;
  readonly hostname: string;
  /** OpenSSH line. */
  readonly publicKey: string;
  readonly initCommand: string;
  readonly os: string;
}

/** Path of an installation's seed, ending in a slash. */
export const seedPath = (token: string): string => `/s/${token}/`;

/** NoCloud format, for cloud-init. A system that runs it reports by itself. */
function userDataOf(seed: Seed, seedUrl: string, token: string): string {
  const config = {
    hostname: seed.hostname,
    preserve_hostname: false,
    disable_root: false,
    ssh_authorized_keys: [seed.publicKey],
    runcmd: [seed.initCommand],
    phone_home: { url: `${seedUrl}${seedPath(token)}done`, post: ['hostname'], tries: 10 },
  };
  return `#cloud-config\n${stringify(config, { lineWidth: 0 })}`;
}

const metaDataOf = ({ instanceId, hostname, os }: Seed): string =>
  stringify({ 'instance-id': instanceId, 'local-hostname': hostname, os });

/**
 * Boots our installer, or chains to the site's own boot, which gets the seed's URL as
 * `shepherd-seed`.
 * @param words kernel command line of our installer; null: there is none.
 */
function ipxeOf(url: string, words: string | null, chained: string | null): string {
  const ours = [`kernel ${url}linux initrd=initrd ${words}`, `initrd ${url}initrd`, 'boot'];
  const next = chained === null ? (words === null ? ['exit'] : ours) : [`chain ${chained}`];
  return ['#!ipxe', `set shepherd-seed ${url}`, ...next, ''].join('\n');
}

/** For our installer, which reads lines. */
const installOf = (
  { url, sha256, compression }: NonNullable<InstallSettings['image']>,
  disk: string,
  restMs: number,
): string =>
  Object.entries({ image: url, sha256, compression, disk, seconds: Math.ceil(restMs / 1_000) })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
