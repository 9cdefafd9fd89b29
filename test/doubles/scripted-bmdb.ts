import { Subject } from 'rxjs';
import type {
  Bmdb,
  BmdbChanges,
  BmdbSnapshot,
  MachineReading,
  ReadingMoment,
  Wake,
} from '../../src/adapters/bmdb/port.ts';
import type { Cursor } from '../../src/domain/ids.ts';

/** A started read without an answer yet. */
export interface OpenRead<Rows> {
  readonly beganAtMs: number;
  /** The answer's time and version default to the start of the read. */
  answer(rows?: Partial<Rows>): void;
  fail(error: Error): void;
}
export interface OpenChanges extends OpenRead<BmdbChanges> {
  readonly cursor: Cursor;
  /** The database cannot answer. */
  refuse(): void;
}

/** The BMDB for readers, with the test's answers at the test's times. */
export interface ScriptedBmdb {
  readonly bmdb: Bmdb;
  readonly scans: OpenRead<BmdbSnapshot>[];
  readonly changes: OpenChanges[];
  /** Number of started scans, and of started reads of changes. */
  readonly begun: () => number;
  readonly asked: () => number;
  wake(wake?: Wake): void;
  /** The answer of `readMachine`, now or later. */
  reading: MachineReading | Promise<MachineReading>;
}

export function scriptedBmdb(nowMs: () => number): ScriptedBmdb {
  const wakes$ = new Subject<Wake>();
  const scans: ScriptedBmdb['scans'] = [];
  const changes: ScriptedBmdb['changes'] = [];
  let begun = 0;
  let asked = 0;
  const script: ScriptedBmdb = {
    scans,
    changes,
    begun: () => begun,
    asked: () => asked,
    wake: (wake = 'changed') => wakes$.next(wake),
    reading: { nowMs: nowMs(), version: nowMs(), row: null },
    bmdb: unscripted<Bmdb>({
      wakes$,
      scan: (signal) => {
        begun += 1;
        const beganAtMs = nowMs();
        return new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          scans.push({
            beganAtMs,
            answer: (rows = {}) => resolve({ ...NOTHING_READ, ...momentAt(beganAtMs), ...rows }),
            fail: reject,
          });
        });
      },
      changesSince: (cursor, signal) => {
        asked += 1;
        const beganAtMs = nowMs();
        return new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          changes.push({
            beganAtMs,
            cursor,
            answer: (rows = {}) =>
              resolve({ ...NOTHING_READ, gone: [], ...momentAt(beganAtMs), ...rows }),
            fail: reject,
            refuse: () => resolve(null),
          });
        });
      },
      readMachine: async () => script.reading,
      events: unscripted<Bmdb['events']>({ waitingMs: () => 0 }),
      close: async () => undefined,
    }),
  };
  return script;
}

/** Calls of missing methods throw, as do calls of their nested methods. */
const unscripted = <Port extends object>(given: Partial<Port>): Port =>
  new Proxy(given, {
    get: (target, key) => (key in target ? Reflect.get(target, key) : missing(key)),
  }) as Port;

const missing = (name: string | symbol): unknown => {
  // A caller that reads `then` checks for a promise.
  if (name === 'then') return undefined;
  const call = () => {
    throw new Error(`"${String(name)}" is not scripted`);
  };
  return new Proxy(call, { get: (_, key) => missing(key) });
};

const momentAt = (atMs: number): ReadingMoment => ({ nowMs: atMs, version: atMs });

/** Without a cursor every read is a scan. */
export const NOTHING_READ: Omit<BmdbSnapshot, keyof ReadingMoment> = {
  cursor: null,
  machines: [],
  intents: [],
  holds: [],
  penalties: [],
  replacements: [],
  conditions: [],
  providerHolds: [],
  leases: [],
  requests: [],
  guard: [],
  pools: [],
  sessions: [],
};
