import { Cancelled } from '../../../src/domain/errors.ts';
import { createAccessRepository } from './access.ts';
import { createWebhookRepository } from './webhooks.ts';
import { createAcceptanceRepository } from './acceptances.ts';
import { createCaseRepository } from './cases.ts';
import { createConditionRepository } from './conditions.ts';
import { createEventRepository } from './events.ts';
import { createGuardRepository } from './guard.ts';
import { createHeartbeats } from './heartbeats.ts';
import { createInspection } from './inspection.ts';
import { createListingRepository } from './listings.ts';
import { createRecordStore } from './provider-records.ts';
import { createProviderHolds } from './provider-holds.ts';
import { createRolls } from './rolls.ts';
import { createRequests } from './requests.ts';
import { rowOf } from './rows.ts';
import { openSession } from './session.ts';
import { moment, readChanges, readSnapshot } from './snapshot.ts';
import { sweep } from './sweep.ts';
import { createMemory, requireReachable } from './tables.ts';
import type { MemBmdbOptions, Memory } from './tables.ts';
import { behind, plainRepository } from './plain.ts';
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
  const events = createEventRepository(memory);
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
    providerHolds: behind(check, plainRepository(createProviderHolds(memory))),
    listings: behind(check, plainRepository(createListingRepository(memory))),
    records: behind(check, createRecordStore(memory)),
    conditions: behind(check, createConditionRepository(memory)),
    cases: behind(check, createCaseRepository(memory)),
    requests: behind(check, createRequests(memory)),
    rolls: behind(check, createRolls(memory)),
    guard: behind(check, createGuardRepository(memory)),
    events: { ...behind(check, plainRepository(events)), waitingMs: events.waitingMs },
    acceptances: behind(check, createAcceptanceRepository(memory)),
    webhooks: behind(check, createWebhookRepository(memory)),
    access: behind(check, createAccessRepository(memory)),
    inspection: behind(check, createInspection(memory)),
    close: async () => memory.wakes$.complete(),
  };
}
