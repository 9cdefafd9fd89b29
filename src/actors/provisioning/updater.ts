import pLimit from 'p-limit';
import type { Bmdb, BmdbSession, ConditionReport } from '../../adapters/bmdb/port.ts';
import type { Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { capabilitiesFor } from '../../domain/provisioning/adoption.ts';
import { isInForce } from '../../domain/eligibility.ts';
import { PROVIDER_SOURCE, conditionNews } from '../../domain/conditions.ts';
import { SessionExpired, codeOf, explain, isProviderError } from '../../domain/errors.ts';
import type { MachineId, ProviderName, Slot } from '../../domain/ids.ts';
import type { MachineRow, ProviderMachine, SlotFacts } from '../../domain/machine.ts';
import {
  IDLE_TAG,
  idleBehaviourOf,
  taggedBehaviour,
  type IdleBehaviour,
} from '../../domain/provisioning/provider-tags.ts';
import { createPenalties } from '../../domain/provisioning/provider-holds.ts';
import {
  RECHECK_SOON_MS,
  failedReadMs,
  recheckJitter,
  updateOf,
  type Clearable,
} from '../../domain/provisioning/update.ts';
import { provisionerJob, type Leases } from '../leases.ts';
import type { HoldKeeper } from '../providers/holds.ts';
import type { DatedListing, Listings } from '../providers/listings.ts';
import type { ProvisionDeps } from './deps.ts';

export interface UpdaterDeps extends Pick<
  ProvisionDeps,
  'keeper' | 'providers' | 'nowMs' | 'clock' | 'log'
> {
  readonly bmdb: Pick<Bmdb, 'conditions'>;
  readonly leases: Pick<Leases, 'held'>;
  readonly listings: Pick<Listings, 'list'>;
  readonly holds: Pick<HoldKeeper, 'guard'>;
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly random: Random;
}

/** Devices read at the same time. */
const AT_ONCE = 5;
/** Without a listing, at most this many devices are read singly. */
const READS_MAX = 10;
/** Beyond this number, some machines are read more often than needed, which is harmless. */
const WAITING_MAX = 200_000;
const READ_MS = 60_000;

/** Memory of a machine between two readings. */
interface Memory {
  readonly failures: number;
  readonly doubtful: readonly Clearable[];
  /** When the known state was seen, epoch ms of the daemon's clock: older readings are no news. */
  readonly seenAtMs: number;
}
const FRESH: Memory = { failures: 0, doubtful: [], seenAtMs: -Infinity };

/** A machine and its device as last seen; null: it must be read. */
interface Visit {
  readonly slot: Slot;
  readonly row: MachineRow;
  readonly seen: ProviderMachine | null;
  readonly conditions: SlotFacts['conditions'];
  /** A read is due; otherwise the mirror saw a possible change. */
  readonly isDue: boolean;
}

/**
 * Writes the providers' reports about known machines to the BMDB, with what is wrong with them, for
 * providers whose job is ours.
 * A change seen by the mirror costs no call. Besides, each machine is read when due: in a recent
 * listing, else singly. A failure with one machine does not affect the others; the end of the
 * session ends the iteration. Also copies operators' holds to the machines' tags.
 */
export function createUpdater(deps: UpdaterDeps): (signal: AbortSignal) => Promise<void> {
  const { clock, log } = deps;
  const waiting = createPenalties<MachineId>(WAITING_MAX);
  const memories = new Map<MachineId, Memory>();
  const memoryOf = (id: MachineId) => memories.get(id) ?? FRESH;
  const tagIdle = createIdleTags(deps);

  const rest = (id: MachineId, waitMs: number, memory: Memory) => {
    const nowMs = clock.monotonic();
    waiting.add(id, nowMs + recheckJitter(waitMs, deps.random.next()));
    memories.set(id, memory);
  };

  /** @returns the machine's conditions that are not stored yet. */
  async function visit(
    at: Visit,
    provider: FleetProvider,
    session: BmdbSession,
    ends: AbortSignal,
  ): Promise<readonly ConditionReport[]> {
    const { machineId } = at.row;
    const memory = memoryOf(machineId);
    try {
      const seen = at.seen ?? (await readDevice(deps.holds, at.row, provider, session, ends));
      if (!seen) {
        rest(machineId, RECHECK_SOON_MS, { ...FRESH, seenAtMs: clock.now() });
        return [];
      }
      const { change, doubtful, recheckMs } = updateOf(at.row, seen, memory.doubtful);
      if (change) {
        await session.updateProvided(machineId, change);
        tellChange(log, at, change.status);
      }
      const known = { failures: 0, doubtful, seenAtMs: seen.observedAtMs };
      if (change || at.isDue) rest(machineId, recheckMs, known);
      else memories.set(machineId, { ...memory, seenAtMs: seen.observedAtMs });
      return newConditions(at, seen);
    } catch (error) {
      if (error instanceof SessionExpired || ends.aborted) throw error;
      const failures = memory.failures + 1;
      rest(machineId, failedReadMs(failures), { ...memory, failures });
      const fields = { slot: at.slot, machine: machineId, code: codeOf(error) };
      log.warn({ ...fields, cause: explain(error) }, 'a machine could not be read');
      return [];
    }
  }

  /** Machines with news or a due read, with their entry in a listing. */
  async function visitsOf(name: ProviderName, ends: AbortSignal): Promise<Visit[]> {
    const nowMs = clock.monotonic();
    const all = knownOf(deps.facts(), name, (id) => !waiting.penalised(id, nowMs));
    const due = all.filter(({ isDue }) => isDue);
    const news = all.filter(
      ({ isDue, row, seen }) =>
        !isDue && seen !== null && seen.observedAtMs > memoryOf(row.machineId).seenAtMs,
    );
    const checked = news.length + due.length;
    log.debug({ provider: name, checked, skipped: all.length - checked }, 'updating');
    if (due.length === 0) return news;
    const listed = await listedOf(deps, name, due.length, ends);
    const visits = due.flatMap((at): Visit[] => {
      const { machineId, provided } = at.row;
      const seen = listed?.byId.get(provided!.providerId) ?? null;
      const isUnclear = listed?.unreadable.has(provided!.providerId) ?? false;
      if (seen || !listed?.complete || isUnclear) return [{ ...at, seen }];
      // The provisioner counts absences from complete listings.
      rest(machineId, RECHECK_SOON_MS, FRESH);
      return [];
    });
    return [...news, ...visits];
  }

  async function iterate(name: ProviderName, signal: AbortSignal): Promise<void> {
    const session = deps.keeper.current();
    if (!session || !deps.leases.held(provisionerJob(name))) return;
    const ends = AbortSignal.any([signal, session.signal]);
    forgetGone(memories, deps.facts());
    const limit = pLimit(AT_ONCE);
    const provider = deps.providers.get(name)!;
    const visits = (await visitsOf(name, ends)).map((at) =>
      limit(async () => {
        if (ends.aborted) throw ends.reason;
        return visit(at, provider, session, ends);
      }),
    );
    const results = await Promise.allSettled(visits);
    const fatal = results.find((result) => result.status === 'rejected');
    if (fatal && !signal.aborted) throw fatal.reason;
    const reports = results.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    if (reports.length > 0) await deps.bmdb.conditions.report(reports);
    await tagIdle(provider, ends);
  }

  const update = async (name: ProviderName, signal: AbortSignal): Promise<void> => {
    try {
      await iterate(name, signal);
    } catch (error) {
      if (error instanceof SessionExpired || signal.aborted) throw error;
      log.warn({ provider: name, cause: explain(error) }, 'the update failed');
    }
  };
  return async (signal) => {
    const updates = [...deps.providers.keys()].map((name) => update(name, signal));
    const results = await Promise.allSettled(updates);
    const fatal = results.find((result) => result.status === 'rejected');
    if (fatal) throw fatal.reason;
  };
}

/** All machines of the provider, with their entry in its last listing. */
function knownOf(
  facts: ReadonlyMap<Slot, SlotFacts>,
  name: ProviderName,
  isDue: (id: MachineId) => boolean,
): Visit[] {
  const found: Visit[] = [];
  for (const { slot, row, listed, conditions } of facts.values()) {
    if (row?.provided?.provider !== name || row.unreadable !== undefined) continue;
    const seen = listed && listed.id === row.provided.providerId ? listed : null;
    found.push({ slot, row, seen, conditions, isDue: isDue(row.machineId) });
  }
  return found;
}

function newConditions(
  { row: { machineId, provided }, conditions }: Visit,
  seen: ProviderMachine,
): readonly ConditionReport[] {
  const { provider, providerId, reservationId } = provided!;
  const at = { provider, slotId: reservationId ?? providerId, machineId };
  return conditionNews(conditions, seen.conditions ?? []).map((each) => ({
    ...{ ...at, ...each, source: PROVIDER_SOURCE, validForMs: null },
  }));
}

function forgetGone(memories: Map<MachineId, Memory>, facts: ReadonlyMap<Slot, SlotFacts>): void {
  const there = new Set<MachineId>();
  for (const { row } of facts.values()) if (row) there.add(row.machineId);
  for (const id of memories.keys()) if (!there.has(id)) memories.delete(id);
}

/**
 * A listing for look-ups. It costs nothing: the mirror also uses it. Null: it failed, and few
 * enough machines remain for single reads.
 */
async function listedOf(
  { listings, log }: UpdaterDeps,
  name: ProviderName,
  due: number,
  signal: AbortSignal,
) {
  let listing: DatedListing;
  try {
    listing = await listings.list(name, signal);
  } catch (error) {
    if (due > READS_MAX || signal.aborted) throw error;
    log.debug({ provider: name, cause: explain(error) }, 'machines are read one by one');
    return null;
  }
  const byId = new Map<string, ProviderMachine>();
  for (const machine of listing.machines) if (machine.id !== null) byId.set(machine.id, machine);
  const unreadable = new Set(listing.unreadable?.map(({ id }) => id));
  return { byId, unreadable, complete: listing.complete };
}

/** Null: the provider does not know the device, which is recorded. */
async function readDevice(
  holds: UpdaterDeps['holds'],
  row: MachineRow,
  provider: FleetProvider,
  session: BmdbSession,
  signal: AbortSignal,
): Promise<ProviderMachine | null> {
  try {
    const { providerId, reservationId } = row.provided!;
    const options = { signal, timeoutMs: READ_MS, reservationId };
    return await holds.guard(provider.name, 'get', () => provider.getMachine(providerId, options));
  } catch (error) {
    if (!isProviderError(error, 'not-found')) throw error;
    if (row.deprovision === null && row.provided!.status !== 'Missing') {
      await session.updateProvided(row.machineId, { absent: true });
    }
    return null;
  }
}

/** The actor hears of it from the mirror, which reads the change. */
function tellChange(log: Log, { slot, row }: Visit, status: string | undefined): void {
  const fields = { slot, machine: row.machineId };
  if (status === undefined) log.debug(fields, 'provider data updated');
  else log.info({ ...fields, from: row.provided!.status, to: status }, 'provider status changed');
}

type IdleTagsDeps = Pick<UpdaterDeps, 'facts' | 'holds' | 'nowMs' | 'clock' | 'log'>;

/** Tags written per round; the rest waits for the next round. */
const ROUND_MAX = 50;
/** After a tag was written, listings may show the old value for this long. */
const REST_MS = 10 * 60_000;
const LIMIT_MS = 60_000;

/**
 * Copies operators' holds on each machine to a tag of its device, for an adoption without our
 * database. Best effort: failures are retried later.
 * @returns one round over the machines of a provider.
 */
export function createIdleTags(deps: IdleTagsDeps) {
  const waiting = createPenalties<Slot>(WAITING_MAX);

  const write = async (provider: FleetProvider, stale: Stale, signal: AbortSignal) => {
    const { slot, id, behaviour } = stale;
    const nowMs = deps.clock.monotonic();
    waiting.add(slot, nowMs + REST_MS);
    try {
      const call = { signal, timeoutMs: LIMIT_MS };
      await deps.holds.guard(provider.name, 'setTags', () =>
        provider.setTags(id, { [IDLE_TAG]: behaviour }, call),
      );
      deps.log.info({ slot, device: id, behaviour }, 'idle behaviour tagged');
    } catch (error) {
      if (signal.aborted) throw error;
      const fields = { slot, device: id, behaviour, cause: explain(error) };
      deps.log.warn(fields, 'the idle behaviour could not be tagged; it is retried later');
    }
  };

  return async (provider: FleetProvider, signal: AbortSignal): Promise<void> => {
    if (!provider.capabilities.tags) return;
    const nowMs = deps.clock.monotonic();
    const due = staleOf(deps.facts(), provider, deps.nowMs())
      .filter(({ slot }) => !waiting.penalised(slot, nowMs))
      .slice(0, ROUND_MAX);
    const limit = pLimit(AT_ONCE);
    await Promise.all(due.map((each) => limit(() => write(provider, each, signal))));
  };
}

interface Stale {
  readonly slot: Slot;
  readonly id: string;
  readonly behaviour: IdleBehaviour;
}

/** Devices of our machines whose tag differs from the holds on their slots. */
function staleOf(
  facts: ReadonlyMap<Slot, SlotFacts>,
  { name, capabilities }: Pick<FleetProvider, 'name' | 'capabilities'>,
  nowMs: number,
): Stale[] {
  const found: Stale[] = [];
  for (const { slot, row, listed, holds } of facts.values()) {
    if (row?.provided?.provider !== name || row.deprovision !== null) continue;
    const { providerId: id } = row.provided;
    if (!capabilitiesFor(capabilities, row.provided).tags) continue;
    if (listed?.id !== id || listed.ownership !== 'ours') continue;
    const active = holds.filter((hold) => isInForce(hold, nowMs));
    const behaviour = idleBehaviourOf(active.map(({ kind }) => kind));
    if (behaviour !== taggedBehaviour(listed.tags)) found.push({ slot, id, behaviour });
  }
  return found;
}
