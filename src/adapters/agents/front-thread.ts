import type { MessagePort } from 'node:worker_threads';
import { Unreachable, UsageError, explain } from '../../domain/errors.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { startAgentFront } from './http2-agent-server.ts';
import type { AgentFront } from './http2-agent-server.ts';
import { createRateLimit } from '../../lib/rate-limit.ts';
import type { HeartbeatEnd } from '../metrics/port.ts';
import type { FromThread, ThreadStart, ToThread } from './thread-messages.ts';

/** What the thread is given: its end of the messages, and what it is started with. */
export interface FrontThreadOptions {
  readonly port: MessagePort;
  readonly start: ThreadStart;
  readonly clock: Clock;
}

type Tell = (message: FromThread) => void;

/**
 * The listener for agents inside its thread: TLS, HTTP/2 and decoding, so that whatever strangers
 * send keeps nobody waiting but the thread. The store stays with the daemon, and is asked by messages.
 */
export async function runFrontThread({ port, start, clock }: FrontThreadOptions): Promise<void> {
  const tell: Tell = (message) => port.postMessage(message);
  const calls = createCallReports(tell, clock);
  const { store, answered } = createStore(tell, start);
  const serve = async (front: AgentFront, message: ToThread) => {
    if (message.kind === 'present') front.present(message.tls);
    else if (message.kind === 'close') {
      await front.close(message.graceMs);
      calls.flush();
      tell({ kind: 'closed' });
    } else answered(message);
  };
  try {
    const log = createLog(tell, clock);
    const front = await startAgentFront({ ...start, store, log, onCall: calls.note, clock });
    port.on('message', (message: ToThread) => void serve(front, message));
    tell({ kind: 'listening', address: front.address });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    tell({ kind: 'unusable', message: error.message, cause: explain(error.cause) });
  }
}

/** Anybody may cause lines for debugging, so only so many reach the daemon. */
const DEBUG_LINES = { perSecond: 20, burst: 100 };
const CALLS_MS = 500;

function createLog(tell: Tell, clock: Clock): Log {
  const debugLines = createRateLimit(DEBUG_LINES, clock);
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
      if (level !== 'debug' || debugLines.take('')) tell({ kind: 'log', level, fields, message });
    };
  const made: Log = {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: () => made,
  };
  return made;
}

/** Tells now and then, in one message for all calls since. */
function createCallReports(tell: Tell, clock: Clock) {
  let calls: (readonly [HeartbeatEnd, number])[] = [];
  const flush = () => {
    if (calls.length > 0) tell({ kind: 'calls', calls });
    calls = [];
  };
  return {
    note(end: HeartbeatEnd, seconds: number): void {
      if (calls.length === 0) clock.setTimeout(flush, CALLS_MS);
      calls.push([end, seconds]);
    },
    flush,
  };
}

type Answer = Extract<ToThread, { readonly id: number }>;

/** The daemon's store, asked by messages. */
function createStore(tell: Tell, { knowsHardware }: ThreadStart) {
  const asked = new Map<number, (answer: Answer) => void>();
  let lastId = 0;
  const ask = async (question: (id: number) => FromThread): Promise<Answer> => {
    const id = (lastId += 1);
    const answer = await new Promise<Answer>((resolve) => {
      asked.set(id, resolve);
      tell(question(id));
    });
    if (answer.kind === 'failed') throw new Unreachable(answer.cause);
    return answer;
  };
  const store: HeartbeatStore = {
    async recordHeartbeats(records) {
      const answer = await ask((id) => ({ kind: 'record', id, batch: records.map(tight) }));
      const outcomes = answer.kind === 'recorded' ? answer.outcomes : [];
      return outcomes.map((outcome) =>
        outcome.kind === 'unavailable'
          ? { kind: outcome.kind, error: new Unreachable(outcome.cause) }
          : outcome,
      );
    },
    async withoutHardware() {
      const answer = await ask((id) => ({ kind: 'withoutHardware', id }));
      return answer.kind === 'missing' ? answer.machines : [];
    },
  };
  return {
    store: knowsHardware ? store : { recordHeartbeats: store.recordHeartbeats },
    answered(answer: Answer) {
      asked.get(answer.id)?.(answer);
      asked.delete(answer.id);
    },
  };
}

/** A message copies the whole memory behind an array, of which these are small parts. */
function tight(record: HeartbeatRecord): HeartbeatRecord {
  const { publicKey, hardwareReport, installationReport } = record;
  return {
    ...record,
    publicKey: new Uint8Array(publicKey),
    ...(hardwareReport ? { hardwareReport: new Uint8Array(hardwareReport) } : {}),
    ...(installationReport
      ? {
          installationReport: {
            ...installationReport,
            raw: new Uint8Array(installationReport.raw),
          },
        }
      : {}),
  };
}
