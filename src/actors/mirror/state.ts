import type { Heard } from '../../adapters/agents/port.ts';
import type { BmdbSurroundings, MachineReading } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import { createAcceptanceHolds, type AcceptancePolicies } from '../../domain/acceptance.ts';
import {
  conditionHolds,
  countedConditions,
  machineCounts,
  suspiciousTypes,
  withConditionHolds,
  type ConditionPolicy,
} from '../../domain/conditions.ts';
import { assembling, mergeListing, type KnownListing } from '../../domain/assemble.ts';
import { providerOf, type MachineId, type ProviderName } from '../../domain/ids.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { GuardRow, ProviderHoldRow, RequestRow, SlotFacts } from '../../domain/machine.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import type { Replacement } from '../../domain/provisioning/replacement.ts';
import { DEFAULT_GUARD } from '../../domain/recovery/guard-judgement.ts';
import { sameData } from '../../lib/data.ts';
import { viewOf, type MachineView } from '../../domain/view.ts';
import type { InterruptibleWork } from '../../lib/steps.ts';
import type { SlotNews } from '../../machines/fleet.ts';
import type { Job } from '../../machines/task.ts';
import {
  NOTHING_AROUND,
  changedFacts,
  createMirrorRows,
  keepEqual,
  keepGuard,
  keepRequests,
  nothingOf,
  sameButTimes,
  sameItems,
  sameListing,
  withRequests,
  withRow,
} from './rows.ts';
import { createSlices, type FleetRead, type Slices } from './reads.ts';
import { createDueTimes, type DueTimes } from '../due-times.ts';

export interface MirrorStateOptions {
  readonly loss: LossPolicy;
  /** Default: no type has a configured effect. */
  readonly conditions?: ConditionPolicy;
  /** Default: no provider requires acceptance. */
  readonly acceptance?: AcceptancePolicies;
  /** Providers that this daemon can call; machines of other providers are only shown. */
  readonly providers: { has(name: ProviderName): boolean };
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Called with all facts after each read with changes, and after each scan. `changed`: slots whose
   * row changed since the last call; absent: any slot may have changed.
   */
  readonly onFacts: (facts: ReadonlyMap<Slot, SlotFacts>, changed?: ReadonlySet<Slot>) => void;
  /** Called with every changed view, including heartbeats. */
  readonly onView: (view: MachineView) => void;
  readonly onVanished: (slot: Slot) => void;
  /** Called when pool rows changed. */
  readonly onPools?: (pools: readonly PoolRow[]) => void;
}

export type MirrorState = ReturnType<typeof createMirrorState>;

/** If the estimate of the database clock jumps this far, all views are derived again. */
const LEAP_MS = 1_000;

const UNKNOWN_RUNG =
  'a newer program recovers machines on a rung unknown here and keeps them: upgrade this program';

const UNCONFIGURED: ConditionPolicy = { effects: {}, guard: DEFAULT_GUARD };

const NO_NEWS: readonly never[] = [];

const isGuards = ({ slotId }: RequestRow): boolean => slotId === null;

/** Facts beyond single machines, as of the last read. */
interface FleetFacts {
  sessions: readonly SessionId[];
  providerHolds: readonly ProviderHoldRow[];
  leases: readonly LeaseRow[];
  guard: readonly GuardRow[];
  replacements: readonly Replacement[];
  pools: readonly PoolRow[];
  requests: readonly RequestRow[];
}

/** The known facts, the views derived from them, and the views already delivered. */
export function createMirrorState(options: MirrorStateOptions) {
  const { clock, loss, providers, log, onFacts, onView, onVanished } = options;
  const { onPools = () => undefined, conditions = UNCONFIGURED, acceptance = {} } = options;
  const withAcceptanceHold = createAcceptanceHolds(acceptance);
  const rows = createMirrorRows(clock);
  const told = new Map<Slot, MachineView>();
  /** Slots whose actors are gone: their successors need all news again. */
  const untold = new Set<Slot>();
  /** Listings since the start of the last read; they take effect after a later read of rows. */
  const staged = new Map<ProviderName, KnownListing>();
  const listings = new Map<ProviderName, KnownListing>();
  let slotOfMachine = new Map<MachineId, Slot>();
  let isListingNew = false;
  /** A single read found a machine gone, so its slot may have no reference left. */
  let isRowGone = false;
  let around = NOTHING_AROUND;
  /** See `suspiciousTypes`. */
  let suspicious: ReadonlySet<string> = new Set();
  let facts = new Map<Slot, SlotFacts>();
  const kept: FleetFacts = {
    ...{ sessions: [], providerHolds: [], leases: [], guard: [], pools: [], requests: [] },
    replacements: [],
  };
  let offset = clock.now() - clock.monotonic();
  let readAt: number | null = null;
  let isWhole = false;
  let dueTimes: DueTimes<Slot> | undefined;
  let emitNews: (news: SlotNews[]) => void = () => undefined;
  const tell = (news: SlotNews[]) => {
    if (news.length > 0) emitNews(news);
  };
  /** A read is being taken in, or was aborted halfway: the next one assumes nothing. */
  let isHalfTaken = false;
  /** Machines that changed while facts are being assembled from older rows. */
  let meanwhile: Map<Slot, MachineId> | null = null;
  const nowMs = () => clock.monotonic() + offset;
  const moment = () => ({ nowMs: nowMs(), loss, providers });

  /** Each rung is reported once, because all machines may be on it. */
  const toldRungs = new Set<string>();
  const tellUnknown = ({ slot, row }: SlotFacts) => {
    const rung = row?.unknownRung;
    if (rung === undefined || toldRungs.has(rung)) return;
    toldRungs.add(rung);
    log.warn({ slot, machine: row!.machineId, rung }, UNKNOWN_RUNG);
  };
  /** Derives the view again; returns news for the actor. */
  const derive = (slot: Slot): readonly SlotNews[] => {
    const known = facts.get(slot);
    if (!known) return NO_NEWS;
    const view = viewOf(known, moment());
    tellUnknown(known);
    const before = told.get(slot);
    told.set(slot, view);
    dueTimes?.set(slot, view.dueAtMs);
    if (before && !untold.delete(slot) && sameButTimes(before, view)) {
      if (before.lastHeartbeatAtMs !== view.lastHeartbeatAtMs) onView(view);
      return NO_NEWS;
    }
    onView(view);
    return [{ type: 'observed', view }];
  };
  /** Delivers news at the end of each slice, so that later news of a slot are newer. */
  const tellAll = async <Item>(
    items: Iterable<Item>,
    tellOf: (item: Item) => readonly SlotNews[],
    slices: Slices,
  ) => {
    let news: SlotNews[] = [];
    for (const item of items) {
      news.push(...tellOf(item));
      if (!slices.isOver()) continue;
      tell(news);
      news = [];
      await slices.pause();
    }
    tell(news);
  };
  /** The slot has no reference left. Only a complete listing proves that it is gone for good. */
  const vanish = (slot: Slot): SlotNews[] => {
    const provider = providerOf(slot);
    const { complete = false } = listings.get(provider) ?? {};
    const last = viewOf(nothingOf(slot, provider, complete), moment());
    told.delete(slot);
    untold.delete(slot);
    dueTimes?.set(slot, null);
    onVanished(slot);
    const end: SlotNews = { type: 'vanished', slot };
    return complete ? [{ type: 'observed', view: last }, end] : [end];
  };

  /** Takes over facts beyond single machines; true if slots' facts depend on the changes. */
  const takeAround = (read: FleetRead['rows']): boolean => {
    const before = around;
    // A scan has all machines; the ones known before a read of changes are close enough to count.
    const all = 'gone' in read ? rows.all() : read.machines;
    const counted = countedConditions(read.conditions, all, read.nowMs);
    suspicious = suspiciousTypes(counted, machineCounts(all), conditions);
    const holds = conditionHolds(read.conditions, suspicious, conditions);
    around = keepEqual(before, { ...read, holds: withConditionHolds(read.holds, holds) });
    kept.providerHolds = read.providerHolds;
    kept.leases = read.leases;
    kept.replacements = read.replacements;
    if (!sameData(kept.pools, read.pools)) onPools((kept.pools = read.pools));
    kept.sessions = read.sessions
      .filter(({ component }) => component === 'shepherd')
      .map(({ sessionId }) => sessionId);
    return around !== before;
  };
  /** Rows read singly since facts were last delivered. */
  const reread = new Set<Slot>();
  const tellFacts = (places?: ReadonlySet<Slot>) => {
    onFacts(facts, places && new Set([...places, ...reread]));
    reread.clear();
  };
  /** Takes over rows that only the guard uses; no facts depend on them. */
  const takeGuard = (read: BmdbSurroundings, before: readonly RequestRow[]): boolean => {
    const { guard, requests } = kept;
    kept.guard = keepGuard(guard, read.guard);
    const isSame = sameItems(before.filter(isGuards), requests.filter(isGuards));
    return kept.guard !== guard || !isSame;
  };
  const replaceRequests = (before: readonly RequestRow[], changed: Set<Slot>) => {
    if (before === kept.requests) return;
    for (const each of withRequests(facts, before, kept.requests)) {
      facts.set(each.slot, each);
      changed.add(each.slot);
    }
  };
  /** Replaces rows that concern no other slot; false: assemble all facts. */
  const replaceRows = async (
    ids: ReadonlySet<MachineId>,
    changed: Set<Slot>,
    slices: Slices,
  ): Promise<boolean> => {
    for (const id of ids) {
      const patched = withRow(facts.get(slotOfMachine.get(id)!), rows.get(id));
      if (!patched) return false;
      facts.set(patched.slot, withAcceptanceHold(patched));
      changed.add(patched.slot);
      if (slices.isOver()) await slices.pause();
    }
    return true;
  };
  const assemble = async (changed: Set<Slot>, slices: Slices): Promise<void> => {
    const before = facts;
    const heard = (meanwhile = new Map());
    isRowGone = false;
    const after = await slices.run(
      assembling({ ...around, requests: kept.requests, machines: rows.all() }, listings),
    );
    const places = await slices.run(placesOf(after, withAcceptanceHold));
    for (const [slot, id] of heard) {
      const found = after.get(slot);
      if (!found || (found.row && found.row.machineId !== id)) continue;
      after.set(slot, withAcceptanceHold({ ...found, row: rows.get(id) }));
      places.set(id, slot);
    }
    [facts, slotOfMachine, meanwhile, isListingNew] = [after, places, null, false];
    for (const slot of await slices.run(changedFacts(before, after))) changed.add(slot);
  };

  return {
    stage: (name: ProviderName, listing: KnownListing) =>
      staged.set(name, mergeListing(name, staged.get(name), listing)),
    adoptListings() {
      for (const [name, listing] of staged) {
        const before = listings.get(name);
        const latest = mergeListing(name, before, listing);
        if (sameListing(before, latest)) continue;
        listings.set(name, latest);
        isListingNew = true;
      }
      staged.clear();
    },
    get facts(): ReadonlyMap<Slot, SlotFacts> {
      return facts;
    },
    known: kept as Readonly<FleetFacts>,
    /** A scan was delivered completely, so that everything was delivered once. */
    get isWhole() {
      return isWhole;
    },
    get readAt() {
      return readAt;
    },
    get intents() {
      return around.intents;
    },
    get penalties() {
      return around.penalties;
    },
    get suspicious() {
      return suspicious;
    },
    /** All rows as currently known. */
    fleet: () => {
      const { guard, replacements } = kept;
      return { ...around, guard, replacements, nowMs: nowMs(), machines: rows.all() };
    },
    nowMs,
    start: (emit: (news: SlotNews[]) => void) => {
      emitNews = emit;
      for (const slot of told.keys()) untold.add(slot);
      dueTimes = createDueTimes<Slot>(clock, nowMs, (slots) => tell(slots.flatMap(derive)));
      return () => {
        dueTimes?.stop();
        emitNews = () => undefined;
      };
    },
    /** Returns the known row if it equals this one, else this row. */
    keep: rows.keep,
    /**
     * Takes in a read, in slices, and delivers news. Reads are taken in one after the other;
     * heartbeats and single machines come in between. After an abort, the next read assumes
     * nothing.
     * @returns whether the guard's rows or requests changed.
     * @throws the signal's reason.
     */
    async take(read: FleetRead, signal: AbortSignal): Promise<boolean> {
      const isDoubtful = isHalfTaken;
      isHalfTaken = true;
      const latest = read.rows.nowMs - clock.monotonic();
      // The clock was read at the start of the scan, perhaps seconds ago.
      const earliest = read.kind === 'scan' ? read.rows.nowMs - read.beganAtMs : latest;
      const isStill = readAt !== null && latest <= offset && offset <= earliest;
      const leapMs = isStill ? 0 : Math.abs(latest - offset);
      if (!isStill) offset = latest;
      readAt = clock.monotonic();
      const isAroundNew = takeAround(read.rows);
      const requestsBefore = kept.requests;
      kept.requests = keepRequests(requestsBefore, read.rows.requests);
      const isGuardNew = takeGuard(read.rows, requestsBefore);
      const slices = createSlices(clock, signal);
      const ids =
        read.kind === 'scan'
          ? await slices.run(rows.takeScan(read.rows, read.beganAtMs))
          : rows.takeChanges(read.rows, read.beganAtMs);
      const changed = new Set<Slot>();
      const mayReplace = !isAroundNew && !isListingNew && !isRowGone && !isDoubtful;
      const isReplaced = mayReplace && (await replaceRows(ids, changed, slices));
      const places = isReplaced ? new Set(changed) : undefined;
      if (isReplaced) replaceRequests(requestsBefore, changed);
      else await assemble(changed, slices);
      const isEverythingDue = leapMs > LEAP_MS || untold.size > 0 || isDoubtful;
      await tellAll(isEverythingDue ? facts.keys() : changed, derive, slices);
      if (!isReplaced) {
        await tellAll(told.keys(), (slot) => (facts.has(slot) ? NO_NEWS : vanish(slot)), slices);
      }
      isHalfTaken = false;
      isWhole ||= read.kind === 'scan';
      if (!places) tellFacts();
      else if (read.kind === 'scan' || places.size > 0) tellFacts(places);
      return isGuardNew;
    },
    /**
     * Takes in fresh rows of one machine, read since `beganAtMs` (monotonic). Delivers changes like
     * other news: the requester may be gone, and another actor may have replaced it.
     */
    patch({ slot, machineId }: Job, reading: MachineReading, beganAtMs: number) {
      const known = facts.get(slot);
      if (!known) return null;
      rows.takeReading(machineId, reading, beganAtMs);
      const row = rows.get(machineId);
      facts.set(slot, withAcceptanceHold({ ...known, row }));
      reread.add(slot);
      if (row) slotOfMachine.set(machineId, slot);
      else isRowGone = true;
      meanwhile?.set(slot, machineId);
      tell([...derive(slot)]);
      return told.get(slot) ?? null;
    },
    hear({ machineId, atMs, bootId }: Heard): readonly SlotNews[] {
      const known = facts.get(slotOfMachine.get(machineId)!);
      if (!known?.row || !rows.takeHeartbeat(machineId, { atMs, bootId })) return NO_NEWS;
      facts.set(known.slot, { ...known, row: rows.get(machineId) });
      meanwhile?.set(known.slot, machineId);
      return derive(known.slot);
    },
  };
}

/** The slot of each machine. Completes the facts of the slots with machines. */
function* placesOf(
  facts: Map<Slot, SlotFacts>,
  complete: (facts: SlotFacts) => SlotFacts,
): InterruptibleWork<Map<MachineId, Slot>> {
  const places = new Map<MachineId, Slot>();
  for (const each of facts.values()) {
    yield;
    const { slot, row } = each;
    if (!row) continue;
    places.set(row.machineId, slot);
    const whole = complete(each);
    if (whole !== each) facts.set(slot, whole);
  }
  return places;
}
