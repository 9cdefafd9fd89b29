import type {
  BmdbChanges,
  BmdbSnapshot,
  BmdbSurroundings,
  MachineReading,
} from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { requestsBySlot, type KnownListing } from '../../domain/assemble.ts';
import type { MachineId, ProviderName, SessionId, Slot } from '../../domain/ids.ts';
import type {
  GuardRow,
  LiveWork,
  MachineRow,
  ProviderMachine,
  RequestRow,
  SlotFacts,
} from '../../domain/machine.ts';
import { TRAIT_NAMES } from '../../domain/traits.ts';
import type { MachineView } from '../../domain/view.ts';
import { sameData } from '../../lib/data.ts';
import type { InterruptibleWork } from '../../lib/steps.ts';

/**
 * The newest row of each machine from any read. An equal row keeps its object. Each read comes with
 * its start, on the clock of `createMirrorRows`.
 */
interface MirrorRows {
  all(): MachineRow[];
  get(id: MachineId): MachineRow | null;
  /** Returns the known row if it equals this one, else this row. */
  keep(row: MachineRow): MachineRow;
  /** Machines whose row object changed; other reads may be taken in meanwhile. */
  takeScan(snapshot: BmdbSnapshot, beganAtMs: number): InterruptibleWork<Set<MachineId>>;
  takeChanges(changes: BmdbChanges, beganAtMs: number): Set<MachineId>;
  takeReading(id: MachineId, reading: MachineReading, beganAtMs: number): void;
  /** False: the heartbeat is not new. */
  takeHeartbeat(id: MachineId, heartbeat: NonNullable<MachineRow['heartbeat']>): boolean;
}

interface RowEntry {
  /** Null: the machine's row is gone. */
  row: MachineRow | null;
  /** The read that produced the row. */
  read: RowRead;
}
/** A read that was taken in. */
interface RowRead {
  readonly version: number;
  readonly beganAtMs: number;
  readonly takenAtMs: number;
}

/**
 * Overlapping reads: a read that saw less undoes neither a newer read nor a newer heartbeat. A read
 * that began after another was taken in is newer whatever the versions say, because the database
 * may be a different one.
 */
export function createMirrorRows(clock: Pick<Clock, 'monotonic'>): MirrorRows {
  const entries = new Map<MachineId, RowEntry>();
  /** Machines with work: a dead session may concern them. */
  const busy = new Set<MachineId>();

  const readOf = (version: number, beganAtMs: number): RowRead => ({
    version,
    beganAtMs,
    takenAtMs: clock.monotonic(),
  });
  /** Machines without an entry: absent, as of the last scan. */
  let absent: RowEntry = {
    row: null,
    read: { ...readOf(-Infinity, -Infinity), takenAtMs: -Infinity },
  };

  const write = (id: MachineId, row: MachineRow | null, read: RowRead) => {
    const known = entries.get(id);
    if (known) Object.assign(known, { row, read });
    else entries.set(id, { row, read });
    if (row && row.work.length > 0) busy.add(id);
    else busy.delete(id);
  };
  /** True if the row changed. */
  const put = (id: MachineId, row: MachineRow | null, read: RowRead): boolean => {
    const known = entries.get(id) ?? absent;
    if (isNewer(known, read)) return false;
    const before = known.row;
    const merged = row && withNewest(row, before);
    const isSame = sameData(merged, before);
    write(id, isSame ? before : merged, read);
    return !isSame;
  };
  /** The end of a session does not change its machines' rows, so no change reports it. */
  const dropDead = ({ sessions }: BmdbSurroundings, read: RowRead, changed: Set<MachineId>) => {
    const alive = new Set(sessions.map(({ sessionId }) => sessionId));
    for (const id of busy) {
      const known = entries.get(id)!;
      const { row } = known;
      // A session opened after the read is not dead.
      if (!row || isNewer(known, read)) continue;
      const work = row.work.filter(isAlive(alive));
      if (work.length === row.work.length) continue;
      write(id, { ...row, work }, read);
      changed.add(id);
    }
  };

  return {
    all() {
      const rows: MachineRow[] = [];
      for (const { row } of entries.values()) if (row) rows.push(row);
      return rows;
    },
    get: (id) => entries.get(id)?.row ?? null,
    keep(row) {
      const before = entries.get(row.machineId)?.row ?? null;
      return before && sameData(withNewest(row, before), before) ? before : row;
    },
    *takeScan(snapshot, beganAtMs) {
      const read = readOf(snapshot.version, beganAtMs);
      const changed = new Set<MachineId>();
      const there = new Set<MachineId>();
      for (const row of snapshot.machines) {
        yield;
        there.add(row.machineId);
        if (put(row.machineId, row, read)) changed.add(row.machineId);
      }
      for (const [id, known] of entries) {
        yield;
        if (there.has(id) || isNewer(known, read)) continue;
        entries.delete(id);
        busy.delete(id);
        if (known.row) changed.add(id);
      }
      if (!isNewer(absent, read)) absent = { row: null, read };
      dropDead(snapshot, read, changed);
      return changed;
    },
    takeChanges(changes, beganAtMs) {
      const read = readOf(changes.version, beganAtMs);
      const changed = new Set<MachineId>();
      for (const row of changes.machines) {
        if (put(row.machineId, row, read)) changed.add(row.machineId);
      }
      for (const id of changes.gone) if (put(id, null, read)) changed.add(id);
      dropDead(changes, read, changed);
      return changed;
    },
    takeReading(id, { row, version }, beganAtMs) {
      put(id, row, readOf(version, beganAtMs));
    },
    takeHeartbeat(id, heartbeat) {
      const known = entries.get(id);
      if (!known?.row || (known.row.heartbeat?.atMs ?? 0) >= heartbeat.atMs) return false;
      known.row = { ...known.row, heartbeat };
      return true;
    },
  };
}

const isNewer = ({ read: known }: RowEntry, read: RowRead): boolean =>
  known.takenAtMs >= read.beganAtMs && known.version > read.version;

const isAlive =
  (sessions: ReadonlySet<SessionId>) =>
  ({ sessionId }: LiveWork): boolean =>
    sessions.has(sessionId);

/** A newer heartbeat counts, unless the agent was started again since. */
function withNewest(row: MachineRow, before: MachineRow | null): MachineRow {
  const heard = before?.heartbeat;
  const counts = heard && row.agentStarted && heard.atMs >= row.agentStarted.atMs;
  return counts && heard.atMs > (row.heartbeat?.atMs ?? 0) ? { ...row, heartbeat: heard } : row;
}

/** Slots whose facts changed. */
export function* changedFacts(
  before: ReadonlyMap<Slot, SlotFacts>,
  after: ReadonlyMap<Slot, SlotFacts>,
): InterruptibleWork<Slot[]> {
  const changed: Slot[] = [];
  for (const [slot, facts] of after) {
    yield;
    const known = before.get(slot);
    if (!known || !sameFacts(known, facts)) changed.push(slot);
  }
  return changed;
}

/** Rows, intents and similar values keep their objects while equal; devices do not. */
const sameFacts = (a: SlotFacts, b: SlotFacts): boolean =>
  a.row === b.row &&
  a.intent === b.intent &&
  a.penalty === b.penalty &&
  a.conflict === b.conflict &&
  a.listingComplete === b.listingComplete &&
  sameDevice(a.listed, b.listed) &&
  sameItems(a.holds, b.holds) &&
  sameItems(a.conditions, b.conditions) &&
  sameItems(a.requests, b.requests);

/** Whether both hold the same objects. */
export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, at) => item === b[at]);

/** Whether a listing differs only in the time of observation. */
export const sameListing = (a: KnownListing | undefined, b: KnownListing): boolean =>
  a !== undefined &&
  a.complete === b.complete &&
  sameData(a.unreadable ?? [], b.unreadable ?? []) &&
  a.machines.length === b.machines.length &&
  a.machines.every((machine, at) => sameDevice(machine, b.machines[at]!));

/** The time of observation is no part of a device. */
const sameDevice = (a: ProviderMachine | null, b: ProviderMachine | null): boolean =>
  a === b || (a !== null && b !== null && sameData({ ...a, observedAtMs: b.observedAtMs }, b));

/**
 * The facts with a newer row of the same machine; null: other slots may be affected, so that all
 * facts must be assembled again.
 */
export function withRow(facts: SlotFacts | undefined, row: MachineRow | null): SlotFacts | null {
  const before = facts?.row;
  if (!facts || !before || !row || before.machineId !== row.machineId) return null;
  const [was, is] = [before.provided, row.provided];
  const isSamePlace =
    was?.provider === is?.provider &&
    was?.providerId === is?.providerId &&
    was?.reservationId === is?.reservationId;
  return isSamePlace && before.unreadable === row.unreadable ? { ...facts, row } : null;
}

/** The values that are read completely each time and affect facts. */
export type Around = Pick<BmdbSurroundings, 'intents' | 'holds' | 'penalties' | 'conditions'>;
export const NOTHING_AROUND: Around = { intents: [], holds: [], penalties: [], conditions: [] };

/** Returns `after`, with the old objects of equal entries; returns `before` if nothing changed. */
export function keepEqual(before: Around, after: Around): Around {
  const intents = keep(before.intents, after.intents, ({ witness }) => witness);
  const holds = keep(before.holds, after.holds, (hold) =>
    [hold.provider, hold.slotId, hold.kind, hold.setBy].join(' '),
  );
  const penalties = keep(before.penalties, after.penalties, ({ provider, slotId }) =>
    [provider, slotId].join(' '),
  );
  const conditions = keep(before.conditions, after.conditions, (each) =>
    [each.provider, each.slotId, each.type, each.source].join(' '),
  );
  const isSame =
    intents === before.intents &&
    holds === before.holds &&
    penalties === before.penalties &&
    conditions === before.conditions;
  return isSame ? before : { intents, holds, penalties, conditions };
}

/** The same for guard rows. */
export const keepGuard = (before: readonly GuardRow[], after: readonly GuardRow[]) =>
  keep(before, after, ({ scope }) => scope);

/** The same for operators' requests, which are part of a slot's facts. */
export const keepRequests = (before: readonly RequestRow[], after: readonly RequestRow[]) =>
  keep(before, after, ({ key }) => key);

/** Facts of slots whose requests changed. */
export function withRequests(
  facts: ReadonlyMap<Slot, SlotFacts>,
  before: readonly RequestRow[],
  after: readonly RequestRow[],
): SlotFacts[] {
  const now = requestsBySlot(after);
  const slots = new Set([...requestsBySlot(before).keys(), ...now.keys()]);
  return [...slots].flatMap((slot) => {
    const known = facts.get(slot);
    const requests = now.get(slot) ?? [];
    return known && !sameItems(known.requests, requests) ? [{ ...known, requests }] : [];
  });
}

function keep<T>(before: readonly T[], after: readonly T[], keyOf: (item: T) => string) {
  const known = new Map(before.map((item) => [keyOf(item), item]));
  const kept = after.map((item) => {
    const same = known.get(keyOf(item));
    return same !== undefined && sameData(same, item) ? same : item;
  });
  const olds = new Set(before);
  const isSame = kept.length === before.length && kept.every((item) => olds.has(item));
  return isSame ? before : kept;
}

/** Facts of a slot without any reference. */
export const nothingOf = (
  slot: Slot,
  provider: ProviderName,
  listingComplete: boolean,
): SlotFacts => ({
  slot,
  provider,
  listed: null,
  listingComplete,
  row: null,
  intent: null,
  holds: [],
  penalty: null,
  conditions: [],
  requests: [],
  conflict: null,
});

/** Whether two views differ only in heartbeat and due times. */
export const sameButTimes = (a: MachineView, b: MachineView): boolean =>
  a.state === b.state &&
  a.substate === b.substate &&
  a.next === b.next &&
  a.request === b.request &&
  a.reason === b.reason &&
  a.endedBy === b.endedBy &&
  a.needsHuman === b.needsHuman &&
  a.machineId === b.machineId &&
  a.providerId === b.providerId &&
  a.address === b.address &&
  a.conditions === b.conditions &&
  TRAIT_NAMES.every((name) => a[name] === b[name]) &&
  a.holds.length === b.holds.length &&
  a.holds.every((hold, at) => hold === b.holds[at]);
