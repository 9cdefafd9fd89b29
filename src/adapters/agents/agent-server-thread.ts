import { EventEmitter, once } from 'node:events';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { fromEvent, takeUntil, type Observable } from 'rxjs';
import { Unreachable, UsageError, explain } from '../../domain/errors.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { AgentFrontOptions, FromThread, ThreadStart, ToThread } from './front-thread.ts';
import type { AgentServer, Heard, ServerKeys } from './port.ts';

/** The thread has its own clock and decides itself when to request hardware reports. */
export type AgentServerThreadOptions = Omit<AgentFrontOptions, 'hardwareReportWanted'> & {
  /** Module that the thread runs; it calls {@link runFrontThread}. */
  readonly module: URL;
};

/**
 * Starts the public listener for agents in its own thread, so that strangers can keep it busy
 * without slowing the daemon. Only batches of heartbeats leave the thread. If it crashes, the
 * process ends.
 * @throws {UsageError} the address cannot be bound, or key and certificate cannot be used.
 */
export async function startAgentServerThread(
  options: AgentServerThreadOptions,
): Promise<AgentServer> {
  const { log, onCall, store } = options;
  const isReady = options.isReady ?? (() => true);
  const sink = createHeartbeatSink(options);
  const worker = startWorker(options);
  let closing = false;
  const tell = (message: ToThread) => worker.postMessage(message);
  const answer = (id: number, work: () => Promise<ToThread>) => {
    work().then(tell, (error: unknown) => tell({ kind: 'failed', id, cause: explain(error) }));
  };
  const hear = (message: FromThread) => {
    if (message.kind === 'log') log[message.level](message.fields, message.message);
    if (message.kind === 'closed' || message.kind === 'unusable') void worker.terminate();
    if (message.kind === 'calls') for (const call of message.calls) onCall?.(...call);
    if (message.kind === 'record') {
      const { id, batch } = message;
      answer(id, async () => {
        if (!isReady()) throw new Unreachable('the daemon has no live session');
        const outcomes = (await sink.record(batch)).map((outcome) =>
          outcome.kind === 'unavailable'
            ? { kind: outcome.kind, cause: explain(outcome.error) }
            : outcome,
        );
        return { kind: 'recorded', id, outcomes };
      });
    }
    if (message.kind === 'withoutHardware') {
      const { id } = message;
      answer(id, async () => ({
        kind: 'missing',
        id,
        machines: isReady() ? ((await store.withoutHardware?.()) ?? []) : [],
      }));
    }
  };
  worker.on('message', hear);
  const address = await listening(worker);
  worker.on('error', (error) => {
    throw new Error('the agent server thread crashed', { cause: error });
  });
  worker.on('exit', (code) => {
    if (!closing) throw new Error(`the agent server thread ended unexpectedly with code ${code}`);
  });
  return {
    address,
    heard$: sink.heard$,
    isTakingIn: () => !closing && isReady() && sink.isStoring(),
    present(tls) {
      assertUsable(tls);
      tell({ kind: 'present', tls });
    },
    async close(graceMs) {
      if (closing) return;
      closing = true;
      const ended = once(worker, 'exit');
      tell({ kind: 'close', graceMs });
      await ended;
      sink.close();
    },
  };
}

function startWorker(options: AgentServerThreadOptions): Worker {
  const { module, listen, tls, heartbeatIntervalSeconds, batch, limits, store } = options;
  assertUsable(tls);
  const start: ThreadStart = {
    listen,
    tls: { key: tls.key, cert: tls.cert },
    heartbeatIntervalSeconds,
    batch,
    ...(limits ? { limits } : {}),
    knowsHardware: store.withoutHardware !== undefined,
  };
  return new Worker(module, { workerData: start, env: {}, name: 'agent-server' });
}

/** Resolves with the listener's address. */
function listening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    const hear = (message: FromThread) => {
      if (message.kind === 'listening') resolve(message.address);
      else if (message.kind === 'unusable') {
        reject(new UsageError(message.message, { cause: message.cause }));
      } else return;
      worker.off('message', hear);
      worker.off('error', reject);
    };
    worker.on('message', hear);
    worker.on('error', reject);
  });
}

function assertUsable({ key, cert }: ServerKeys): void {
  try {
    createSecureContext({ key, cert });
  } catch (error) {
    throw new UsageError('agent server: key and certificate are unusable', { cause: error });
  }
}

interface HeartbeatSinkOptions {
  readonly store: Pick<HeartbeatStore, 'recordHeartbeats'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A rejected agent calls again within a minute and a half. */
const FAILURE_COUNTS_MS = 120_000;

/** Writes batches of heartbeats into the store, and emits each committed heartbeat. */
export function createHeartbeatSink({ store, clock, log }: HeartbeatSinkOptions) {
  const events = new EventEmitter().setMaxListeners(0);
  let failing = false;
  let brokenAtMs = -Infinity;
  const fail = (error: unknown, heartbeats: number) => {
    // Anybody may call, so only the first of several consecutive failures is worth an operator's
    // attention.
    const level = failing ? 'debug' : 'warn';
    failing = true;
    log[level]({ err: error, heartbeats }, 'heartbeats not recorded');
  };
  return {
    /** One event per heartbeat, after it was committed. */
    heard$: (fromEvent(events, 'heard') as Observable<Heard>).pipe(
      takeUntil(fromEvent(events, 'closed')),
    ),
    /**
     * Whether the last batch reached the store. A failure counts only for a limited time: its
     * agents may never call again, and then nothing would show that the store works again.
     */
    isStoring: () => clock.monotonic() - brokenAtMs >= FAILURE_COUNTS_MS,
    /** Returns and throws like {@link HeartbeatStore.recordHeartbeats}. */
    async record(batch: readonly HeartbeatRecord[]) {
      try {
        const outcomes = await store.recordHeartbeats(batch);
        const refused = outcomes.filter((outcome) => outcome.kind === 'unavailable');
        if (refused.length > 0) fail(refused[0]!.error, refused.length);
        else failing = false;
        brokenAtMs = -Infinity;
        outcomes.forEach((outcome, index) => {
          if (outcome.kind !== 'accepted') return;
          const { machineId, bootId } = batch[index]!;
          events.emit('heard', { machineId, atMs: outcome.atMs, bootId } satisfies Heard);
        });
        return outcomes;
      } catch (error) {
        brokenAtMs = clock.monotonic();
        fail(error, batch.length);
        throw error;
      }
    },
    /** `heard$` completes. */
    close: () => void events.emit('closed'),
  };
}
