import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { UsageError } from '../../domain/errors.ts';
import type { HeartbeatStore } from '../../domain/heartbeat.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import { createCallHandler } from './call-handler.ts';
import { createHeartbeatService } from './heartbeat-service.ts';
import { createIntake } from './intake.ts';
import type { BatchOptions } from './intake.ts';
import { createRateLimit, defaultLimits } from './limits.ts';
import type { AgentServerLimits } from './limits.ts';
import type { AgentServer } from './port.ts';

export interface AgentServerOptions {
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** PEM; the certificate with its chain. */
  readonly tls: { readonly key: string; readonly cert: string };
  readonly store: HeartbeatStore;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly clock: Clock;
  /** What agents are told to report in; 0 leaves it to them. */
  readonly heartbeatIntervalSeconds: number;
  readonly batch: BatchOptions;
  /** Each one that is absent has its default. */
  readonly limits?: Partial<AgentServerLimits>;
  /** Whether the machine is to send its hardware report (again). Default: never asked. */
  readonly hardwareReportWanted?: (machine: MachineId) => boolean;
  /** While it answers false, calls end UNAVAILABLE before anything is read. Default: always true. */
  readonly isReady?: () => boolean;
}

const HANDSHAKE_LIMIT_MS = 10_000;
/** Agents keep their connection between heartbeats, which may be a few minutes apart. */
const IDLE_LIMIT_MS = 10 * 60_000;
const STREAMS_PER_CONNECTION = 8;

/**
 * The public listener for agents: unary gRPC on HTTP/2 with TLS 1.3. Clients present self-signed
 * certificates, which grpc-js does not show to handlers; so HTTP/2 is spoken here.
 * @throws {UsageError} the address cannot be bound, or key and certificate cannot be used.
 */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const limits = { ...defaultLimits, ...options.limits };
  const { store, clock, batch, log } = options;
  const intake = createIntake({ store, clock, log, batch, limits });
  const service = createHeartbeatService({ ...options, intake, limits });
  const server = createServer(options.tls);
  const connections = guardConnections(server, limits, clock);
  const sessions = trackSessions(server);
  let closing = false;
  const isOpen = () => !closing && (options.isReady?.() ?? true);
  const { metrics } = options;
  server.on('stream', createCallHandler({ service, clock, log, limits, metrics, isOpen }));
  hearErrors(server, log);
  await listen(server, options.listen);
  return {
    address: formatAddress(server.address() as AddressInfo),
    heard$: intake.heard$,
    async close(graceMs) {
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      const grace = startGrace(clock, graceMs);
      await Promise.race([Promise.all([intake.close(), closed]), grace.over]);
      grace.cancel();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

function startGrace(clock: Clock, graceMs: number) {
  let timer: unknown;
  const over = new Promise<void>((resolve) => {
    timer = clock.setTimeout(() => resolve(), graceMs);
  });
  return { over, cancel: () => clock.clearTimeout(timer) };
}

function createServer(tls: AgentServerOptions['tls']): Http2SecureServer {
  try {
    return createSecureServer({
      ...tls,
      minVersion: 'TLSv1.3',
      requestCert: true,
      // The certificates are self-signed; their keys are checked against the BMDB instead.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION, enablePush: false },
    });
  } catch (error) {
    throw new UsageError('agent server: key and certificate cannot be used', { cause: error });
  }
}

function listen(server: Http2SecureServer, { host, port }: AgentServerOptions['listen']) {
  return new Promise<void>((resolve, reject) => {
    const fail = (cause: Error) =>
      reject(new UsageError(`agent server: cannot listen on ${host}:${port}`, { cause }));
    server.prependOnceListener('error', fail);
    server.listen({ host, port }, () => {
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

function trackSessions(server: Http2SecureServer): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.setTimeout(IDLE_LIMIT_MS, () => session.destroy());
  });
  return sessions;
}

/**
 * Refuses connections before they cost a handshake, and those that speak no HTTP/2. Answers the
 * connections that are open.
 */
function guardConnections(
  server: Http2SecureServer,
  limits: AgentServerLimits,
  clock: Clock,
): ReadonlySet<Socket> {
  const connects = createRateLimit(limits.connects, clock);
  const open = new Set<Socket>();
  server.maxConnections = limits.connectionsMax;
  server.prependListener('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    if (!connects.take(socket.remoteAddress ?? '')) socket.destroy();
  });
  server.on('unknownProtocol', (socket) => socket.destroy());
  return open;
}
