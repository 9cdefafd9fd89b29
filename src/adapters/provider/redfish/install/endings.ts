import { explain, isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { SET_ID_TAG } from '../../../../domain/provisioning/provider-tags.ts';
import type { Locks } from '../../../driver-kit/time-limit.ts';
import type { DriverMachine, DriverContext } from '../../port.ts';
import type { Bmc } from '../client/bmc.ts';
import type { BmcEntry, TakeMarkOff } from '../entries.ts';
import type { Sighting } from '../power.ts';
import { machineIdOf, isUnbegun, type Claim, type Claims } from './claims.ts';
import type { RackInstallation } from './installation.ts';
import type { Report } from './seed-service.ts';

/** A machine as shown without an installation, and its last sighting. */
export interface InstallSighting {
  readonly base: DriverMachine;
  readonly sighting: Sighting | null;
  readonly instanceSetId: string;
}

/** An unclaimed machine; not free if it carries another fleet's mark. */
export function shownFree({ id }: BmcEntry, { base, sighting, instanceSetId }: InstallSighting) {
  const { hostKey: _old, ...rest } = base;
  const setId = sighting?.setId ?? null;
  const isMarked = setId !== null && setId !== instanceSetId;
  return {
    ...rest,
    id: null,
    reservationId: id,
    availability: 'KnownUnused' as const,
    status: null,
    tags: isMarked ? { [SET_ID_TAG]: setId } : {},
  };
}

/** A claimed machine: installed, or about to be. */
export function shownClaimed(claim: Claim, base: DriverMachine, sighting: Sighting | null) {
  const { result, tags, hostname } = claim;
  const setId = sighting?.setId ?? null;
  const isMarked = setId !== null && setId !== claim.set;
  const { hostKey: _old, ...rest } = base;
  const isFailed = result?.end === 'failed';
  const going = result === null ? 'Provisioning' : base.status;
  return {
    ...rest,
    id: machineIdOf(claim),
    reservationId: claim.entryId,
    availability: 'KnownUsed' as const,
    hostname,
    status: isFailed ? ('ProvisioningFailedPermanent' as const) : (going ?? 'Unknown'),
    failed: isFailed,
    tags: isMarked ? { ...tags, [SET_ID_TAG]: setId } : tags,
  };
}

/** A claimed machine whose entry has left the inventory, so that its BMC cannot be asked. */
export function shownAway(claim: Claim): DriverMachine {
  const { entryId, place } = claim;
  const base = {
    id: entryId,
    reservationId: entryId,
    availability: 'KnownUsed' as const,
    plan: place?.plan ?? 'redfish',
    location: place?.location ?? null,
    address: null,
    power: 'unknown' as const,
    status: 'Unknown' as const,
  };
  return shownClaimed(claim, base, null);
}

export interface EndingsDeps {
  readonly claims: Claims;
  readonly installation: Pick<RackInstallation, 'tidy'>;
  /** Serializes changes of a machine, by its entry. */
  readonly locks: Locks;
  readonly entries: (signal: AbortSignal) => Promise<readonly BmcEntry[]>;
  readonly bmcOf: (entry: BmcEntry) => Bmc;
  readonly takeMarkOff: TakeMarkOff;
}

const PERIOD_MS = 30_000;
const JITTER = 0.2;
const TIDY_MS = 5 * 60_000;

/** Ends installations and cleans up after them, by whichever daemon is first. */
export function createEndings(
  { claims, installation, locks, entries, bmcOf, takeMarkOff }: EndingsDeps,
  { clock, random, log, instanceSetId }: DriverContext,
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = new Map<string, Promise<void>>();
  let timer: unknown = null;

  function schedule(): void {
    if (signal.aborted) return;
    const delayMs = PERIOD_MS * (1 - JITTER + 2 * JITTER * random.next());
    timer = clock.setTimeout(() => {
      run('round', async () => {
        await claims.read(signal);
        look();
      });
      schedule();
    }, delayMs);
  }

  /** Runs one task per name at a time; failures are logged, and retried in the next round. */
  function run(key: string, work: () => Promise<void>): void {
    if (running.has(key) || signal.aborted) return;
    const done = work()
      .catch((error: unknown) => {
        if (signal.aborted) return;
        const fields = { what: key, cause: explain(error) };
        if (isProviderError(error)) log.warn(fields, 'the cleanup after an installation failed');
        else log.error({ ...fields, err: error }, 'the cleanup after an installation failed');
      })
      .finally(() => running.delete(key));
    running.set(key, done);
  }

  function look(): void {
    // Starts with the first read: a driver that was only created does nothing by itself.
    if (timer === null) schedule();
    const due = [...claims.known().claims.values()].filter(
      (claim) => claim.set === instanceSetId && (isOver(claim) || claim.result?.isTidy === false),
    );
    for (const { entryId } of due) run(entryId, () => finish(entryId));
  }

  const isOver = ({ result, install }: Claim): boolean =>
    result === null && clock.now() >= install.deadlineMs;

  async function finish(entryId: string): Promise<void> {
    const entry = (await entries(signal)).find(({ id }) => id === entryId);
    if (!entry) return;
    const task = async (): Promise<void> => {
      const found = await claims.of(entryId, signal);
      if (found && isOver(found) && isUnbegun(found)) return await giveUp(entry, found);
      const claim = await claims.update(
        entryId,
        (now) => (isOver(now) ? end(now, 'failed', 'its time limit passed') : null),
        signal,
      );
      if (claim?.result?.isTidy === false) await tidy(entry, claim);
    };
    const what = 'another change of the machine was in progress';
    await locks.alone(entryId, signal, { what, task });
  }

  function end(
    { entryId, install }: Claim,
    how: 'done' | 'failed',
    why: string,
  ): Pick<Claim, 'install' | 'result'> {
    const fields = { machine: entryId, why };
    if (how === 'done') log.info(fields, 'a machine is installed');
    else log.warn(fields, 'an installation failed');
    const result = { end: how, atMs: clock.now(), why, isTidy: false };
    return { install: { ...install, sealed: null }, result };
  }

  /** Abandons a creation that nobody continues: its place is free again. */
  async function giveUp(entry: BmcEntry, claim: Claim): Promise<void> {
    if (bmcOf(entry).standing.restMs() > 0) return;
    const call = { signal, deadline: new Date(clock.now() + TIDY_MS) };
    const { install } = claim;
    await installation.tidy(entry, { install, isAll: true, check }, call);
    await takeMarkOff(entry, signal, check);
    await claims.drop(claim, signal);
    log.warn({ machine: entry.id }, 'an abandoned creation was cancelled');

    /** Somebody may have continued it after all. */
    async function check(): Promise<void> {
      if ((await claims.of(entry.id, signal))?.version === claim.version) return;
      throw new ProviderError(
        'conflict',
        `somebody resumed the creation of ${entry.id}, which is left as it is`,
      );
    }
  }

  async function tidy(entry: BmcEntry, claim: Claim): Promise<void> {
    if (bmcOf(entry).standing.restMs() > 0) return;
    const deadline = new Date(clock.now() + TIDY_MS);
    const { install } = claim;
    const { tokenSha256 } = install;
    await installation.tidy(entry, { install, isAll: false, check }, { signal, deadline });
    await claims.update(
      entry.id,
      ({ install, result }) =>
        result && install.tokenSha256 === tokenSha256
          ? { result: { ...result, isTidy: true } }
          : null,
      signal,
    );

    /** Another daemon may have begun a new installation, whose image and override look the same. */
    async function check(): Promise<void> {
      const now = await claims.of(entry.id, signal);
      if (now?.result && now.install.tokenSha256 === tokenSha256) return;
      throw new ProviderError(
        'conflict',
        `${entry.id} is being installed again, and is left as it is`,
      );
    }
  }

  return {
    /** Records an installer's result, and cleans up in the background. */
    async ended(
      entry: Pick<BmcEntry, 'id'>,
      tokenSha256: string,
      { end: how, reason }: Report,
    ): Promise<void> {
      await claims.update(
        entry.id,
        (claim) =>
          claim.result === null && claim.install.tokenSha256 === tokenSha256
            ? end(claim, how, reason || 'as its installer reports')
            : null,
        signal,
      );
      run(entry.id, () => finish(entry.id));
    },
    /** Handles the claims that were just read. The first call starts periodic checks. */
    look,
    /** Resolves when no task is running. */
    async stop(): Promise<void> {
      stopping.abort(new Error('the provider was stopped'));
      clock.clearTimeout(timer);
      await Promise.allSettled(running.values());
    },
  };
}
