import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isNotFound } from '../../http/errors.ts';
import type { Routes } from './client/routes.ts';
import type { UserData } from './client/schema.ts';
import { claimOf, type Mark, readRecord } from './record.ts';

/** A user-data record that claims a machine for a set, ours or another. */
export interface StoredRecord extends Pick<Mark, 'set' | 'hostname' | 'witness'> {
  readonly id: string;
  /** Null: its content cannot be read or contradicts its description, so it is no mark. */
  readonly mark: Mark | null;
  /**
   * When it was written last, epoch milliseconds: as it says itself or the API says, but not after it was first
   * seen so by this process. So one that tells no time, or one that has not come yet, grows old, too.
   */
  readonly writtenAtMs: number;
}

/** The records of the project, or of one name in it. */
export interface RecordTable {
  of(hostname: string): readonly StoredRecord[];
  readonly all: readonly StoredRecord[];
  /** False: there may be more, or some that cannot be read; then nothing follows from absence. */
  readonly complete: boolean;
}

export interface StoredRecords {
  /** All of them, read anew. */
  read(call: Call): Promise<RecordTable>;
  /**
   * Those of one name. If the newest reading of all showed exactly one, only that one is read again, for
   * a project has as many records as machines.
   */
  of(call: Call, hostname: string): Promise<RecordTable>;
  /** It is not what it was when it was read. */
  forget(hostname: string): void;
}

export function createStoredRecords(
  routes: Routes,
  { clock }: { readonly clock: Pick<Clock, 'now'> },
): StoredRecords {
  let known = new Map<string, readonly string[]>();
  /** Epoch milliseconds, by record and the time that it tells. */
  let firstSeen = new Map<string, number>();

  /** @param seen what is kept of the times. */
  function storedOf(data: UserData, seen: Map<string, number>): StoredRecord | null {
    const claim = claimOf(data.description);
    if (!claim) return null;
    const mark = readRecord(data);
    const toldMs = mark?.t ?? timeOf(data.created_at);
    const key = `${data.id} ${toldMs}`;
    const seenAtMs = firstSeen.get(key) ?? clock.now();
    seen.set(key, seenAtMs);
    return { ...claim, id: data.id, mark, writtenAtMs: Math.min(toldMs, seenAtMs) };
  }

  async function read(call: Call): Promise<RecordTable> {
    const { items, unread, complete } = await routes.listUserData(call);
    const seen = new Map<string, number>();
    const all = items.flatMap((item) => storedOf(item, seen) ?? []);
    // What a listing with gaps left out is not forgotten.
    firstSeen = complete ? seen : new Map([...firstSeen, ...seen]);
    const byName = Map.groupBy(all, ({ hostname }) => hostname);
    const ids = (records: readonly StoredRecord[]) => records.map(({ id }) => id);
    known = new Map([...byName].map(([name, records]) => [name, ids(records)]));
    return {
      all,
      of: (hostname) => byName.get(hostname.toLowerCase()) ?? [],
      complete: complete && unread.length === 0,
    };
  }

  return {
    read,
    async of(call, hostname) {
      const ids = known.get(hostname.toLowerCase()) ?? [];
      if (ids.length !== 1) return read(call);
      const found = await routes.getUserData(call, ids[0]!).catch(nullIfGone);
      const stored = found && storedOf(found, firstSeen);
      if (stored?.hostname !== hostname.toLowerCase()) return read(call);
      return { all: [stored], of: () => [stored], complete: true };
    },
    forget: (hostname) => void known.delete(hostname.toLowerCase()),
  };
}

const nullIfGone = (error: unknown): null => {
  if (isNotFound(error)) return null;
  throw error;
};

/** Infinity: it is none. */
function timeOf(text = ''): number {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? Infinity : atMs;
}
