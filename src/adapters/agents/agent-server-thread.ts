import { once } from 'node:events';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { Unreachable, UsageError, explain } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRefusal } from '../../domain/heartbeat.ts';
import type { AgentFrontOptions } from './http2-agent-server.ts';
import type { AgentServer, ServerKeys } from './port.ts';
import { createHeartbeatSink } from './heartbeat-sink.ts';
import type { FromThread, ThreadStart, ToThread, ToldOutcome } from './thread-messages.ts';

/** The thread brings a clock of its own, and asks for hardware reports by itself. */
export type AgentServerThreadOptions = Omit<AgentFrontOptions, 'hardwareReportWanted'> & {
  /** The module that the thread runs, which calls {@link runFrontThread}. */
  readonly module: URL;
};

/**
 * The public listener for agents, in a thread of its own, which strangers may keep busy without the
 * daemon noticing; only batches of heartbeats come out of it. A thread that crashes ends the process.
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
        return { kind: 'recorded', id, outcomes: (await sink.record(batch)).map(told) };
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
    throw new Error('the thread of the agent server crashed', { cause: error });
  });
  worker.on('exit', (code) => {
    if (!closing) throw new Error(`the thread of the agent server ended by itself, with ${code}`);
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

/** Its address, once it listens. */
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
    throw new UsageError('agent server: key and certificate cannot be used', { cause: error });
  }
}

const told = (outcome: HeartbeatOutcome | HeartbeatRefusal): ToldOutcome =>
  outcome.kind === 'unavailable' ? { kind: 'unavailable', cause: explain(outcome.error) } : outcome;
