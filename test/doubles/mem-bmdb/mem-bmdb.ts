import { Cancelled } from '../../../src/domain/errors.ts';
import { createAccessBook } from './access.ts';
import { createWebhookBook } from './webhooks.ts';
import { createEventBook } from './events.ts';
import { createGuardBook } from './guard.ts';
import { createHeartbeats } from './heartbeats.ts';
import { createInspection } from './inspection.ts';
import { createListingBook } from './listings.ts';
import { createRecordShelf } from './provider-records.ts';
import { createProviderHolds } from './provider-holds.ts';
import { createRequests } from './requests.ts';
import { rowOf } from './rows.ts';
import { openSession } from './session.ts';
import { moment, readChanges, readSnapshot } from './snapshot.ts';
import { sweep } from './sweep.ts';
import { createMemory, requireReachable } from './tables.ts';
import type { MemBmdbOptions, Memory } from './tables.ts';
import { plainBook } from './plain.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';

/** The rows lie open, for tests to set up and to look at. */
export interface MemBmdb extends Bmdb {
  readonly tables: Memory;
}

/** The BMDB in memory, over the given clock: for simulation in virtual time. */
export function createMemBmdb(options: MemBmdbOptions): MemBmdb {
  const memory = createMemory(options);
  return {
    tables: memory,
    openSession: async (session) => {
      requireReachable(memory);
      return openSession(memory, session);
    },
    scan: async (signal) => {
      beginRead(memory, signal);
      return readSnapshot(memory);
    },
    changesSince: async (cursor, signal) => {
      beginRead(memory, signal);
      return readChanges(memory, cursor);
    },
    readMachine: async (id, signal) => {
      beginRead(memory, signal);
      const machine = memory.machines.get(id);
      return { ...moment(memory), row: machine ? rowOf(memory, machine) : null };
    },
    sweep: async () => {
      requireReachable(memory);
      return sweep(memory);
    },
    wakes$: memory.wakes$.asObservable(),
    heartbeats: createHeartbeats(memory),
    providerHolds: plainBook(createProviderHolds(memory)),
    listings: plainBook(createListingBook(memory, (signal) => beginRead(memory, signal))),
    records: createRecordShelf(memory, (signal) => beginRead(memory, signal)),
    requests: createRequests(memory, (signal) => beginRead(memory, signal)),
    guard: createGuardBook(memory),
    events: plainBook(createEventBook(memory, (signal) => beginRead(memory, signal))),
    webhooks: createWebhookBook(memory, (signal) => beginRead(memory, signal)),
    access: createAccessBook(memory, (signal) => beginRead(memory, signal)),
    inspection: createInspection(memory, (signal) => beginRead(memory, signal)),
    close: async () => memory.wakes$.complete(),
  };
}

function beginRead(memory: Memory, signal: AbortSignal): void {
  if (signal.aborted) throw new Cancelled('did not read: stopped', { cause: signal.reason });
  requireReachable(memory);
}
