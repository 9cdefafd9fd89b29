import { Subject } from 'rxjs';
import type { AcceptancePolicies } from '../../../domain/acceptance.ts';
import { BACKOFF_JITTER } from '../../../domain/backoff.ts';
import type { MachineId } from '../../../domain/ids.ts';
import type { LossPolicy, RecoveryBudget } from '../../../domain/policy.ts';
import { DEFAULT_GUARD } from '../../../domain/recovery/guard-judgement.ts';
import type { GuardPolicy } from '../../../domain/recovery/guard-judgement.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import { silentMetrics, type Metrics } from '../../metrics/port.ts';
import { createAccessRepository } from './access/login-codes.ts';
import { createBatches } from './batches.ts';
import { createAcceptanceRepository } from './recovery/acceptances.ts';
import { createCaseRepository } from './cases/repository.ts';
import { createConditionRepository } from './conditions/repository.ts';
import { readChanges, statements as changes } from './reading/changes.ts';
import { createWebhookRepository } from './events/webhooks.ts';
import { createEventRepository } from './events/read.ts';
import { createGuardRepository } from './guard/guard-repository.ts';
import { createHeartbeats } from './heartbeats/heartbeats.ts';
import { createInspection } from './reading/inspection.ts';
import type { PgContext } from './live.ts';
import { createListingRepository } from './provisioning/listings.ts';
import { createDatabase, SNAPSHOT, throwIfAborted } from './pool.ts';
import { createRecordStore } from './records/records.ts';
import { createProviderHolds } from './provisioning/provider-holds.ts';
import { createRolls } from './people/rolls.ts';
import { createRequests } from './requests/requests.ts';
import { readNow, readSnapshot } from './reading/rows.ts';
import { openSession } from './session.ts';
import { sweep } from './sweep.ts';
import { createWakes } from './wake-signals.ts';
import type { WakesMode } from './wake-signals.ts';
import type { Bmdb, MachineReading } from '../port.ts';

export interface PgBmdbOptions {
  /** `postgresql://user:password@host:port/database`. The schema must be up to date. */
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  readonly guard?: GuardPolicy;
  /** Default: no provider has a profile. */
  readonly acceptance?: AcceptancePolicies;
  /** Maximum share by which backoffs are lengthened at random (0.1). */
  readonly jitter?: number;
  /**
   * Connections for work (10), half of them for batches that are one statement. In addition up to
   * three for liveness, two for heartbeats and one for wakes.
   */
  readonly poolMax?: number;
  /** Whether to listen for wakes (`listen`), which needs a connection of its own. */
  readonly wakes?: WakesMode;
  /** Limit for a statement, and for the pause between two (4 s). Below the session interval. */
  readonly timeoutMs?: number;
  /** How long batches of work, heartbeats and the end of a session wait for a lock (an eighth of it). */
  readonly lockTimeoutMs?: number;
  /**
   * Limit for one poke of a session (1.5 s). Must be well below the session interval, so that a
   * second attempt fits in.
   */
  readonly pulseTimeoutMs?: number;
}

/** A hanging poke must not block the next ones. */
const PULSE = { poolMax: 3 };
/** Heartbeats must get through whatever else is going on. */
const BEATS = { poolMax: 2, byKeys: true };

/** Creates the BMDB on PostgreSQL 15 or later. Connects on first use. */
export function createPgBmdb(options: PgBmdbOptions): Bmdb {
  const {
    url,
    clock,
    random,
    log,
    loss,
    budget,
    guard = DEFAULT_GUARD,
    acceptance = {},
    wakes = 'listen',
    metrics = silentMetrics,
  } = options;
  const { jitter = BACKOFF_JITTER, timeoutMs = 4_000, pulseTimeoutMs = 1_500 } = options;
  const { lockTimeoutMs = Math.ceil(timeoutMs / 8) } = options;
  const connection = { url, clock, random, log, timeoutMs, metrics };
  const { poolMax = 10 } = options;
  const batchesMax = Math.ceil(poolMax / 2);
  const db = createDatabase({ ...connection, poolMax: Math.max(1, poolMax - batchesMax) });
  const batches = createDatabase({
    ...connection,
    poolMax: batchesMax,
    byKeys: true,
    lockTimeoutMs,
  });
  const pulse = createDatabase({ ...connection, ...PULSE, timeoutMs: pulseTimeoutMs });
  const beats = createDatabase({ ...connection, ...BEATS });
  const context: PgContext = {
    db,
    batches,
    clock,
    random,
    log,
    metrics,
    loss,
    budget,
    guard,
    acceptance,
    lockTimeoutMs,
    jitter,
  };
  const readings = createBatches<MachineId, MachineReading>({
    keyOf: (id) => id,
    run: async (ids) => (await readNow(batches, ids)).map((ok) => ({ ok })),
  });
  const stopped$ = new Subject<void>();
  return {
    openSession: (session) => openSession(context, pulse, session),
    scan: async (signal, keep) => {
      const doing = 'read the fleet';
      await db.once({ doing }, changes.beginEra, {});
      return db.transact({ doing, isolation: SNAPSHOT, signal }, (q) => readSnapshot(q, keep));
    },
    changesSince: (cursor, signal) => readChanges(db, cursor, signal),
    readMachine: async (id, signal) => {
      throwIfAborted(signal, `read machine ${id}`);
      return readings.submit(id);
    },
    sweep: () => sweep(context),
    wakes$: createWakes({ url, mode: wakes, clock, random, log, timeoutMs, stopped$ }),
    heartbeats: createHeartbeats({
      ...context,
      db: beats,
      onInstalled: (result) => metrics.count('shepherd_installations_total', { result }),
    }),
    providerHolds: createProviderHolds(db),
    listings: createListingRepository(db),
    records: createRecordStore(db),
    conditions: createConditionRepository(db),
    acceptances: createAcceptanceRepository(db),
    cases: createCaseRepository(db),
    requests: createRequests(db),
    rolls: createRolls(db),
    guard: createGuardRepository(context),
    events: createEventRepository(db, clock),
    webhooks: createWebhookRepository(db),
    access: createAccessRepository(db),
    inspection: createInspection(context),
    close: async () => {
      stopped$.next();
      await Promise.all([db.close(), batches.close(), pulse.close(), beats.close()]);
    },
  };
}
