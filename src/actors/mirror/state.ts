import type { Heard } from '../../adapters/agents/port.ts';
import type { BmdbSurroundings, MachineReading } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import { assembling, mergeListing, type KnownListing } from '../../domain/assemble.ts';
import { providerOf, type MachineId, type ProviderName } from '../../domain/ids.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { GuardRow, ProviderHoldRow, RequestRow, SlotFacts } from '../../domain/machine.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { sameData } from '../../lib/data.ts';
import { viewOf, type MachineView } from '../../domain/view.ts';
import type { Steps } from '../../lib/steps.ts';
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
  /** Providers that this daemon can ask; machines of others are only shown. */
  readonly providers: { has(name: ProviderName): boolean };
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Told of all facts after each read that changed something, and after each scan.
   * `changed`: slots that have another row than at the last time; absent: any slot may have.
   */
  readonly onFacts: (facts: ReadonlyMap<Slot, SlotFacts>, changed?: ReadonlySet<Slot>) => void;
  /** Told of every view that changed, heartbeats included. */
  readonly onView: (view: MachineView) => void;
  readonly onVanished: (slot: Slot) => void;
  /** Told of how pools stand at their balancers, when that is not what it was. */
  readonly onPools?: (pools: readonly PoolRow[]) => void;
}

export type MirrorState = ReturnType<typeof createMirrorState>;

/** Where the estimate of the database's clock leaps by so much, everything is derived anew. */
const LEAP_MS = 1_000;

const UNKNOWN_RUNG =
  'a newer program recovers machines on a rung unknown here; they are left to it: upgrade this one';

const NO_NEWS: readonly never[] = [];

const isGuards = ({ slotId }: RequestRow): boolean => slotId === null;

/** What is not about one machine, as of the last read. */
interface Known {
  sessions: readonly SessionId[];
  providerHolds: readonly ProviderHoldRow[];
  leases: readonly LeaseRow[];
  guard: readonly GuardRow[];
  pools: readonly PoolRow[];
  requests: readonly RequestRow[];
}

/** What is known, what follows from it, and what was told of it. */
export function createMirrorState(options: MirrorStateOptions) {
  const { clock, loss, providers, log, onFacts, onView, onVanished } = options;
  const { onPools = () => undefined } = options;
  const rows = createMirrorRows(clock);
  const told = new Map<Slot, MachineView>();
  /** Slots whose actors are gone: the next ones must be told again what the last ones heard. */
  const untold = new Set<Slot>();
  /** Listings that came since the last read began: they count once rows were read after them. */
  const staged = new Map<ProviderName, KnownListing>();
  const listings = new Map<ProviderName, KnownListing>();
  let slotOfMachine = new Map<MachineId, Slot>();
  let isListingNew = false;
  /** A machine was found gone by a read of its own: its slot may have nothing left that refers to it. */
  let isRowGone = false;
  let around = NOTHING_AROUND;
  let facts = new Map<Slot, SlotFacts>();
  const kept: Known = {
    ...{ sessions: [], providerHolds: [], leases: [], guard: [], pools: [], requests: [] },
  };
  let offset = clock.now() - clock.monotonic();
  let readAt: number | null = null;
  let isWhole = false;
  let dueTimes: DueTimes<Slot> | undefined;
  let emitNews: (news: SlotNews[]) => void = () => undefined;
  const tell = (news: SlotNews[]) => {
    if (news.length > 0) emitNews(news);
  };
  /** A read is being taken in, or was broken off in the middle: then the next one assumes nothing. */
  let isHalfTaken = false;
  /** Machines that were read or heard since facts are being assembled of what was known before. */
  let meanwhile: Map<Slot, MachineId> | null = null;
  const nowMs = () => clock.monotonic() + offset;
  const moment = () => ({ nowMs: nowMs(), loss, providers });

  /** Each is told once: all machines may be on it. */
  const toldRungs = new Set<string>();
  const tellUnknown = ({ slot, row }: SlotFacts) => {
    const rung = row?.unknownRung;
    if (rung === undefined || toldRungs.has(rung)) return;
    toldRungs.add(rung);
    log.warn({ slot, machine: row!.machineId, rung }, UNKNOWN_RUNG);
  };
  /** Derives again; answers what an actor should hear of it. */
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
  /** Tells at the end of each slice: what is told later of a slot is then newer. */
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
  /** Nothing refers to the slot any more. Only a complete listing tells that it is gone for good. */
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

  /** Takes over what is not about one machine; true when facts rest on what changed. */
  const takeAround = (read: BmdbSurroundings): boolean => {
    const before = around;
    around = keepEqual(before, read);
    kept.providerHolds = read.providerHolds;
    kept.leases = read.leases;
    if (!sameData(kept.pools, read.pools)) onPools((kept.pools = read.pools));
    kept.sessions = read.sessions
      .filter(({ component }) => component === 'shepherd')
      .map(({ sessionId }) => sessionId);
    return around !== before;
  };
  /** Rows that were read one by one since facts were told last. */
  const reread = new Set<Slot>();
  const tellFacts = (places?: ReadonlySet<Slot>) => {
    onFacts(facts, places && new Set([...places, ...reread]));
    reread.clear();
  };
  /** Takes over what only the guard is told; no facts rest on it. */
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
  /** Puts rows in place where this concerns no other slot; false: assemble. */
  const replaceRows = async (
    ids: ReadonlySet<MachineId>,
    changed: Set<Slot>,
    slices: Slices,
  ): Promise<boolean> => {
    for (const id of ids) {
      const patched = withRow(facts.get(slotOfMachine.get(id)!), rows.get(id));
      if (!patched) return false;
      facts.set(patched.slot, patched);
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
    const places = await slices.run(placesOf(after));
    for (const [slot, id] of heard) {
      const found = after.get(slot);
      if (!found || (found.row && found.row.machineId !== id)) continue;
      after.set(slot, { ...found, row: rows.get(id) });
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
    known: kept as Readonly<Known>,
    /** A scan was told to its end: all that there is was told once. */
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
    /** All rows as they are known now. */
    fleet: () => ({ ...around, nowMs: nowMs(), machines: rows.all() }),
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
    /** The row, or the one that is known if they are equal. */
    keep: rows.keep,
    /**
     * Takes in what was read, in slices, and tells what is new. Reads are taken in one after the
     * other; heartbeats and single machines meanwhile. When it is broken off, the next read takes
     * nothing for granted.
     * @returns whether the guard's rows, or what operators ask of it, are not what they were.
     * @throws the signal's reason.
     */
    async take(read: FleetRead, signal: AbortSignal): Promise<boolean> {
      const isDoubtful = isHalfTaken;
      isHalfTaken = true;
      const latest = read.rows.nowMs - clock.monotonic();
      // The clock was read when a scan began, which may be seconds ago.
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
     * Fresh rows of one machine, read since `beganAtMs` (monotonic). What is new is told as any other
     * news: whoever asked may be gone by now, and another actor has taken its place.
     */
    patch({ slot, machineId }: Job, reading: MachineReading, beganAtMs: number) {
      const known = facts.get(slot);
      if (!known) return null;
      rows.takeReading(machineId, reading, beganAtMs);
      const row = rows.get(machineId);
      facts.set(slot, { ...known, row });
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

/** Where each machine is. */
function* placesOf(facts: ReadonlyMap<Slot, SlotFacts>): Steps<Map<MachineId, Slot>> {
  const places = new Map<MachineId, Slot>();
  for (const { slot, row } of facts.values()) {
    yield;
    if (row) places.set(row.machineId, slot);
  }
  return places;
}
