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
import { behind, plainBook } from './plain.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';

/** Tests may prepare and read the rows. */
export interface MemBmdb extends Bmdb {
  readonly tables: Memory;
}

/** The in-memory BMDB on the given clock, for simulation in virtual time. */
export function createMemBmdb(options: MemBmdbOptions): MemBmdb {
  const memory = createMemory(options);
  const check = (signal?: AbortSignal) => {
    if (signal?.aborted) throw new Cancelled('did not read: stopped', { cause: signal.reason });
    requireReachable(memory);
  };
  const events = createEventBook(memory);
  const calls: Pick<Bmdb, 'openSession' | 'scan' | 'changesSince' | 'readMachine' | 'sweep'> = {
    openSession: async (session) => openSession(memory, session),
    scan: async () => readSnapshot(memory),
    changesSince: async (cursor) => readChanges(memory, cursor),
    readMachine: async (id) => {
      const machine = memory.machines.get(id);
      return { ...moment(memory), row: machine ? rowOf(memory, machine) : null };
    },
    sweep: async () => sweep(memory),
  };
  return {
    tables: memory,
    ...behind(check, calls),
    wakes$: memory.wakes$.asObservable(),
    heartbeats: behind(check, createHeartbeats(memory)),
    providerHolds: behind(check, plainBook(createProviderHolds(memory))),
    listings: behind(check, plainBook(createListingBook(memory))),
    records: behind(check, createRecordShelf(memory)),
    requests: behind(check, createRequests(memory)),
    guard: behind(check, createGuardBook(memory)),
    events: { ...behind(check, plainBook(events)), waitingMs: events.waitingMs },
    webhooks: behind(check, createWebhookBook(memory)),
    access: behind(check, createAccessBook(memory)),
    inspection: behind(check, createInspection(memory)),
    close: async () => memory.wakes$.complete(),
  };
}
