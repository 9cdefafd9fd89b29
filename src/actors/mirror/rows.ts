import type {
  BmdbChanges,
  BmdbSnapshot,
  BmdbSurroundings,
  MachineReading,
} from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { MachineId, SessionId } from '../../domain/ids.ts';
import type { LiveWork, MachineRow } from '../../domain/machine.ts';
import { sameData } from '../../lib/data.ts';
import type { Steps } from '../../lib/steps.ts';

/**
 * The newest row of each machine, wherever it was read. An equal row keeps its old object. All reads
 * are given with when they began, by the clock of `createMirrorRows`.
 */
export interface MirrorRows {
  all(): MachineRow[];
  get(id: MachineId): MachineRow | null;
  /** The row, or the one that is known already if they are equal. */
  keep(row: MachineRow): MachineRow;
  /** Machines whose row is another object than before; other reads may be taken in meanwhile. */
  takeScan(snapshot: BmdbSnapshot, beganAtMs: number): Steps<Set<MachineId>>;
  takeChanges(changes: BmdbChanges, beganAtMs: number): Set<MachineId>;
  takeReading(id: MachineId, reading: MachineReading, beganAtMs: number): void;
  /** False: the read tells nothing new. */
  takeHeartbeat(id: MachineId, heartbeat: NonNullable<MachineRow['heartbeat']>): boolean;
}

interface Entry {
  /** Null: the machine has no row any more. */
  row: MachineRow | null;
  /** The read that the row is from. */
  read: Read;
}
/** A read that is taken in. */
interface Read {
  readonly version: number;
  readonly beganAtMs: number;
  readonly takenAtMs: number;
}

/**
 * Reads overlap: what saw less does not undo what saw more, nor a heartbeat that was heard since.
 * A read that began after another was taken in is newer, whatever their versions say: the database
 * may be another one by now.
 */
export function createMirrorRows(clock: Pick<Clock, 'monotonic'>): MirrorRows {
  const entries = new Map<MachineId, Entry>();
  /** Machines that somebody works on: those a dead session may concern. */
  const busy = new Set<MachineId>();

  const readOf = (version: number, beganAtMs: number): Read => ({
    version,
    beganAtMs,
    takenAtMs: clock.monotonic(),
  });
  /** What is known of all others, since the last scan: that there are none. */
  let absent: Entry = {
    row: null,
    read: { ...readOf(-Infinity, -Infinity), takenAtMs: -Infinity },
  };

  const write = (id: MachineId, row: MachineRow | null, read: Read) => {
    const known = entries.get(id);
    if (known) Object.assign(known, { row, read });
    else entries.set(id, { row, read });
    if (row && row.work.length > 0) busy.add(id);
    else busy.delete(id);
  };
  /** True when the row is another one than before. */
  const put = (id: MachineId, row: MachineRow | null, read: Read): boolean => {
    const known = entries.get(id) ?? absent;
    if (isNewer(known, read)) return false;
    const before = known.row;
    const merged = row && withNewest(row, before);
    const isSame = sameData(merged, before);
    write(id, isSame ? before : merged, read);
    return !isSame;
  };
  /** Their machines' rows do not change when sessions die, and that is no change to be told of. */
  const dropDead = ({ sessions }: BmdbSurroundings, read: Read, changed: Set<MachineId>) => {
    const alive = new Set(sessions.map(({ sessionId }) => sessionId));
    for (const id of busy) {
      const known = entries.get(id)!;
      const { row } = known;
      // A session that was opened after the read is not dead.
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

const isNewer = ({ read: known }: Entry, read: Read): boolean =>
  known.takenAtMs >= read.beganAtMs && known.version > read.version;

const isAlive =
  (sessions: ReadonlySet<SessionId>) =>
  ({ sessionId }: LiveWork): boolean =>
    sessions.has(sessionId);

/** A heartbeat that was heard counts, unless the agent was started anew since. */
function withNewest(row: MachineRow, before: MachineRow | null): MachineRow {
  const heard = before?.heartbeat;
  const counts = heard && row.agentStarted && heard.atMs >= row.agentStarted.atMs;
  return counts && heard.atMs > (row.heartbeat?.atMs ?? 0) ? { ...row, heartbeat: heard } : row;
}
