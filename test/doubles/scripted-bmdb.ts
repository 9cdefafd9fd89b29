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

/** A read that was begun and not answered yet. */
export interface OpenRead<Rows> {
  readonly beganAtMs: number;
  /** Time and version of the answer, unless it says others: when the read began. */
  answer(rows?: Partial<Rows>): void;
  fail(error: Error): void;
}
export interface OpenChanges extends OpenRead<BmdbChanges> {
  readonly cursor: Cursor;
  /** The database cannot tell. */
  refuse(): void;
}

/** The BMDB as a reader sees it, answering when and what the test says. */
export interface ScriptedBmdb {
  readonly bmdb: Bmdb;
  readonly scans: OpenRead<BmdbSnapshot>[];
  readonly changes: OpenChanges[];
  /** How many scans, and asks for changes, were begun. */
  readonly begun: () => number;
  readonly asked: () => number;
  wake(wake?: Wake): void;
  /** What `readMachine` answers, now or later. */
  reading: MachineReading | Promise<MachineReading>;
}

export function scriptedBmdb(nowMs: () => number): ScriptedBmdb {
  const wakes$ = new Subject<Wake>();
  const scans: ScriptedBmdb['scans'] = [];
  const changes: ScriptedBmdb['changes'] = [];
  let begun = 0;
  let asked = 0;
  const unused = (name: string) => () => {
    throw new Error(`"${name}" is not scripted`);
  };
  const script: ScriptedBmdb = {
    scans,
    changes,
    begun: () => begun,
    asked: () => asked,
    wake: (wake = 'changed') => wakes$.next(wake),
    reading: { nowMs: nowMs(), version: nowMs(), row: null },
    bmdb: {
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
      openSession: unused('openSession'),
      sweep: unused('sweep'),
      heartbeats: { recordHeartbeats: unused('recordHeartbeats') },
      providerHolds: { impose: unused('impose'), lift: unused('lift') },
      records: { all: unused('all'), counts: unused('counts') },
      listings: {
        failed: unused('failed'),
        succeeded: unused('succeeded'),
        unlisted: unused('unlisted'),
      },
      requests: {
        file: unused('file'),
        fileBatch: unused('fileBatch'),
        readBatch: unused('readBatch'),
        read: unused('read'),
        list: unused('list'),
      },
      guard: { assess: unused('assess') },
      webhooks: {
        list: unused('list'),
        deliveries: unused('deliveries'),
        replay: unused('replay'),
        enable: unused('enable'),
      },
      events: {
        newest: unused('newest'),
        read: unused('read'),
        latest: unused('latest'),
        append: unused('append'),
        waitingMs: () => 0,
      },
      access: {
        tokens: {
          add: unused('add'),
          find: unused('find'),
          used: unused('used'),
          list: unused('list'),
          revoke: unused('revoke'),
        },
        sessions: {
          open: unused('open'),
          find: unused('find'),
          used: unused('used'),
          claimRenewal: unused('claimRenewal'),
          list: unused('list'),
          end: unused('end'),
        },
        codes: { add: unused('add'), redeem: unused('redeem') },
      },
      inspection: {
        statistics: unused('statistics'),
        schema: unused('schema'),
        machines: unused('machines'),
        hardware: unused('hardware'),
        history: unused('history'),
        events: unused('events'),
        slotHistory: unused('slotHistory'),
        sessions: unused('sessions'),
      },
      close: async () => undefined,
    },
  };
  return script;
}

const momentAt = (atMs: number): ReadingMoment => ({ nowMs: atMs, version: atMs });

/** Without a cursor every read is a scan. */
export const NOTHING_READ: Omit<BmdbSnapshot, keyof ReadingMoment> = {
  cursor: null,
  machines: [],
  intents: [],
  holds: [],
  penalties: [],
  providerHolds: [],
  leases: [],
  requests: [],
  guard: [],
  pools: [],
  sessions: [],
};
