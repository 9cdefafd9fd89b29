import { createBatcher } from '../../domain/batcher.ts';
import { Cancelled, Throttled } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import { sleep } from '../clock/port.ts';
import type { Clock } from '../clock/port.ts';
import { createRecentSet } from './limits.ts';
import type { AgentServerLimits } from './limits.ts';

/** Gathers heartbeats into batches, and keeps from the store what it refused a moment ago. */
export interface Intake {
  /**
   * Answers after the commit. @throws {Unreachable} database not available. @throws {Throttled} too
   * many wait. @throws {Cancelled} closed.
   */
  record(record: HeartbeatRecord): Promise<HeartbeatOutcome>;
  /** Takes no more; resolves when all that was taken is answered. */
  close(): Promise<void>;
}

export interface IntakeOptions {
  /** Records a batch: {@link HeartbeatStore.recordHeartbeats}. */
  readonly record: HeartbeatStore['recordHeartbeats'];
  readonly clock: Clock;
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
/** While the database works on one batch another is sent to it: a quarter more; a third adds none. */
export const BATCHES_IN_FLIGHT = 2;

export function createIntake({ clock, batch, limits, ...options }: IntakeOptions): Intake {
  const refused = createRecentSet(limits.refusalMs, clock);
  let closed = false;
  const batcher = createBatcher<HeartbeatRecord, HeartbeatOutcome>({
    collect: () => sleep(clock, batch.maxMs),
    sizeMax: batch.max,
    concurrency: BATCHES_IN_FLIGHT,
    keyOf: claimOf,
    run: async (records) => {
      const outcomes = await options.record(records);
      return outcomes.map((outcome) =>
        outcome.kind === 'unavailable' ? { error: outcome.error } : { ok: outcome },
      );
    },
  });
  return {
    async record(record) {
      if (closed) throw new Cancelled('the agent server is closing');
      const claim = claimOf(record);
      if (refused.has(claim)) return { kind: 'unauthenticated' };
      if (batcher.waiting >= limits.waitingMax) {
        throw new Throttled('too many heartbeats wait', clock.now() + RETRY_AFTER_MS);
      }
      const outcome = await batcher.submit(record);
      if (outcome.kind === 'unauthenticated') refused.add(claim);
      return outcome;
    },
    async close() {
      closed = true;
      await batcher.flush();
    },
  };
}

/** Who the caller says it is, with the key it proved to have. */
export const claimOf = ({
  machineId,
  publicKey,
}: Pick<HeartbeatRecord, 'machineId' | 'publicKey'>): string =>
  `${machineId}/${Buffer.from(publicKey).toString('hex')}`;
