import { createSecureServer } from 'node:http2';
import type { Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { UsageError } from '../../domain/errors.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { createCallHandler, type CallHandlerOptions } from './call-handler.ts';
import {
  startHardwareWishes,
  watchConnections,
  defaultLimits,
  type AgentServerLimits,
} from './limits.ts';
import { createHeartbeatService } from './heartbeat-service.ts';
import { createIntake } from './intake.ts';
import type { BatchOptions } from './intake.ts';
import type { AgentServer, ServerKeys } from './port.ts';

export interface AgentFrontOptions {
  /** Port 0 takes a free one; `fd` is a listening socket that somebody holds for us. */
  readonly listen: { readonly host: string; readonly port: number; readonly fd?: number };
  readonly tls: ServerKeys;
  /** Where batches go, and who is asked whose hardware report is missing. */
  readonly store: HeartbeatStore;
  readonly log: Log;
  /** Told how each call ended, and how long it took, seconds. */
  readonly onCall?: CallHandlerOptions['onCall'];
  readonly clock: Clock;
  /** What agents are told to report in; 0 leaves it to them. */
  readonly heartbeatIntervalSeconds: number;
  readonly batch: BatchOptions;
  /** Each one that is absent has its default. */
  readonly limits?: Partial<AgentServerLimits>;
  /**
   * Whether the machine is to send its hardware report (again). Default: where the store has none.
   */
  readonly hardwareReportWanted?: (machine: MachineId) => boolean;
  /** While it answers false, calls end UNAVAILABLE before anything is read. Default: always true. */
  readonly isReady?: () => boolean;
}

/** What stands between the network and the store. */
export interface AgentFront extends Pick<AgentServer, 'address' | 'present' | 'close'> {
  /** Whether a call that comes now is read. */
  isOpen(): boolean;
}

const HANDSHAKE_LIMIT_MS = 10_000;
const STREAMS_PER_CONNECTION = 8;
/** So long last answers may take to leave; a peer that is cut off never says that it has them. */
const GOODBYE_MS = 500;

/**
 * Unary gRPC on HTTP/2 with TLS 1.3. Clients present self-signed certificates, which grpc-js does
 * not show to handlers; so HTTP/2 is spoken here.
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
  const wishes = startHardwareWishes({ store, clock, log, isReady: isOpen });
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

/** Awaits `work`, but no longer than that. */
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
      // The certificates are self-signed; their keys are checked against the BMDB instead.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      streamResetBurst: resets.burst,
      streamResetRate: resets.perSecond,
      settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION, enablePush: false },
    }),
  );

/** What a change of keys sets anew, so all of it must be said each time. */
const contextOf = ({ key, cert }: ServerKeys) => ({ key, cert, minVersion: 'TLSv1.3' }) as const;

function onKeys<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new UsageError('agent server: key and certificate cannot be used', { cause: error });
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

/** An 'error' that nobody hears ends the process, so somebody hears each one that a peer can cause. */
function hearErrors(server: Http2SecureServer, log: Log): void {
  const hear = (error: Error) => log.debug({ err: error.message }, 'connection broken off');
  server.on('tlsClientError', hear);
  server.on('sessionError', hear);
  server.on('connection', (socket: Socket) => socket.on('error', hear));
  server.on('secureConnection', (socket) => socket.on('error', hear));
  // Such as no descriptor left for one more connection; the server listens on.
  server.on('error', (error) => log.error({ err: error }, 'agent server cannot accept'));
}
