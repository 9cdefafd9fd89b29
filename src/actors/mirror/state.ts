import type { Heard } from '../../adapters/agents/port.ts';
import type { BmdbSurroundings, MachineReading } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { assembleFacts, mergeListing, type KnownListing } from '../../domain/assemble.ts';
import { providerOf, type MachineId, type ProviderName } from '../../domain/ids.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { GuardRow, ProviderHoldRow, RequestRow, SlotFacts } from '../../domain/machine.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { viewOf, type MachineView } from '../../domain/view.ts';
import type { SlotNews } from '../../machines/fleet.ts';
import type { Job } from '../../machines/task.ts';
import {
  changedFacts,
  keepEqual,
  keepGuard,
  keepRequests,
  nothingOf,
  NOTHING_AROUND,
  sameButTimes,
  sameItems,
  sameListing,
  withRequests,
  withRow,
} from './facts.ts';
import type { FleetRead } from './reads.ts';
import { createMirrorRows } from './rows.ts';
import { createDueTimes, type DueTimes } from './due-times.ts';

export interface MirrorStateOptions {
  readonly loss: LossPolicy;
  /** Providers that this daemon can ask; machines of others are only shown. */
  readonly providers: { has(name: ProviderName): boolean };
  readonly clock: Clock;
  /**
   * Told of all facts after each read that changed something, and after each scan.
   * `changed`: slots that have another row than at the last time; absent: any slot may have.
   */
  readonly onFacts: (facts: ReadonlyMap<Slot, SlotFacts>, changed?: ReadonlySet<Slot>) => void;
  /** Told of every view that changed, heartbeats included. */
  readonly onView: (view: MachineView) => void;
  readonly onVanished: (slot: Slot) => void;
}

/** What a read brought. */
export interface Taken {
  readonly news: SlotNews[];
  /** The guard's rows, or what operators ask of it, are not what they were. */
  readonly isGuardNew: boolean;
}

export type MirrorState = ReturnType<typeof createMirrorState>;

/** Where the estimate of the database's clock leaps by so much, everything is derived anew. */
const LEAP_MS = 1_000;

const isGuards = ({ slotId }: RequestRow): boolean => slotId === null;

/** What is known, what follows from it, and what was told of it. */
export function createMirrorState(options: MirrorStateOptions) {
  const { clock, loss, providers, onFacts, onView, onVanished } = options;
  const rows = createMirrorRows(clock);
  const told = new Map<Slot, MachineView>();
  /** Slots whose actors are gone: the next ones must be told again what the last ones heard. */
  const untold = new Set<Slot>();
  /** Listings that came since the last read began: they count once rows were read after them. */
  const staged = new Map<ProviderName, KnownListing>();
  const listings = new Map<ProviderName, KnownListing>();
  const slotOfMachine = new Map<MachineId, Slot>();
  let isListingNew = false;
  let around = NOTHING_AROUND;
  let facts = new Map<Slot, SlotFacts>();
  let sessions: readonly SessionId[] = [];
  let providerHolds: readonly ProviderHoldRow[] = [];
  let guard: readonly GuardRow[] = [];
  let requests: readonly RequestRow[] = [];
  let offset = clock.now() - clock.monotonic();
  let readAt: number | null = null;
  let dueTimes: DueTimes<Slot> | undefined;
  let emitNews: (news: SlotNews[]) => void = () => undefined;
  const nowMs = () => clock.monotonic() + offset;
  const moment = () => ({ nowMs: nowMs(), loss, providers });

  /** Derives again; returns news if an actor should hear of it. */
  const derive = (slot: Slot): SlotNews | null => {
    const known = facts.get(slot);
    if (!known) return null;
    const view = viewOf(known, moment());
    const before = told.get(slot);
    told.set(slot, view);
    dueTimes?.set(slot, view.dueAtMs);
    if (before && !untold.delete(slot) && sameButTimes(before, view)) {
      if (before.lastHeartbeatAtMs !== view.lastHeartbeatAtMs) onView(view);
      return null;
    }
    onView(view);
    return { type: 'observed', view };
  };
  const deriveAll = (slots: Iterable<Slot>): SlotNews[] => {
    const news: SlotNews[] = [];
    for (const slot of slots) {
      const item = derive(slot);
      if (item) news.push(item);
    }
    return news;
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
    providerHolds = read.providerHolds;
    sessions = read.sessions
      .filter(({ component }) => component === 'shepherd')
      .map(({ sessionId }) => sessionId);
    return around !== before;
  };
  /** Rows that were read one by one since facts were told last. */
  const reread = new Set<Slot>();
  const tellFacts = (places?: readonly Slot[]) => {
    onFacts(facts, places && new Set([...places, ...reread]));
    reread.clear();
  };
  /** Takes over what only the guard is told; no facts rest on it. */
  const takeGuard = (read: BmdbSurroundings, before: readonly RequestRow[]): boolean => {
    const rowsBefore = guard;
    guard = keepGuard(guard, read.guard);
    return guard !== rowsBefore || !sameItems(before.filter(isGuards), requests.filter(isGuards));
  };
  const replaceRequests = (before: readonly RequestRow[]): Slot[] => {
    if (before === requests) return [];
    const changed = withRequests(facts, before, requests);
    for (const each of changed) facts.set(each.slot, each);
    return changed.map(({ slot }) => slot);
  };
  /** Puts rows in place where this concerns no other slot; null: assemble. */
  const replaceRows = (ids: ReadonlySet<MachineId>): Slot[] | null => {
    const changed: SlotFacts[] = [];
    for (const id of ids) {
      const patched = withRow(facts.get(slotOfMachine.get(id)!), rows.get(id));
      if (!patched) return null;
      changed.push(patched);
    }
    for (const each of changed) facts.set(each.slot, each);
    return changed.map(({ slot }) => slot);
  };
  const assemble = (): Slot[] => {
    const before = facts;
    facts = assembleFacts({ ...around, requests, machines: rows.all() }, listings);
    isListingNew = false;
    slotOfMachine.clear();
    for (const { slot, row } of facts.values()) if (row) slotOfMachine.set(row.machineId, slot);
    return changedFacts(before, facts);
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
    get sessions() {
      return sessions;
    },
    get providerHolds() {
      return providerHolds;
    },
    get guard() {
      return guard;
    },
    get requests() {
      return requests;
    },
    get readAt() {
      return readAt;
    },
    nowMs,
    start: (emit: (news: SlotNews[]) => void) => {
      emitNews = emit;
      for (const slot of told.keys()) untold.add(slot);
      dueTimes = createDueTimes<Slot>(clock, nowMs, (slots) => {
        const news = deriveAll(slots);
        if (news.length > 0) emit(news);
      });
      return () => {
        dueTimes?.stop();
        emitNews = () => undefined;
      };
    },
    /** Takes in what was read; answers what changed. */
    take(read: FleetRead): Taken {
      const leapMs = Math.abs(read.rows.nowMs - nowMs());
      offset = read.rows.nowMs - clock.monotonic();
      readAt = clock.monotonic();
      const isAroundNew = takeAround(read.rows);
      const requestsBefore = requests;
      requests = keepRequests(requests, read.rows.requests);
      const isGuardNew = takeGuard(read.rows, requestsBefore);
      const ids =
        read.kind === 'scan'
          ? rows.takeScan(read.rows, read.beganAtMs)
          : rows.takeChanges(read.rows, read.beganAtMs);
      const places = isAroundNew || isListingNew ? null : replaceRows(ids);
      const changed = places ? [...places, ...replaceRequests(requestsBefore)] : assemble();
      const isEverythingDue = leapMs > LEAP_MS || untold.size > 0;
      const news = deriveAll(isEverythingDue ? facts.keys() : new Set(changed));
      if (!places) {
        for (const slot of told.keys()) if (!facts.has(slot)) news.push(...vanish(slot));
      }
      if (!places) tellFacts();
      else if (read.kind === 'scan' || places.length > 0) tellFacts(places);
      return { news, isGuardNew };
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
      const news = derive(slot);
      if (news) emitNews([news]);
      return told.get(slot) ?? null;
    },
    hear({ machineId, atMs, bootId }: Heard): SlotNews[] {
      const known = facts.get(slotOfMachine.get(machineId)!);
      if (!known?.row || !rows.takeHeartbeat(machineId, { atMs, bootId })) return [];
      facts.set(known.slot, { ...known, row: rows.get(machineId) });
      const news = derive(known.slot);
      return news ? [news] : [];
    },
  };
}
