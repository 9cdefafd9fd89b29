import pLimit from 'p-limit';
import { fromPromise } from 'xstate';
import type { Bmdb, BmdbSession } from '../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Provider } from '../adapters/provider/port.ts';
import {
  codeOf,
  explain,
  NotFound,
  NothingToDo,
  RaceLost,
  RemoteFailure,
  WorkConflict,
} from '../domain/errors.ts';
import type { ProviderName } from '../domain/ids.ts';
import type { IntentRow, Provided, ProviderMachine } from '../domain/machine.ts';
import { reconcile, type Creation } from '../domain/reconcile.ts';
import type { SessionKeeper } from './session-keeper.ts';

export interface ProvisionDeps {
  readonly bmdb: Bmdb;
  readonly keeper: SessionKeeper;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: {
    /** Managed machines at most per provider; 0 = no limit. */
    readonly machinesMax: number;
    readonly chunkSize: number;
    /** Distance between the starts of two creations. */
    readonly creationGapMs: number;
    /** Creations in flight at once. */
    readonly parallelism: number;
    /** How long a slot whose creation was refused stays on the shelf. */
    readonly penaltyMs: number;
    /** An intent whose device was never seen is forgotten after this long. */
    readonly abandonMs: number;
  };
}

/** Fills the slots of the `provisioner` chart. */
export function provisionSlots(deps: ProvisionDeps) {
  /** Witnesses that a creation of this process works on right now. */
  const running = new Set<string>();
  return {
    settleIntents: fromPromise<void, { provider: ProviderName }>(async ({ input, signal }) => {
      const { session, ends } = begin(deps, signal);
      const { intents, nowMs } = await deps.bmdb.scan(ends);
      const open = intents.filter(
        (intent) =>
          intent.provider === input.provider &&
          !running.has(intent.witness) &&
          (!intent.sessionAlive || intent.sessionId === session.sessionId),
      );
      for (const intent of open) await settle(deps, session, running, intent, nowMs, ends);
    }),

    planCreations: fromPromise<readonly Creation[], { provider: ProviderName }>(
      async ({ input, signal }) => {
        const { ends } = begin(deps, signal);
        const provider = providerNamed(deps, input.provider);
        const [listing, rows] = await Promise.all([
          provider.listMachines({ signal: ends }),
          deps.bmdb.scan(ends),
        ]);
        const { creations, summary } = reconcile({
          ...rows,
          provider: input.provider,
          listed: listing.machines,
          listingComplete: listing.complete,
          machinesMax: deps.limits.machinesMax,
          chunkSize: deps.limits.chunkSize,
        });
        const fields = { provider: input.provider, ...summary, creating: creations.length };
        if (creations.length > 0) deps.log.info(fields, 'provisioner iteration');
        else deps.log.debug(fields, 'provisioner iteration');
        return creations;
      },
    ),

    createMachines: fromPromise<void, { provider: ProviderName; planned: readonly Creation[] }>(
      async ({ input, signal }) => {
        const { session, ends } = begin(deps, signal);
        const limit = pLimit(deps.limits.parallelism);
        const pace = paceOf(deps.clock, deps.limits.creationGapMs);
        const creations = input.planned.map((planned) =>
          limit(async () => {
            await pace(ends);
            await create(deps, session, running, planned, ends);
          }),
        );
        const results = await Promise.allSettled(creations);
        const failed = results.find((result) => result.status === 'rejected');
        if (failed) throw failed.reason;
      },
    ),
  };
}

function begin({ keeper }: ProvisionDeps, signal: AbortSignal) {
  const session = keeper.require();
  return { session, ends: AbortSignal.any([signal, session.signal]) };
}

function providerNamed({ providers }: ProvisionDeps, name: ProviderName): Provider {
  const provider = providers.get(name);
  if (!provider) throw new NotFound(`no provider "${name}" is configured`);
  return provider;
}

/** Lets callers pass one by one, `gapMs` apart, the first at once. */
function paceOf(clock: Clock, gapMs: number): (signal: AbortSignal) => Promise<void> {
  let nextMs = clock.monotonic();
  return async (signal) => {
    const waitMs = Math.max(0, nextMs - clock.monotonic());
    nextMs = clock.monotonic() + waitMs + gapMs;
    signal.throwIfAborted();
    if (waitMs > 0) await sleep(clock, waitMs, signal);
  };
}

/** Write-ahead: the intent is committed before the provider hears of it, and closed after. */
async function create(
  deps: ProvisionDeps,
  session: BmdbSession,
  running: Set<string>,
  { slot, slotId, unused }: Creation,
  signal: AbortSignal,
): Promise<void> {
  const name = slot.slice(0, slot.indexOf('/')) as ProviderName;
  const hostname = providerNamed(deps, name).hostnameFor(slotId);
  let intent: IntentRow;
  try {
    intent = await session.intents.open({ provider: name, slotId, hostname });
  } catch (error) {
    if (!(error instanceof WorkConflict || error instanceof NothingToDo)) throw error;
    deps.log.debug({ slot, cause: explain(error) }, 'the slot is no longer free to be provisioned');
    return;
  }
  await createFor(deps, session, running, intent, unused, signal);
}

async function createFor(
  deps: ProvisionDeps,
  session: BmdbSession,
  running: Set<string>,
  intent: IntentRow,
  unused: ProviderMachine,
  signal: AbortSignal,
): Promise<void> {
  running.add(intent.witness);
  try {
    await createDevice(deps, session, intent, unused, signal);
  } finally {
    running.delete(intent.witness);
  }
}

async function createDevice(
  deps: ProvisionDeps,
  session: BmdbSession,
  intent: IntentRow,
  unused: ProviderMachine,
  signal: AbortSignal,
): Promise<void> {
  const { witness, slotId, hostname } = intent;
  const provider = providerNamed(deps, intent.provider);
  const fields = { slot: `${intent.provider}/${slotId}`, machine: intent.machineId };
  let device: ProviderMachine;
  try {
    device = await provider.createMachine(
      {
        unused,
        hostname,
        witness,
        resumed: intent.attempts > 0,
        onAttempt: (progress) => session.intents.progress(witness, progress),
      },
      { signal },
    );
  } catch (error) {
    await failCreation(deps, session, intent, error);
    return;
  }
  await session.intents.adopt(witness, providedBy(intent.provider, slotId, device));
  deps.log.info({ ...fields, provider: intent.provider, device: device.id }, 'machine created');
}

/** What an error of a creation means for its intent. Only a definite refusal ends it. */
async function failCreation(
  deps: ProvisionDeps,
  session: BmdbSession,
  intent: IntentRow,
  error: unknown,
): Promise<void> {
  const cause = explain(error);
  const slot = `${intent.provider}/${intent.slotId}`;
  deps.log.warn({ slot, code: codeOf(error), cause }, 'the machine was not created');
  if (session.signal.aborted) return;
  if (error instanceof RaceLost) {
    await session.intents.end(intent.witness, { state: 'failed', cause });
  } else if (error instanceof RemoteFailure) {
    const { penaltyMs } = deps.limits;
    await session.intents.end(intent.witness, { state: 'failed', cause, penaltyMs });
  } else {
    await session.intents.progress(intent.witness, { unresolved: true, lastError: cause });
  }
}

/** A contradiction concerns one intent and must not keep the others from being settled. */
async function settle(...[deps, ...rest]: Parameters<typeof settleOne>): Promise<void> {
  const [session, , intent] = rest;
  const { provider, slotId } = intent;
  try {
    await settleOne(deps, ...rest);
  } catch (error) {
    if (error instanceof RaceLost) return failCreation(deps, session, intent, error);
    if (!(error instanceof WorkConflict)) throw error;
    const fields = { slot: `${provider}/${slotId}`, cause: explain(error) };
    deps.log.warn(fields, 'the unfinished creation cannot be settled now');
  }
}

/**
 * Settles an intent that an earlier life left open: the device that carries its witness is adopted;
 * without one the creation is resumed under the same witness, or forgotten after long enough.
 */
async function settleOne(
  deps: ProvisionDeps,
  session: BmdbSession,
  running: Set<string>,
  found: IntentRow,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const provider = providerNamed(deps, found.provider);
  const slot = `${found.provider}/${found.slotId}`;
  const intent =
    found.sessionId === session.sessionId ? found : await session.intents.resume(found.witness);
  const device = await provider.findByWitness(intent.witness, intent.slotId, { signal });
  if (device) {
    await session.intents.adopt(intent.witness, providedBy(intent.provider, intent.slotId, device));
    deps.log.info({ slot, device: device.id }, 'device of an unfinished creation adopted');
    return;
  }
  const { machines, complete } = await provider.listMachines({ signal });
  const unused = machines.find(
    (machine) => machine.availability !== 'KnownUsed' && machine.reservationId === intent.slotId,
  );
  if (unused) {
    deps.log.info({ slot, attempts: intent.attempts }, 'unfinished creation resumed');
    await createFor(deps, session, running, intent, unused, signal);
  } else if (complete && nowMs - intent.createdAtMs > deps.limits.abandonMs) {
    const { penaltyMs } = deps.limits;
    const cause = 'no device with this witness was ever listed';
    await session.intents.end(intent.witness, { state: 'abandoned', cause, penaltyMs });
    deps.log.warn({ slot }, 'unfinished creation abandoned');
  }
}

const providedBy = (provider: ProviderName, slotId: string, device: ProviderMachine): Provided => ({
  provider,
  providerId: device.id!,
  reservationId: device.reservationId ?? slotId,
  address: device.address,
  location: device.location,
  status: device.status,
});
