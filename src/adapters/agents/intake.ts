import { createBatcher } from '../../lib/batcher.ts';
import { Cancelled, Throttled } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import { sleep } from '../clock/port.ts';
import type { Clock } from '../clock/port.ts';
import { createRecentSet } from './limits.ts';
import type { AgentServerLimits } from './limits.ts';

/** Gathers heartbeats into batches, and keeps from the store what it refused a moment ago. */
export interface Intake {
  /**
   * Answers after the commit. `claim` is that of the record. @throws {Unreachable} database not
   * available. @throws {Throttled} too many wait. @throws {Cancelled} closed.
   */
  record(record: HeartbeatRecord, claim?: string): Promise<HeartbeatOutcome>;
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
  /**
   * Two batches begin so far apart, except that one which has enough begins at once. So nobody waits
   * who comes alone, and a fleet at its usual rate costs so many statements a second at most.
   */
  readonly gapMs: number;
  /** So many are worth a statement. */
  readonly enough: number;
  /** Heartbeats in one statement. */
  readonly max: number;
}

interface Claimed {
  readonly record: HeartbeatRecord;
  readonly claim: string;
}

const RETRY_AFTER_MS = 1_000;
/** While the database works on one batch another is sent to it: a quarter more; a third adds none. */
export const BATCHES_IN_FLIGHT = 2;

export function createIntake({ clock, batch, limits, ...options }: IntakeOptions): Intake {
  const refused = createRecentSet(limits.refusalMs, clock);
  let closed = false;
  let nextMs = -Infinity;
  const batcher = createBatcher<Claimed, HeartbeatOutcome>({
    collect: async () => {
      const waitMs = nextMs - clock.monotonic();
      if (waitMs > 0) await sleep(clock, waitMs);
    },
    sizeMax: batch.max,
    sizeEnough: batch.enough,
    concurrency: BATCHES_IN_FLIGHT,
    keyOf: ({ claim }) => claim,
    run: async (claimed) => {
      nextMs = clock.monotonic() + batch.gapMs;
      const outcomes = await options.record(claimed.map(({ record }) => record));
      return outcomes.map((outcome) =>
        outcome.kind === 'unavailable' ? { error: outcome.error } : { ok: outcome },
      );
    },
  });
  return {
    async record(record, claim = claimOf(record)) {
      if (closed) throw new Cancelled('the agent server is closing');
      if (refused.has(claim)) return { kind: 'unauthenticated' };
      if (batcher.waiting >= limits.waitingMax) {
        throw new Throttled('too many heartbeats wait', clock.now() + RETRY_AFTER_MS);
      }
      const outcome = await batcher.submit({ record, claim });
      if (outcome.kind === 'unauthenticated') refused.add(claim);
      return outcome;
    },
    async close() {
      closed = true;
      await batcher.flush();
    },
  };
}

/**
 * Who the caller says it is, with the key it proved to have.
 * @param key in hexadecimal.
 */
export const claimOf = (
  { machineId, publicKey }: Pick<HeartbeatRecord, 'machineId' | 'publicKey'>,
  key = Buffer.from(publicKey).toString('hex'),
): string => `${machineId}/${key}`;
