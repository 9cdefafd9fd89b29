import { Subject } from 'rxjs';
import type { Bmdb, BmdbSnapshot, MachineReading } from '../../src/adapters/bmdb/port.ts';

/** The BMDB as a reader sees it, answering when and what the test says. */
export interface ScriptedBmdb {
  readonly bmdb: Bmdb;
  /** Scans begun and not answered yet. */
  readonly scans: { answer(rows?: Partial<BmdbSnapshot>): void; fail(error: Error): void }[];
  readonly begun: () => number;
  wake(): void;
  /** What `readMachine` answers. */
  reading: MachineReading;
}

export function scriptedBmdb(nowMs: () => number): ScriptedBmdb {
  const wakes$ = new Subject<void>();
  const scans: ScriptedBmdb['scans'] = [];
  let begun = 0;
  const unused = (name: string) => () => {
    throw new Error(`"${name}" is not scripted`);
  };
  const script: ScriptedBmdb = {
    scans,
    begun: () => begun,
    wake: () => wakes$.next(),
    reading: { nowMs: nowMs(), row: null },
    bmdb: {
      wakes$,
      scan: (signal) => {
        begun += 1;
        const readAtMs = nowMs();
        return new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          scans.push({
            answer: (rows = {}) => resolve({ ...EMPTY, nowMs: readAtMs, ...rows }),
            fail: reject,
          });
        });
      },
      readMachine: async () => script.reading,
      openSession: unused('openSession'),
      sweep: unused('sweep'),
      heartbeats: { recordHeartbeats: unused('recordHeartbeats') },
      close: async () => undefined,
    },
  };
  return script;
}

const EMPTY: Omit<BmdbSnapshot, 'nowMs'> = {
  machines: [],
  intents: [],
  holds: [],
  penalties: [],
  sessions: [],
};
