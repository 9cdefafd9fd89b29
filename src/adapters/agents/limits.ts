import { KEYS_MAX, type Rate } from '../../lib/rate-limit.ts';
import { type StrangerLimits, createStrangers } from '../../domain/strangers.ts';
import type { Clock } from '../clock/port.ts';
import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** What one caller may cost us. */
export interface AgentServerLimits extends StrangerLimits {
  /** Size of one message. */
  readonly messageBytes: number;
  /** From the first byte of a call to its answer, however slowly the caller sends. */
  readonly callMs: number;
  readonly connectionsMax: number;
  /** Consecutive refused calls on one connection before it is closed. */
  readonly refusedCallsMax: number;
  /** Calls of one connection that its peer resets. */
  readonly resets: Rate;
  /** Calls with one client key. */
  readonly callsPerKey: Rate;
  /** UNAUTHENTICATED calls of one address; beyond the limit, its next calls are refused unread. */
  readonly refusalsPerAddress: Rate;
  /** Heartbeats waiting for the database. */
  readonly waitingMax: number;
  /** How long a refusal is remembered. */
  readonly refusalMs: number;
  /** How long a connection may stay open before a known agent calls on it. */
  readonly strangerMs: number;
  /** How long an agent's connection may be silent; it is closed after at most twice this time. */
  readonly idleMs: number;
  /** Memory held for agents at once, in all and for each key. */
  readonly agentBytes: Room;
  /** Memory held for callers that are not known agents, in all and for each address. */
  readonly strangerBytes: Room;
  /**
   * Memory of a connection that counts for no stranger. A heartbeat without a hardware report fits,
   * so no crowd of strangers can keep out an agent that is not known yet.
   */
  readonly connectionBytes: number;
}

/** Bytes for all callers together, and for each. */
export interface Room {
  readonly all: number;
  readonly each: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const defaultLimits: AgentServerLimits = {
  messageBytes: 4 * MIB,
  callMs: 15_000,
  connectionsMax: 50_000,
  connects: { perSecond: 50, burst: 400 },
  strangersMax: 2_000,
  strangersPerAddress: 500,
  refusedCallsMax: 50,
  resets: { perSecond: 5, burst: 50 },
  callsPerKey: { perSecond: 5, burst: 60 },
  refusalsPerAddress: { perSecond: 200, burst: 2_000 },
  waitingMax: 20_000,
  refusalMs: 5_000,
  strangerMs: 20_000,
  // Agents keep their connection between heartbeats, which may be a few minutes apart.
  idleMs: 10 * 60_000,
  agentBytes: { all: 256 * MIB, each: 8 * MIB },
  strangerBytes: { all: 64 * MIB, each: 8 * MIB },
  // Less than TLS and HTTP/2 hold for a connection.
  connectionBytes: 16 * KIB,
};

/** Remembers keys for a fixed time from their first addition. */
export function createRecentSet(keepMs: number, clock: Clock) {
  // All keys stay equally long, so they expire in insertion order.
  const endsAtMs = new Map<string, number>();
  const dropOld = () => {
    for (const [key, endMs] of endsAtMs) {
      if (endMs > clock.monotonic() && endsAtMs.size < KEYS_MAX) return;
      endsAtMs.delete(key);
    }
  };
  return {
    add(key: string): void {
      dropOld();
      if (!endsAtMs.has(key)) endsAtMs.set(key, clock.monotonic() + keepMs);
    },
    has: (key: string): boolean => (endsAtMs.get(key) ?? -Infinity) > clock.monotonic(),
    delete: (key: string): void => void endsAtMs.delete(key),
  };
}

/** Memory accounts of callers; everything taken must be given back. */
export interface ByteRoom<Caller> {
  enter(caller: Caller): Stay;
}

/** Account of one call. */
export interface Stay {
  /** Takes `bytes` more if there is room. */
  take(bytes: number): boolean;
  /** Gives everything back. Call once. */
  leave(): void;
}

/** Takes from the first account with room. */
export const firstOf = (...stays: readonly Stay[]): Stay => ({
  take: (bytes) => stays.some((stay) => stay.take(bytes)),
  leave: () => stays.forEach((stay) => stay.leave()),
});

export function createByteRoom<Caller>({ all, each }: Room): ByteRoom<Caller> {
  const taken = new Map<Caller, number>();
  let sum = 0;
  const change = (caller: Caller, bytes: number) => {
    const left = (taken.get(caller) ?? 0) + bytes;
    if (left === 0) taken.delete(caller);
    else taken.set(caller, left);
    sum += bytes;
  };
  return {
    enter(caller) {
      let own = 0;
      return {
        take(bytes) {
          if (sum + bytes > all || (taken.get(caller) ?? 0) + bytes > each) return false;
          change(caller, bytes);
          own += bytes;
          return true;
        },
        leave: () => change(caller, -own),
      };
    },
  };
}

/** Connections of a listener: their callers and their time limits. */
export type Connections = ReturnType<typeof watchConnections>;

/**
 * Refuses connections before a handshake costs anything. Closes connections without HTTP/2, silent
 * connections, and strangers' connections after a while whatever they send, so that strangers
 * cannot take the place of agents.
 */
export function watchConnections(
  server: Http2SecureServer,
  limits: AgentServerLimits,
  clock: Clock,
) {
  const open = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  /** Time limits of connections without a known agent yet. */
  const ends = new Map<Http2Session, unknown>();
  const refusals = new WeakMap<Http2Session, number>();
  const strangers = createStrangers(limits, clock);

  const accepted = (session: Http2Session) => {
    refusals.delete(session);
    if (!ends.has(session)) return;
    clock.clearTimeout(ends.get(session));
    ends.delete(session);
    if (session.destroyed) return;
    strangers.known(session.socket);
    watchIdle(session, limits, clock);
  };
  server.maxConnections = limits.connectionsMax;
  server.prependListener('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    if (!strangers.enter(socket)) socket.destroy();
  });
  server.on('unknownProtocol', (socket) => socket.destroy());
  server.on('session', (session) => {
    sessions.add(session);
    ends.set(
      session,
      clock.setTimeout(() => session.destroy(), limits.strangerMs),
    );
    session.on('close', () => {
      sessions.delete(session);
      clock.clearTimeout(ends.get(session));
      ends.delete(session);
    });
  });
  return {
    sessions,
    /** A known agent has called on this connection. */
    accepted,
    /** A call was refused through its caller's fault; too many such calls close the connection. */
    refused(session: Http2Session): void {
      const count = (refusals.get(session) ?? 0) + 1;
      refusals.set(session, count);
      if (count > limits.refusedCallsMax) session.destroy();
    },
    /** Closes all connections at once. */
    destroy: (): void => open.forEach((socket) => socket.destroy()),
  };
}

/**
 * Closes a connection after a silent period. The session's own timeout would be reset for each
 * frame, several times a call; this checks only periodically.
 */
function watchIdle(
  session: Http2Session,
  { idleMs }: Pick<AgentServerLimits, 'idleMs'>,
  clock: Clock,
): void {
  let seenBytes = session.socket.bytesRead;
  const look = () => {
    // The session is over and has no socket any more; only the peer's end of the socket is still
    // open.
    if (session.destroyed) return;
    const { bytesRead } = session.socket;
    if (bytesRead === seenBytes) session.destroy();
    else timer = clock.setTimeout(look, idleMs);
    seenBytes = bytesRead;
  };
  let timer = clock.setTimeout(look, idleMs);
  session.on('close', () => clock.clearTimeout(timer));
}
