import { Subject } from 'rxjs';
import { BACKOFF_JITTER } from '../../../domain/backoff.ts';
import type { LossPolicy, RecoveryBudget } from '../../../domain/policy.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import { createHeartbeats } from './heartbeats.ts';
import type { PgContext } from './live.ts';
import { createDatabase } from './pool.ts';
import { readMachines, readNow, readSnapshot } from './rows.ts';
import { openSession } from './session.ts';
import { sweep } from './sweep.ts';
import { createWakes } from './wakes.ts';
import type { Bmdb } from '../port.ts';

export interface PgBmdbOptions {
  /** `postgresql://user:password@host:port/database`. The schema must be up to date. */
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Pick<Metrics, 'transaction' | 'sessionStarted'>;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  /** Share by which backoffs are lengthened at random (0.1). */
  readonly jitter?: number;
  /** Connections for work (10); up to three more for liveness and one for wakes. */
  readonly poolMax?: number;
  /** For one statement, and for the pause between two (4 s). Below the session interval. */
  readonly timeoutMs?: number;
}

/** A poke that hangs must not keep the next ones from trying. */
const PULSE = { poolMax: 3, timeoutMs: 1_500 };
const SNAPSHOT = 'REPEATABLE READ READ ONLY';

/** The BMDB on PostgreSQL 15 or later. Connects when first used. */
export function createPgBmdb(options: PgBmdbOptions): Bmdb {
  const { clock, random, log, loss, budget, jitter = BACKOFF_JITTER, timeoutMs = 4_000 } = options;
  const connection = { url: options.url, clock, random, log, timeoutMs, metrics: options.metrics };
  const db = createDatabase({ ...connection, poolMax: options.poolMax ?? 10 });
  const pulse = createDatabase({ ...connection, ...PULSE });
  const context: PgContext = { db, clock, random, log, loss, budget, jitter };
  const stopped$ = new Subject<void>();
  return {
    openSession: async (session) => {
      const opened = await openSession(context, pulse, session);
      options.metrics?.sessionStarted();
      return opened;
    },
    scan: (signal) =>
      db.transact({ doing: 'read the fleet', isolation: SNAPSHOT, signal }, readSnapshot),
    readMachine: (id, signal) =>
      db.transact({ doing: `read machine ${id}`, isolation: SNAPSHOT, signal }, async (q) => {
        const nowMs = await readNow(q);
        const [row = null] = await readMachines(q, [id]);
        return { nowMs, row };
      }),
    sweep: () => sweep(context),
    wakes$: createWakes({ url: options.url, clock, random, log, stopped$ }),
    heartbeats: createHeartbeats(context),
    close: async () => {
      stopped$.next();
      await Promise.all([db.close(), pulse.close()]);
    },
  };
}
