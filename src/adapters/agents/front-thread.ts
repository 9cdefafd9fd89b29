import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { Unreachable, UsageError, explain } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import type { MachineId } from '../../domain/ids.ts';
import { createRateLimit } from '../../lib/rate-limit.ts';
import { sleep, type Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { HeartbeatEnd } from '../metrics/port.ts';
import { createCallHandler, type CallHandlerOptions } from './call-handler.ts';
import { createHeartbeatService, createIntake, type BatchOptions } from './heartbeat-service.ts';
import {
  createRecentSet,
  defaultLimits,
  watchConnections,
  type AgentServerLimits,
} from './limits.ts';
import type { AgentServer, ServerKeys } from './port.ts';

/** Data that starts the thread. */
export type ThreadStart = Pick<
  AgentFrontOptions,
  'listen' | 'tls' | 'heartbeatIntervalSeconds' | 'batch' | 'limits'
> & {
  /** Whether the daemon's store can tell whose hardware report is missing. */
  readonly knowsHardware: boolean;
};

/** Messages from the daemon to the thread. */
export type ToThread =
  /** Outcomes in the order of the batch. An error is sent as text; agents never see it. */
  | {
      readonly kind: 'recorded';
      readonly id: number;
      readonly outcomes: readonly ForwardedOutcome[];
    }
  | { readonly kind: 'missing'; readonly id: number; readonly machines: readonly MachineId[] }
  | { readonly kind: 'failed'; readonly id: number; readonly cause: string }
  | { readonly kind: 'present'; readonly tls: ServerKeys }
  | { readonly kind: 'close'; readonly graceMs: number };

type ForwardedOutcome = HeartbeatOutcome | { readonly kind: 'unavailable'; readonly cause: string };

/** Messages from the thread to the daemon. */
export type FromThread =
  | { readonly kind: 'listening'; readonly address: string }
  /** The thread cannot start, or cannot use its keys; contains the error's texts. */
  | { readonly kind: 'unusable'; readonly message: string; readonly cause: string }
  | { readonly kind: 'record'; readonly id: number; readonly batch: readonly HeartbeatRecord[] }
  | { readonly kind: 'withoutHardware'; readonly id: number }
  | {
      readonly kind: 'log';
      readonly level: Exclude<keyof Log, 'child'>;
      readonly fields: object;
      readonly message: string;
    }
  /** Results of the calls since the last message, and their durations in seconds. */
  | {
      readonly kind: 'calls';
      readonly calls: readonly (readonly [HeartbeatEnd, seconds: number])[];
    }
  | { readonly kind: 'closed' };

type Tell = (message: FromThread) => void;

/**
 * Runs the listener for agents inside its thread: TLS, HTTP/2 and decoding. So a stranger's data
 * delays only this thread. The store stays with the daemon, and is reached by messages.
 */
export async function runFrontThread({
  port,
  start,
  clock,
}: {
  readonly port: MessagePort;
  readonly start: ThreadStart;
  readonly clock: Clock;
}): Promise<void> {
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

/** Anybody can cause debug lines, so their rate is limited. */
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

/** Reports periodically, in one message for all calls since the last report. */
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

type ThreadAnswer = Extract<ToThread, { readonly id: number }>;

/** The daemon's store, reached by messages. */
function createStore(tell: Tell, { knowsHardware }: ThreadStart) {
  const asked = new Map<number, (answer: ThreadAnswer) => void>();
  let lastId = 0;
  const ask = async (question: (id: number) => FromThread): Promise<ThreadAnswer> => {
    const id = (lastId += 1);
    const answer = await new Promise<ThreadAnswer>((resolve) => {
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
    answered(answer: ThreadAnswer) {
      asked.get(answer.id)?.(answer);
      asked.delete(answer.id);
    },
  };
}

/** A message copies the whole buffer behind an array; these are small parts of a buffer. */
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

export interface AgentFrontOptions {
  /** Port 0 takes a free port; `fd` is a listening socket that the service manager holds for us. */
  readonly listen: { readonly host: string; readonly port: number; readonly fd?: number };
  readonly tls: ServerKeys;
  /** Receives the batches, and knows whose hardware report is missing. */
  readonly store: HeartbeatStore;
  readonly log: Log;
  /** Called with the result of each call and its duration in seconds. */
  readonly onCall?: CallHandlerOptions['onCall'];
  readonly clock: Clock;
  /** Interval that agents are told to report at; 0 leaves the choice to them. */
  readonly heartbeatIntervalSeconds: number;
  readonly batch: BatchOptions;
  /** Absent limits have their defaults. */
  readonly limits?: Partial<AgentServerLimits>;
  /**
   * Whether the machine should send its hardware report (again). Default: if the store has none.
   */
  readonly hardwareReportWanted?: (machine: MachineId) => boolean;
  /** While it returns false, calls end UNAVAILABLE before any read. Default: always true. */
  readonly isReady?: () => boolean;
}

/** Everything between the network and the store. */
export interface AgentFront extends Pick<AgentServer, 'address' | 'present' | 'close'> {
  /** Whether a call that arrives now is read. */
  isOpen(): boolean;
}

const HANDSHAKE_LIMIT_MS = 10_000;
const STREAMS_PER_CONNECTION = 8;
/** Time for the last answers to leave; a peer that is cut off never confirms them. */
const GOODBYE_MS = 500;

/**
 * Starts unary gRPC on HTTP/2 with TLS 1.3. Clients present self-signed certificates, which grpc-js
 * does not show to handlers; so this module speaks HTTP/2 itself.
 * @throws {UsageError} the address cannot be bound, or key and certificate cannot be used.
 */
export async function startAgentFront(options: AgentFrontOptions): Promise<AgentFront> {
  const limits = { ...defaultLimits, ...options.limits };
  const { store, clock, batch, log } = options;
  const record = (batch: readonly HeartbeatRecord[]) => store.recordHeartbeats(batch);
  const intake = createIntake({ record, clock, batch, limits });
  const server = createServer(options.tls, limits);
  const connections = watchConnections(server, limits, clock);
  let closing = false;
  const isOpen = () => !closing && (options.isReady?.() ?? true);
  const wishes = startHardwareWishes(options, isOpen);
  const hardwareReportWanted = options.hardwareReportWanted ?? wishes.take;
  const service = createHeartbeatService({ ...options, intake, limits, hardwareReportWanted });
  const { onCall } = options;
  const calls = createCallHandler({ service, clock, log, limits, onCall, isOpen, connections });
  server.on('stream', calls.take);
  hearErrors(server, log);
  await listen(server, options.listen).catch((error: unknown) => {
    wishes.stop();
    throw error;
  });
  return {
    address: formatAddress(server.address() as AddressInfo),
    isOpen: () => server.listening && isOpen(),
    present: (tls) => onKeys(() => server.setSecureContext(contextOf(tls))),
    async close(graceMs) {
      closing = true;
      wishes.stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of connections.sessions) session.close();
      const answered = Promise.all([intake.close(), calls.idle()]);
      await within(clock, graceMs, answered);
      await within(clock, Math.min(graceMs, GOODBYE_MS), closed);
      connections.destroy();
      await closed;
    },
  };
}

/** Awaits `work`, but no longer than `ms`. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  let timer: unknown;
  const over = new Promise<void>((resolve) => {
    timer = clock.setTimeout(() => resolve(), ms);
  });
  await Promise.race([work, over]);
  clock.clearTimeout(timer);
}

const createServer = (tls: ServerKeys, { resets }: AgentServerLimits): Http2SecureServer =>
  onKeys(() =>
    createSecureServer({
      ...contextOf(tls),
      requestCert: true,
      // The certificates are self-signed; the BMDB verifies their keys instead.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      streamResetBurst: resets.burst,
      streamResetRate: resets.perSecond,
      settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION, enablePush: false },
    }),
  );

/** A change of keys replaces the whole context, so it must always be complete. */
const contextOf = ({ key, cert }: ServerKeys) => ({ key, cert, minVersion: 'TLSv1.3' }) as const;

function onKeys<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new UsageError('agent server: key and certificate are unusable', { cause: error });
  }
}

function listen(server: Http2SecureServer, { host, port, fd }: AgentFrontOptions['listen']) {
  return new Promise<void>((resolve, reject) => {
    const where = fd === undefined ? `${host}:${port}` : `the socket passed as ${fd}`;
    const fail = (cause: Error) =>
      reject(new UsageError(`agent server: cannot listen on ${where}`, { cause }));
    server.prependOnceListener('error', fail);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

const formatAddress = ({ family, address, port }: AddressInfo): string =>
  family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;

/** Every error that a peer can cause needs a listener, or it ends the process. */
function hearErrors(server: Http2SecureServer, log: Log): void {
  const hear = (error: Error) => log.debug({ err: error.message }, 'connection broken off');
  server.on('tlsClientError', hear);
  server.on('sessionError', hear);
  server.on('connection', (socket: Socket) => socket.on('error', hear));
  server.on('secureConnection', (socket) => socket.on('error', hear));
  // For example no descriptor for another connection; the server continues to listen.
  server.on('error', (error) =>
    log.error({ err: error }, 'the agent server cannot accept a connection'),
  );
}

/** Interval of the query, whatever the number of heartbeats. */
const READ_MS = 5 * 60_000;
/** Long, because a report that was refused once will be refused again. */
const ASK_AGAIN_MS = 3600_000;

/** Tracks machines that should send their hardware report, but believe that they have. */
function startHardwareWishes({ store, clock, log }: AgentFrontOptions, isReady: () => boolean) {
  const stopping = new AbortController();
  const asked = createRecentSet(ASK_AGAIN_MS, clock);
  let missing: ReadonlySet<MachineId> = new Set();
  const read = async () => {
    try {
      if (isReady()) missing = new Set(await store.withoutHardware?.());
    } catch (error) {
      log.debug({ cause: explain(error) }, 'cannot read which hardware reports are missing');
    }
  };
  const watch = async () => {
    for (;;) {
      await sleep(clock, READ_MS, stopping.signal);
      await read();
    }
  };
  // Ends only by `stop`.
  if (store.withoutHardware) watch().catch(() => undefined);
  return {
    /** Whether to ask now; after true it returns false for a while. */
    take(machine: MachineId): boolean {
      if (!missing.has(machine) || asked.has(machine)) return false;
      asked.add(machine);
      return true;
    },
    stop: () => stopping.abort(),
  };
}
