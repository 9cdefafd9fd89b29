import { BlockList, isIP, type IPVersion } from 'node:net';
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import { ProviderError } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import type { DriverContext } from '../../port.ts';
import type { BmcEntry } from '../entries.ts';
import type { InstallSettings } from '../settings.ts';
import { hashOfToken, withToken, type Claims, type Claim } from './claims.ts';

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
  let listed: readonly BmcEntry[] = [];
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
export type Document = 'user-data' | 'meta-data' | 'ipxe';

/** Sealed data of a claim. */
export interface Sealed {
  readonly token: string;
  readonly seed: Seed;
}

export interface SeedServiceDeps {
  readonly claims: Claims;
  readonly sealing: Sealing;
  readonly options: InstallSettings;
  readonly lifetime: AbortSignal;
  readonly entries: (signal: AbortSignal) => Promise<readonly BmcEntry[]>;
  readonly seedUrl: () => Promise<string>;
  /** Called with the installer's result. */
  readonly ended: (entry: BmcEntry, tokenSha256: string, end: 'done' | 'failed') => Promise<void>;
}

/** Finds installers' data in the records that all daemons share. */
export function createSeedService(
  deps: SeedServiceDeps,
  { log, clock, instanceSetId }: Pick<DriverContext, 'log' | 'clock' | 'instanceSetId'>,
) {
  const { claims, sealing, options, lifetime, entries, seedUrl, ended } = deps;
  const index = createSeedIndex(deps, { clock });
  /** By entry: the installation and the address of the last request from another network. */
  const toldFar = new Map<string, string>();

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

  function opened({ id }: BmcEntry, { install }: Claim): Sealed | null {
    const text = install.sealed === null ? null : sealing.open(install.sealed, id);
    if (text !== null) return JSON.parse(text) as Sealed;
    const fields = { machine: id };
    log.warn(fields, 'a seed cannot be opened: it was sealed with another install.seedKey');
    return null;
  }

  async function write(which: Document, { token, seed }: Sealed): Promise<string> {
    const url = await seedUrl();
    if (which === 'user-data') return userDataOf(seed, url, token);
    return which === 'meta-data' ? metaDataOf(seed) : ipxeOf(url, token, options.bootUri);
  }

  return {
    /** Null if there is no such installation. */
    async document(token: string, which: Document, from: string): Promise<string | null> {
      const hash = hashOfToken(token);
      const asked = await found(
        await index.byToken(hash),
        (claim) => isOpen(claim) && claim.install.tokenSha256 === hash,
        from,
      );
      const sealed = asked && opened(asked.entry, asked.claim);
      return sealed ? write(which, sealed) : null;
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
      const sealed = isFirst ? opened(asked.entry, asked.claim) : null;
      return sealed && write('ipxe', sealed);
    },
    /** False if there is no such installation. */
    async ended(token: string, end: 'done' | 'failed', from: string): Promise<boolean> {
      const hash = hashOfToken(token);
      const asked = await found(
        await index.byToken(hash),
        ({ install }) => install.tokenSha256 === hash,
        from,
      );
      if (!asked) return false;
      const { entry, claim } = asked;
      if (claim.result) return claim.result.end === end;
      if (!isOpen(claim)) return false;
      await ended(entry, hash, end);
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

const seedPath = (token: string): string => `/s/${token}/`;

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

/** Chains to the site's own boot, which gets the seed's URL as `shepherd-seed`. */
function ipxeOf(seedUrl: string, token: string, bootUri: string | undefined): string {
  const next = bootUri === undefined ? 'exit' : `chain ${withToken(bootUri, token)}`;
  return ['#!ipxe', `set shepherd-seed ${seedUrl}${seedPath(token)}`, next, ''].join('\n');
}
