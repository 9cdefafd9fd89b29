import { EventEmitter } from 'node:events';
import { fromEvent, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import { createBatcher } from '../../domain/batcher.ts';
import { Cancelled, Throttled } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import { sleep } from '../clock/port.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { createRecentSet } from './limits.ts';
import type { AgentServerLimits } from './limits.ts';
import type { Heard } from './port.ts';

/** The way of a heartbeat into the store, whatever way it came to us. */
export interface Intake {
  /**
   * Answers after the commit. @throws {Unreachable} database not available. @throws {Throttled} too
   * many wait. @throws {Cancelled} closed.
   */
  record(record: HeartbeatRecord): Promise<HeartbeatOutcome>;
  readonly heard$: Observable<Heard>;
  /**
   * Whether the last batch reached the store. A failure is held against it for a while only:
   * those that it concerned may never call again, and then nothing would tell that it is mended.
   */
  isStoring(): boolean;
  /** Takes no more; resolves when all that was taken is answered. Then `heard$` completes. */
  close(): Promise<void>;
}

export interface IntakeOptions {
  readonly store: HeartbeatStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly batch: BatchOptions;
  readonly limits: Pick<AgentServerLimits, 'waitingMax' | 'refusalMs'>;
}

export interface BatchOptions {
  /** How long the first heartbeat of a batch waits for others. */
  readonly maxMs: number;
  /** Heartbeats in one transaction. */
  readonly max: number;
}

const RETRY_AFTER_MS = 1_000;
/** An agent that was turned away comes again within a minute and a half. */
const FAILURE_COUNTS_MS = 120_000;
/** While the database works on one batch another is sent to it: a quarter more; a third adds none. */
export const BATCHES_IN_FLIGHT = 2;

export function createIntake({ store, clock, log, batch, limits }: IntakeOptions): Intake {
  const events = new EventEmitter().setMaxListeners(0);
  const refused = createRecentSet(limits.refusalMs, clock);
  let closed = false;
  let failing = false;
  let brokenAtMs = -Infinity;
  const fail = (error: unknown, heartbeats: number) => {
    // Anybody may call, so only the first of a row of failures is worth an operator's look.
    const level = failing ? 'debug' : 'warn';
    failing = true;
    log[level]({ err: error, heartbeats }, 'heartbeats not recorded');
  };
  const batcher = createBatcher<HeartbeatRecord, HeartbeatOutcome>({
    collect: () => sleep(clock, batch.maxMs),
    sizeMax: batch.max,
    concurrency: BATCHES_IN_FLIGHT,
    keyOf: claimOf,
    run: async (records) => {
      try {
        const outcomes = await store.recordHeartbeats(records);
        const refused = outcomes.filter((outcome) => outcome.kind === 'unavailable');
        if (refused.length > 0) fail(refused[0]!.error, refused.length);
        else failing = false;
        brokenAtMs = -Infinity;
        return outcomes.map((outcome) =>
          outcome.kind === 'unavailable' ? { error: outcome.error } : { ok: outcome },
        );
      } catch (error) {
        brokenAtMs = clock.monotonic();
        fail(error, records.length);
        throw error;
      }
    },
  });
  return {
    heard$: (fromEvent(events, 'heard') as Observable<Heard>).pipe(
      takeUntil(fromEvent(events, 'closed')),
    ),
    isStoring: () => clock.monotonic() - brokenAtMs >= FAILURE_COUNTS_MS,
    async record(record) {
      if (closed) throw new Cancelled('the agent server is closing');
      const claim = claimOf(record);
      if (refused.has(claim)) return { kind: 'unauthenticated' };
      if (batcher.waiting >= limits.waitingMax) {
        throw new Throttled('too many heartbeats wait', clock.now() + RETRY_AFTER_MS);
      }
      const outcome = await batcher.submit(record);
      if (outcome.kind === 'unauthenticated') refused.add(claim);
      if (outcome.kind === 'accepted') events.emit('heard', heardOf(record, outcome.atMs));
      return outcome;
    },
    async close() {
      closed = true;
      await batcher.flush();
      events.emit('closed');
    },
  };
}

/** Who the caller says it is, with the key it proved to have. */
export const claimOf = ({
  machineId,
  publicKey,
}: Pick<HeartbeatRecord, 'machineId' | 'publicKey'>): string =>
  `${machineId}/${Buffer.from(publicKey).toString('hex')}`;

const heardOf = ({ machineId, bootId }: HeartbeatRecord, atMs: number): Heard => ({
  machineId,
  atMs,
  bootId,
});
