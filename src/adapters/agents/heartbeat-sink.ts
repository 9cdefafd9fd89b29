import { EventEmitter } from 'node:events';
import { fromEvent, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatRefusal,
  HeartbeatStore,
} from '../../domain/heartbeat.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Heard } from './port.ts';

/** Writes batches of heartbeats into the store, and tells of what was committed. */
export interface HeartbeatSink {
  /** Answers and throws as {@link HeartbeatStore.recordHeartbeats}. */
  record(batch: readonly HeartbeatRecord[]): Promise<(HeartbeatOutcome | HeartbeatRefusal)[]>;
  /** One event per heartbeat, after it was committed. */
  readonly heard$: Observable<Heard>;
  /**
   * Whether the last batch reached the store. A failure is held against it for a while only:
   * those that it concerned may never call again, and then nothing would tell that it is mended.
   */
  isStoring(): boolean;
  /** `heard$` completes. */
  close(): void;
}

export interface HeartbeatSinkOptions {
  readonly store: Pick<HeartbeatStore, 'recordHeartbeats'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** An agent that was turned away comes again within a minute and a half. */
const FAILURE_COUNTS_MS = 120_000;

export function createHeartbeatSink({ store, clock, log }: HeartbeatSinkOptions): HeartbeatSink {
  const events = new EventEmitter().setMaxListeners(0);
  let failing = false;
  let brokenAtMs = -Infinity;
  const fail = (error: unknown, heartbeats: number) => {
    // Anybody may call, so only the first of a row of failures is worth an operator's attention.
    const level = failing ? 'debug' : 'warn';
    failing = true;
    log[level]({ err: error, heartbeats }, 'heartbeats not recorded');
  };
  const tell = (record: HeartbeatRecord, outcome: HeartbeatOutcome | HeartbeatRefusal) => {
    if (outcome.kind === 'accepted') events.emit('heard', heardOf(record, outcome.atMs));
  };
  return {
    heard$: (fromEvent(events, 'heard') as Observable<Heard>).pipe(
      takeUntil(fromEvent(events, 'closed')),
    ),
    isStoring: () => clock.monotonic() - brokenAtMs >= FAILURE_COUNTS_MS,
    async record(batch) {
      try {
        const outcomes = await store.recordHeartbeats(batch);
        const refused = outcomes.filter((outcome) => outcome.kind === 'unavailable');
        if (refused.length > 0) fail(refused[0]!.error, refused.length);
        else failing = false;
        brokenAtMs = -Infinity;
        outcomes.forEach((outcome, index) => tell(batch[index]!, outcome));
        return outcomes;
      } catch (error) {
        brokenAtMs = clock.monotonic();
        fail(error, batch.length);
        throw error;
      }
    },
    close: () => void events.emit('closed'),
  };
}

const heardOf = ({ machineId, bootId }: HeartbeatRecord, atMs: number): Heard => ({
  machineId,
  atMs,
  bootId,
});
