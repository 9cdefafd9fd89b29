import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { explain, isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { INSTANCE_SECRET_PATH } from '../../../../domain/provisioning/provider-tags.ts';
import { asUnknown } from '../../../driver-kit/errors.ts';
import { createLocks } from '../../../driver-kit/time-limit.ts';
import type {
  CallOptions,
  DriverContext,
  DriverMachine,
  DriverShellSession,
  OperationRef,
  ReinstallRequest,
} from '../../port.ts';
import {
  createClaims,
  hashOfToken,
  newToken,
  type Claim,
  type ClaimValue,
} from '../../redfish/install/claims.ts';
import { createInstallerFiles, KEXEC_FILE } from '../../redfish/install/installer-files.ts';
import { createSeedServer } from '../../redfish/install/seed-server.ts';
import {
  createSealing,
  createSeedService,
  seedPath,
  type Report,
} from '../../redfish/install/seed-service.ts';
import type { SelfInstallSettings } from '../../redfish/settings.ts';
import type { InventoryEntry } from '../entries.ts';
import { fingerprintOf, identityOf, isRenewed, knownOf, type Identity } from './identity.ts';
import { diskIn, faultIn, networkWords, readLook, type Reading } from './reading.ts';

interface SelfInstallParts {
  readonly options: SelfInstallSettings;
  readonly lifetime: AbortSignal;
  readonly entries: (signal: AbortSignal) => Promise<readonly InventoryEntry[]>;
  readonly userOf: (entry: InventoryEntry) => string;
  readonly sshPort: number;
}

const script = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8');
const LOOK = script('../../../driver-kit/disks.sh') + script('look.sh');
const START = script('start.sh');
const PLACE = '/var/lib/shepherd/installer';
const HASH_LENGTH = 16;
const sha256 = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};
const EXECUTE_MS = 120_000;
/** Past the limit of a call: an installer that was started has asked for its seed. */
const DOUBT_MS = 15 * 60_000;
/** Between two looks at a machine whose installation is in doubt. */
const LOOK_GAP_MS = 60_000;
const WAITING = 'another change of the machine was in progress';

/** Installs machines of a list from their own running system, which boots our installer by kexec. */
export function createSelfInstall(parts: SelfInstallParts, context: DriverContext) {
  const { options, lifetime, entries, userOf, sshPort } = parts;
  const { clock, log, name, network, instanceSetId, random, records, shell } = context;
  const claims = createClaims(records);
  const sealing = createSealing(() => options.seedKey.read(), `shepherd ${instanceSetId} ${name}`);
  const files = createInstallerFiles(options.installer);
  const locks = createLocks();
  const lookedAtMs = new Map<string, number>();
  const seedUrl = options.seedUrl.replace(/\/+$/, '');
  const service = createSeedService(
    {
      ...{ claims, sealing, options, lifetime, installer: files, asked, ended },
      seedUrl: async () => seedUrl,
      entries: async (signal) => (await entries(signal)).map((entry) => ({ ...entry, mac: null })),
    },
    context,
  );
  const server = createSeedServer({ at: options.seedListen, service, clock, log, network });

  /** The installer runs: only its report or the end of the window decides now. */
  async function asked({ id }: { readonly id: string }): Promise<void> {
    await claims.update(
      id,
      ({ install }) =>
        install.phase === 'installing' ? null : { install: { ...install, phase: 'installing' } },
      lifetime,
    );
  }

  async function ended(
    { id }: { readonly id: string },
    tokenSha256: string,
    { end, reason }: Report,
  ) {
    const why = reason || 'as its installer reports';
    await claims.update(
      id,
      (claim) =>
        claim.result === null && claim.install.tokenSha256 === tokenSha256
          ? endOf(claim, end, why)
          : null,
      lifetime,
    );
  }

  function endOf({ entryId, install }: Claim, end: 'done' | 'failed', why: string) {
    const fields = { machine: entryId, why };
    if (end === 'done') log.info(fields, 'a machine is installed');
    else log.warn(fields, 'an installation failed');
    const result = { end, atMs: clock.now(), why, isTidy: true };
    return { install: { ...install, sealed: null }, result };
  }

  const ourClaim = (id: string): Claim | null => {
    const claim = claims.known().claims.get(id);
    return claim?.set === instanceSetId ? claim : null;
  };

  const connect = (entry: InventoryEntry, identity: Identity, signal: AbortSignal) =>
    shell.connect(
      {
        ...{ host: entry.address, port: entry.sshPort ?? sshPort, username: userOf(entry) },
        hostKey:
          'hostKey' in identity
            ? { told: [fingerprintOf(identity.hostKey)] }
            : { unlike: [], note: async () => undefined },
        limits: { executeMs: EXECUTE_MS },
      },
      { signal },
    );

  /** Logs in, and looks. Without a known key the secret proves the machine; nothing is changed before. */
  async function reach(entry: InventoryEntry, identity: Identity, signal: AbortSignal) {
    const session = await connect(entry, identity, signal);
    try {
      const env = {
        ...{ wanted: entry.disk ?? '', image: options.image.url, seed: `${seedUrl}/` },
        secret: INSTANCE_SECRET_PATH,
      };
      const { stdout } = await session.execute(
        { argv: ['sh', '-s'], env, stdin: LOOK },
        { signal },
      );
      const reading = readLook(stdout);
      if ('secretSha256' in identity && sha256(reading['secret'] ?? '') !== identity.secretSha256) {
        throw new ProviderError(
          'conflict',
          `${entry.id} does not show the secret of its installation`,
        );
      }
      return { session, reading };
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** The installer, and kexec if the machine has none. */
  async function partsFor({ id, disk }: InventoryEntry, reading: Reading) {
    const [linux, initrd, kexec] = await Promise.all([
      files.content('linux'),
      files.content('initrd'),
      files.content(KEXEC_FILE),
    ]);
    const fault =
      linux && initrd
        ? faultIn(reading, { wanted: disk, hasKexec: kexec !== null })
        : 'install.installer has no linux and initrd: run shepherd redfish build-iso';
    if (fault === null)
      return { linux: linux!, initrd: initrd!, ...(!reading['kexec'] && { [KEXEC_FILE]: kexec! }) };
    throw new ProviderError('invalid', `${id} cannot be installed from its own system: ${fault}`);
  }

  /** Puts files there, once for each version. @returns their directory. */
  async function upload(
    session: DriverShellSession,
    contents: Readonly<Record<string, Buffer>>,
    signal: AbortSignal,
  ): Promise<string> {
    const place = `${PLACE}-${sha256(...Object.values(contents)).slice(0, HASH_LENGTH)}`;
    const made = await session.execute({ argv: ['mkdir', '-p', '-m', '700', place] }, { signal });
    if (made.exitCode !== 0) {
      throw new ProviderError('permanent', `cannot create ${place}: ${made.stderr.trim()}`);
    }
    for (const [name, content] of Object.entries(contents)) {
      await session.upload(`${place}/${name}`, { content, mode: 0o600 }, { signal });
    }
    return place;
  }

  function begin(
    entry: InventoryEntry,
    request: ReinstallRequest,
    old: Claim | null,
    reading: Reading,
  ) {
    const token = newToken(random);
    const askedAtMs = clock.now();
    const { publicKey, initCommand } = request;
    const hostname = reading['hostname'] ?? entry.id;
    const seed = {
      instanceId: `${entry.id}-${askedAtMs}`,
      hostname,
      publicKey,
      initCommand,
      os: 'default',
    };
    const value: ClaimValue = {
      ...{ set: instanceSetId, witness: '', hostname, place: null, tags: { ...request.tags } },
      ...{ order: 'reinstall', result: null },
      install: {
        ...{
          method: 'kexec',
          template: null,
          phase: 'poweringOn',
          tokenSha256: hashOfToken(token),
        },
        sealed: sealing.seal(JSON.stringify({ token, seed }), entry.id),
        ...{ askedAtMs, deadlineMs: askedAtMs + options.window, isAnswered: false },
        self: { listedKey: entry.hostKey, disk: diskIn(reading), before: knownOf(old) },
      },
    };
    return { seed: `${seedUrl}${seedPath(token)}`, value };
  }

  /** The system before runs on: the claim is as it was. */
  async function takeBack(claim: Claim, why: string, signal: AbortSignal): Promise<void> {
    const { self } = claim.install;
    log.warn(
      { machine: claim.entryId, why },
      'a machine was not installed; its system runs as before',
    );
    if (!self?.before) return claims.drop(claim, signal);
    const install = {
      ...claim.install,
      sealed: null,
      self: { ...self, listedKey: self.before.listedKey },
    };
    const result = { end: 'done', atMs: clock.now(), why, isTidy: true } as const;
    await claims.replace(claim, { tags: self.before.tags, install, result }, signal);
  }

  async function reinstall(
    entry: InventoryEntry,
    request: ReinstallRequest,
    { call, show }: { readonly call: CallOptions; readonly show: () => DriverMachine },
  ): Promise<OperationRef> {
    const { signal } = call;
    // The machine tries to reach it. If another daemon of this computer has the port, that one serves;
    // the server logs a failure itself.
    await server.url().catch(() => undefined);
    const old = await claims.of(entry.id, signal);
    if (old && (old.set !== instanceSetId || old.result === null)) {
      throw new ProviderError(
        'conflict',
        `${entry.id} is being installed, or claimed by another fleet`,
      );
    }
    const { session, reading } = await reach(
      entry,
      identityOf(entry, entry.hostKey, knownOf(old)),
      signal,
    );
    try {
      const contents = await partsFor(entry, reading);
      const place = await upload(session, contents, signal);
      call.requireOurs(show());
      await call.beforeSending?.();
      const { seed, value } = begin(entry, request, old, reading);
      const words = `${files.commandLine(seed)} ${networkWords(reading)}`;
      const claim = old
        ? await claims.replace(old, value, signal)
        : await claims.make(entry.id, value, signal);
      if (!claim) throw new ProviderError('conflict', `${entry.id} was just claimed`);
      await start(session, claim, { words, place, signal });
      return { operationRef: `kexec ${entry.id} ${new Date(clock.now()).toISOString()}` };
    } finally {
      session.close();
    }
  }

  async function start(
    session: DriverShellSession,
    claim: Claim,
    {
      words,
      place,
      signal,
    }: { readonly words: string; readonly place: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const command = { argv: ['sh', '-s'], env: { place, words }, stdin: `{\n${START}}\n` };
    // From here on, only the installer or the system before can tell.
    const { exitCode, stderr } = await session
      .execute(command, { signal })
      .catch((error: unknown) => {
        throw asUnknown(error);
      });
    if (exitCode === 0) return;
    const why = `kexec refused the installer: ${stderr.trim().slice(-300)}`;
    await takeBack(claim, why, signal);
    throw new ProviderError('permanent', `${claim.entryId}: ${why}`);
  }

  /** Ends what is over, and finds out what is in doubt. Any daemon does, while it lists. */
  async function settle(entry: InventoryEntry, seen: Claim): Promise<void> {
    const isOver = ({ result, install }: Claim) =>
      result === null && clock.now() >= install.deadlineMs;
    const claim = await claims.update(
      seen.entryId,
      (now) => (isOver(now) ? endOf(now, 'failed', 'its time limit passed') : null),
      lifetime,
    );
    const { install, result } = claim ?? seen;
    const isUnsure =
      result === null &&
      install.phase === 'poweringOn' &&
      clock.now() >= install.askedAtMs + DOUBT_MS;
    if (!claim || !install.self || !(isUnsure || result?.end === 'failed')) return;
    // It answers, so no installer runs. A new key in the inventory is that of a person's own system.
    const identity = identityOf(entry, entry.hostKey, install.self.before);
    const { session } = await reach(entry, identity, lifetime);
    session.close();
    await takeBack(claim, result?.why ?? 'its installer was not started', lifetime);
  }

  function look(entry: InventoryEntry): void {
    const claim = ourClaim(entry.id);
    const isDue = clock.monotonic() >= (lookedAtMs.get(entry.id) ?? -Infinity) + LOOK_GAP_MS;
    if (!claim?.install.self || claim.result?.end === 'done' || !isDue) return;
    lookedAtMs.set(entry.id, clock.monotonic());
    const task = () => settle(entry, claim);
    locks.alone(entry.id, lifetime, { what: WAITING, task }).catch((error: unknown) => {
      const fields = { machine: entry.id, cause: explain(error) };
      if (isProviderError(error)) log.debug(fields, 'a machine in doubt did not show its system');
      else log.error({ ...fields, err: error }, 'the end of an installation was not found out');
    });
  }

  return {
    /** Reads the claims, which `show` needs, and continues what others left. */
    async list(all: readonly InventoryEntry[], signal: AbortSignal): Promise<void> {
      // Every daemon lists, so every daemon serves seeds.
      void server.url().catch(() => undefined);
      await claims.read(signal);
      all.forEach(look);
    },
    show(entry: InventoryEntry, base: DriverMachine): DriverMachine {
      const claim = ourClaim(entry.id);
      if (!claim) return base;
      const { hostKey: _key, sshPassword: _password, ...renewed } = base;
      const { result, tags } = claim;
      const isFailed = result?.end === 'failed';
      const status = result === null ? 'Provisioning' : base.status;
      return {
        ...(isRenewed(entry, claim) ? renewed : base),
        tags: { ...tags, ...base.tags },
        status: isFailed ? 'ProvisioningFailedPermanent' : (status ?? 'Unknown'),
        failed: isFailed,
      };
    },
    /** Whether no installation was in progress at the last listing. */
    isIdle: ({ id }: InventoryEntry): boolean => ourClaim(id)?.result !== null,
    /** Whether the inventory's host key belongs to the system before. */
    isRenewed: async (entry: InventoryEntry, signal: AbortSignal): Promise<boolean> =>
      isRenewed(entry, await claims.of(entry.id, signal)),
    /** @throws {ProviderError} `conflict`: it is being installed. */
    requireIdle: (entry: InventoryEntry, signal: AbortSignal): Promise<void> =>
      claims.requireNoneUnderWay([entry], signal),
    /** Resolves when the installer is about to start. @throws {ProviderError} `invalid`, with the reason. */
    reinstall: (
      entry: InventoryEntry,
      request: ReinstallRequest,
      how: { readonly call: CallOptions; readonly show: () => DriverMachine },
    ): Promise<OperationRef> =>
      locks.alone(entry.id, how.call.signal, {
        what: WAITING,
        task: () => reinstall(entry, request, how),
      }),
    stop: (): Promise<void> => server.close(),
  };
}
