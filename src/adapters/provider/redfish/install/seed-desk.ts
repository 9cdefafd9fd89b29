import type { DriverContext } from '../../port.ts';
import type { BmcEntry } from '../entries.ts';
import type { Claim, Claims } from './claims.ts';
import type { Sealing } from './sealing.ts';
import { createSeedIndex } from './seed-index.ts';
import { type Document, isNear, type SeedDesk } from './seed-server.ts';
import type { InstallSettings } from './settings.ts';
import { hashOfToken, withToken } from './token.ts';
import { stringify } from 'yaml';

/** What is sealed in a claim. */
export interface Sealed {
  readonly token: string;
  readonly seed: Seed;
}

export interface SeedDeskDeps {
  readonly claims: Claims;
  readonly sealing: Sealing;
  readonly options: InstallSettings;
  readonly lifetime: AbortSignal;
  readonly entries: (signal: AbortSignal) => Promise<readonly BmcEntry[]>;
  readonly seedUrl: () => Promise<string>;
  /** An installer says how it ended. */
  readonly ended: (entry: BmcEntry, tokenSha256: string, end: 'done' | 'failed') => Promise<void>;
}

/** Finds what installers ask for, in the records that all daemons share. */
export function createSeedDesk(
  deps: SeedDeskDeps,
  {
    log,
    name,
    clock,
    instanceSetId,
  }: Pick<DriverContext, 'log' | 'name' | 'clock' | 'instanceSetId'>,
): SeedDesk {
  const { claims, sealing, options, lifetime, entries, seedUrl, ended } = deps;
  const index = createSeedIndex(deps, { clock });
  /** By entry, for which installation somebody far away asked last, and from where. */
  const toldFar = new Map<string, string>();

  const isOpen = ({ set, result, install }: Claim): boolean =>
    set === instanceSetId && result === null && clock.now() < install.deadlineMs;

  /** Whether its network card may ask for the script now. */
  const isAwaited = (claim: Claim | undefined): boolean =>
    claim !== undefined &&
    isOpen(claim) &&
    !claim.install.isAnswered &&
    ['poweringOn', 'installing'].includes(claim.install.phase);

  /** Of the entry that the index names, read again: nothing is served by what is only remembered. */
  async function found(id: string | null, fits: (claim: Claim) => boolean, from: string) {
    if (id === null) return null;
    const entry = (await entries(lifetime)).find((one) => one.id === id);
    const claim = entry && (await claims.of(id, lifetime));
    if (!entry || !claim || claim.set !== instanceSetId || !fits(claim)) return null;
    const asked = `${claim.install.tokenSha256} ${from}`;
    if (!isNear(from, entry.address) && toldFar.get(id) !== asked) {
      toldFar.set(id, asked);
      const fields = { provider: name, machine: entry.id, from };
      log.warn(fields, 'a seed is asked for from another network than that of its machine');
    }
    return { entry, claim };
  }

  function opened({ id }: BmcEntry, { install }: Claim): Sealed | null {
    const text = install.sealed === null ? null : sealing.open(install.sealed, id);
    if (text !== null) return JSON.parse(text) as Sealed;
    const fields = { provider: name, machine: id };
    log.warn(fields, 'a seed cannot be opened: it was sealed with another install.seedKey');
    return null;
  }

  async function write(which: Document, { token, seed }: Sealed): Promise<string> {
    const url = await seedUrl();
    if (which === 'user-data') return userDataOf(seed, url, token);
    return which === 'meta-data' ? metaDataOf(seed) : ipxeOf(url, token, options.bootUri);
  }

  return {
    async document(token, which, from) {
      const hash = hashOfToken(token);
      const asked = await found(
        await index.byToken(hash),
        (claim) => isOpen(claim) && claim.install.tokenSha256 === hash,
        from,
      );
      const sealed = asked && opened(asked.entry, asked.claim);
      return sealed ? write(which, sealed) : null;
    },
    async byMac(mac, from) {
      const asked = await found(
        await index.byMac(mac, (id) => isAwaited(claims.known().claims.get(id))),
        isAwaited,
        from,
      );
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
    async ended(token, end, from) {
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

/** What an installer is to put on the machine. Holds a secret. */
interface Seed {
  /** Another one for each installation. */
  readonly instanceId: string;
  readonly hostname: string;
  /** OpenSSH line. */
  readonly publicKey: string;
  readonly initCommand: string;
  readonly os: string;
}

const seedPath = (token: string): string => `/s/${token}/`;

/** In the form of NoCloud, as cloud-init reads it. A system that runs it reports by itself. */
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

/** Leads on to the site's own boot, which knows by `shepherd-seed` where the seed is. */
function ipxeOf(seedUrl: string, token: string, bootUri: string | undefined): string {
  const next = bootUri === undefined ? 'exit' : `chain ${withToken(bootUri, token)}`;
  return ['#!ipxe', `set shepherd-seed ${seedUrl}${seedPath(token)}`, next, ''].join('\n');
}
