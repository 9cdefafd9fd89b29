import { explain, ProviderError } from '../../../../domain/errors.ts';
import type { Tags } from '../../../../domain/provisioning/provider-tags.ts';
import { asUnknown } from '../../../driver-kit/errors.ts';
import { createLocks } from '../../../driver-kit/time-limit.ts';
import type {
  CallOptions,
  CreateRequest,
  DriverContext,
  DriverListing,
  DriverMachine,
  OperationRef,
  ReinstallRequest,
} from '../../port.ts';
import type { Changes } from '../changes.ts';
import type { Bmc } from '../client/bmc.ts';
import { readSystem, type System } from '../client/system.ts';
import { markRemover, setIdIn, type BmcEntry } from '../entries.ts';
import type { Sighting } from '../power.ts';
import {
  createClaims,
  entryIdOf,
  isUnfinished,
  machineIdOf,
  refuseStrayMarks,
  foreignOf,
  oursOf,
  hashOfToken,
  newToken,
  type Claim,
  type ClaimValue,
} from './claims.ts';
import { createEndings, shownAway, shownClaimed, shownFree } from './endings.ts';
import { createInstallation } from './installation.ts';
import { createInstallerFiles } from './installer-files.ts';
import { createSealing, createSeedService, type Sealed } from './seed-service.ts';
import { createSeedServer } from './seed-server.ts';
import { withInstaller, type InstallSettings } from '../settings.ts';

/** What the rack provides for installations. */
export interface InstallParts {
  readonly options: InstallSettings;
  /** Aborts when the daemon stops, with all its work. */
  readonly lifetime: AbortSignal;
  readonly entries: (signal: AbortSignal) => Promise<readonly BmcEntry[]>;
  readonly bmcOf: (entry: BmcEntry) => Bmc;
  /** The machine as shown after its last sighting. */
  readonly show: (entry: BmcEntry) => DriverMachine;
  readonly see: (entry: BmcEntry, system: System) => DriverMachine;
  readonly carryOut: Changes['carryOut'];
}

const WAITING = 'another change of the machine was in progress';

/** The parts of a rack that differ if machines are installed. */
export function createInstallMode(parts: InstallParts, context: DriverContext) {
  const { entries, bmcOf, carryOut } = parts;
  const options = withInstaller(parts.options);
  const { clock, log, name, network, instanceSetId, random, records } = context;
  const claims = createClaims(records);
  const sealing = createSealing(() => options.seedKey.read(), `shepherd ${instanceSetId} ${name}`);
  const installation = createInstallation({ ...context, bmcOf, carryOut, claims, options });
  const locks = createLocks();
  /** Machines whose departure from the inventory was logged. */
  const told = new Set<string>();
  const takeMarkOff = markRemover(bmcOf, context);
  const endings = createEndings({ ...parts, claims, installation, locks, takeMarkOff }, context);
  const service = createSeedService(
    {
      ...{ ...parts, options, claims, sealing, seedUrl, ended: endings.ended },
      installer: options.installer === undefined ? null : createInstallerFiles(options.installer),
    },
    { log, clock, instanceSetId },
  );
  const server = createSeedServer({ ...{ at: options.seedListen, service, clock, log, network } });

  /** URL for installers. */
  async function seedUrl(): Promise<string> {
    return options.seedUrl?.replace(/\/+$/, '') ?? server.url();
  }

  async function find(entryId: string, signal: AbortSignal): Promise<BmcEntry | null> {
    return (await entries(signal)).find(({ id }) => id === entryId) ?? null;
  }

  const missing = (id: string) =>
    new ProviderError('not-found', `the inventory has no machine ${id}`);

  /**
   * @returns no entry if it has left the inventory.
   * @throws {ProviderError} `not-found`: nobody claims the machine under this id.
   */
  async function claimed(machineId: string, signal: AbortSignal) {
    const entryId = entryIdOf(machineId);
    const claim = entryId === null ? null : await claims.of(entryId, signal);
    if (!claim || machineIdOf(claim) !== machineId) throw missing(machineId);
    return { entry: await find(claim.entryId, signal), claim };
  }

  function requireEntry(entry: BmcEntry | null, { entryId }: Claim): BmcEntry {
    if (entry) return entry;
    const message =
      `the inventory no longer has entry ${entryId}, whose machine is claimed: restore the entry, ` +
      'or give the machine back';
    throw new ProviderError('conflict', message);
  }

  /** Locks a machine of ours for a change. */
  async function own<T>(
    machineId: string,
    { signal }: CallOptions,
    work: (found: { entry: BmcEntry | null; claim: Claim }) => Promise<T>,
  ): Promise<T> {
    const task = async () => {
      const found = await claimed(machineId, signal);
      const { set, entryId } = found.claim;
      if (set === instanceSetId) return work(found);
      throw new ProviderError('conflict', `${entryId} is claimed by another fleet`);
    };
    return locks.alone(entryIdOf(machineId) ?? '', signal, { what: WAITING, task });
  }

  const isOursToFinish = (claim: Claim): boolean =>
    claim.set === instanceSetId && isUnfinished(claim);

  /** A new installation and its token. */
  function begin(
    entry: BmcEntry,
    {
      hostname,
      publicKey,
      initCommand,
    }: Pick<CreateRequest, 'publicKey' | 'initCommand'> & { readonly hostname: string },
  ): { readonly token: string; readonly install: ClaimValue['install'] } {
    const token = newToken(random);
    const askedAtMs = clock.now();
    const instanceId = `${entry.id}-${askedAtMs}`;
    const seed = { instanceId, hostname, publicKey, initCommand, os: options.os };
    const sealed: Sealed = { token, seed };
    return {
      token,
      install: {
        method: options.method,
        phase: 'preparing',
        tokenSha256: hashOfToken(token),
        template:
          { vmedia: options.iso, uefihttp: options.bootUri, pxe: null }[options.method] ?? null,
        sealed: sealing.seal(JSON.stringify(sealed), entry.id),
        askedAtMs,
        deadlineMs: askedAtMs + options.window,
        isAnswered: false,
        self: null,
      },
    };
  }

  /** Resumes a creation: with the new secret before the power-on, its own afterwards. */
  async function resume(
    entry: BmcEntry,
    claim: Claim,
    request: CreateRequest,
    call: CallOptions,
  ): Promise<void> {
    const { phase } = claim.install;
    if (claim.result !== null) return;
    if (phase === 'poweringOn' || phase === 'installing') {
      await installation.goOn(entry, claim, call);
      return;
    }
    const { token, install } = begin(entry, request);
    const { tags } = request;
    const next = await claims.replace(claim, { tags, install }, call.signal);
    await installation.carryOut(entry, next, { token, call });
  }

  async function create(request: CreateRequest, call: CallOptions): Promise<DriverMachine> {
    const { unused, tags, hostname, onAttempt } = request;
    const { signal, operationId: witness } = call;
    const entry = await find(unused.reservationId ?? '', signal);
    if (!entry) {
      const message = `the inventory has no machine ${unused.reservationId}`;
      throw new ProviderError('invalid', message);
    }
    const there = await claims.of(entry.id, signal);
    if (there) return goOn(there);
    requireUnmarked(entry, await installation.requirePossible(entry, call));
    await onAttempt({ attempts: 1, ambiguous: false });
    const { token, install } = begin(entry, request);
    const { plan, location } = entry;
    const place = { plan, location };
    const value: ClaimValue = {
      ...{ set: instanceSetId, witness, hostname, place, tags, install },
      ...{ order: 'create', result: null },
    };
    const claim = await claims.make(entry.id, value, signal);
    if (!claim) {
      const faster = await claims.of(entry.id, signal);
      if (faster) return goOn(faster);
      throw new ProviderError('transient', `${entry.id} was just claimed and released`);
    }
    return after(() => installation.carryOut(entry, claim, { token, call }));

    async function goOn(claim: Claim): Promise<DriverMachine> {
      if (claim.witness !== witness || claim.set !== instanceSetId) {
        throw new ProviderError('race-lost', `${entry!.id} is claimed for another machine`);
      }
      return after(() => resume(entry!, claim, request, call));
    }
    /** From the claim on, only the records show the result. */
    async function after(work: () => Promise<unknown>): Promise<DriverMachine> {
      try {
        await work();
        return parts.show(entry!);
      } catch (error) {
        throw asUnknown(error, notOn(entry!));
      }
    }
  }

  /** @throws {ProviderError} `race-lost`: the system carries another fleet's mark. */
  function requireUnmarked(entry: BmcEntry, system: System): void {
    parts.see(entry, system);
    const setId = setIdIn(system.assetTag);
    if (setId === null || setId === instanceSetId) return;
    throw new ProviderError('race-lost', `${entry.id} carries the mark of another fleet`);
  }

  return {
    /** A machine as shown; `base` is its form without an installation. */
    view(entry: BmcEntry, base: DriverMachine, sighting: Sighting | null): DriverMachine {
      const claim = claims.known().claims.get(entry.id);
      return claim && !isOursToFinish(claim)
        ? shownClaimed(claim, base, sighting)
        : shownFree(entry, { base, sighting, instanceSetId });
    },
    isMarked({ id }: BmcEntry): boolean {
      const claim = claims.known().claims.get(id);
      return claim?.set === instanceSetId && !isUnfinished(claim);
    },
    requireNoneUnderWay: claims.requireNoneUnderWay,
    async list(all: readonly BmcEntry[], signal: AbortSignal): Promise<DriverListing> {
      // Every daemon lists, so every daemon serves seeds.
      void server.url().catch(() => undefined);
      const { claims: known, unreadable } = await claims.read(signal);
      const ids = new Set(all.map(({ id }) => id));
      const away = [...known.values()].filter(({ entryId }) => !ids.has(entryId));
      tellAway(away);
      endings.look();
      const fault = 'this program cannot read its record';
      return {
        machines: [
          ...all.filter(({ id }) => !unreadable.has(id)).map(parts.show),
          ...away.map(shownAway),
        ],
        unreadable: [...unreadable].map((id) => ({ id: null, reservationId: id, fault })),
        complete: true,
      };
    },
    /**
     * The entry of a machine's id.
     * @throws {ProviderError} `not-found`. `conflict`: it is claimed, and its entry has left the inventory.
     */
    async entryOf(machineId: string, signal: AbortSignal): Promise<BmcEntry> {
      const { entry, claim } = await claimed(machineId, signal);
      return requireEntry(entry, claim);
    },
    /** Like `entryOf`; if the entry has left, returns the machine from its claim. */
    async lookUp(machineId: string, signal: AbortSignal): Promise<BmcEntry | DriverMachine> {
      const { entry, claim } = await claimed(machineId, signal);
      return entry ?? shownAway(claim);
    },
    create,
    deprovision: (machineId: string, call: CallOptions): Promise<void> =>
      own(machineId, call, async ({ entry, claim }) => {
        if (!entry) return letGo(claim, call);
        const system = await bmcOf(entry).inTurn({ signal: call.signal, urgent: true }, (wire) =>
          readSystem(bmcOf(entry), wire, entry.system, clock.monotonic()),
        );
        call.requireOurs(parts.see(entry, system));
        await call.beforeSending?.();
        await installation.tidy(entry, { install: claim.install, isAll: true }, call);
        await installation.switchOff(entry, call);
        if (setIdIn(system.assetTag) === instanceSetId) await takeMarkOff(entry, call.signal);
        await claims.drop(claim, call.signal);
        return undefined;
      }),
    reinstall: (
      machineId: string,
      request: ReinstallRequest,
      call: CallOptions,
    ): Promise<OperationRef> =>
      own(machineId, call, async ({ entry: listed, claim }) => {
        const entry = requireEntry(listed, claim);
        const system = await installation.requirePossible(entry, call);
        call.requireOurs(parts.see(entry, system));
        await call.beforeSending?.();
        const { hostname } = claim;
        const { token, install } = begin(entry, { ...request, hostname });
        const tags = {
          ...foreignOf(claim.tags),
          ...foreignOf(request.tags),
          ...oursOf(request.tags),
        };
        const change = { order: 'reinstall', tags, install, result: null } as const;
        const next = await claims.replace(claim, change, call.signal);
        await installation.carryOut(entry, next, { token, call }).catch((error: unknown) => {
          throw asUnknown(error, notOn(entry));
        });
        const time = new Date(clock.now()).toISOString();
        return { operationRef: `install ${entry.id} ${time}` };
      }),
    setTags: (machineId: string, tags: Tags, call: CallOptions): Promise<void> =>
      own(machineId, call, async ({ entry, claim: { entryId }, claim }) => {
        call.requireOurs(entry ? parts.show(entry) : shownAway(claim));
        await call.beforeSending?.();
        await claims.update(
          entryId,
          (now) => ({ tags: { ...foreignOf(now.tags), ...tags } }),
          call.signal,
        );
      }),
    async findByWitness(
      witness: string,
      slot: string,
      { signal }: CallOptions,
    ): Promise<DriverMachine | null> {
      const claim = await claims.of(slot, signal);
      if (!claim) return null;
      const entry = await find(slot, signal);
      if (claim.witness === witness && claim.set === instanceSetId) {
        // A creation before its power-on is resumed, not found.
        if (entry && isUnfinished(claim)) return null;
        return entry ? parts.show(entry) : shownAway(claim);
      }
      throw new ProviderError('race-lost', `${slot} is claimed for another machine`);
    },
    isReusable: async (slot: string, { signal }: CallOptions): Promise<boolean> =>
      (await claims.of(slot, signal)) === null,
    async prepare(call: CallOptions): Promise<void> {
      await server.url().catch((cause: unknown) => {
        const { host, port } = options.seedListen;
        const fields = { cause: explain(cause) };
        log.warn(fields, `another process uses ${host}:${port}; it must serve the seeds`);
      });
      const { claims: known, unreadable } = await claims.read(call.signal);
      if (known.size > 0 || unreadable.size > 0) return;
      await refuseStrayMarks({ ...parts, all: await entries(call.signal) }, context, call.signal);
    },
    async stop(): Promise<void> {
      await Promise.all([endings.stop(), server.close()]);
    },
  };

  /** Whoever removed the entry declared that we may no longer use its BMC. */
  async function letGo(claim: Claim, call: CallOptions): Promise<void> {
    call.requireOurs(shownAway(claim));
    await call.beforeSending?.();
    await claims.drop(claim, call.signal);
    const fields = { machine: claim.entryId };
    log.warn(fields, 'a claimed machine that left the inventory is released unchanged');
  }

  /** Logged once for each, while it lasts. */
  function tellAway(claimsAway: readonly Claim[]): void {
    const now = new Set(claimsAway.map(({ entryId }) => entryId));
    for (const id of told) if (!now.has(id)) told.delete(id);
    for (const id of now) {
      if (told.has(id)) continue;
      told.add(id);
      log.warn({ machine: id }, 'a claimed machine is no longer in the inventory');
    }
  }
}

/** The claim exists, so the machine may be on its way. */
const notOn = ({ id }: BmcEntry): string => `the installation of ${id} did not continue`;

export type InstallMode = ReturnType<typeof createInstallMode>;
