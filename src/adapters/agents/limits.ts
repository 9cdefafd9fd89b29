import { KEYS_MAX, type Rate } from '../../lib/rate-limit.ts';
import { type StrangerLimits, createStrangers } from '../../domain/strangers.ts';
import type { Clock } from '../clock/port.ts';
import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** What one caller may cost us. */
export interface AgentServerLimits extends StrangerLimits {
  /** Of one message. */
  readonly messageBytes: number;
  /** From the first byte of a call to its answer, however slowly it is sent. */
  readonly callMs: number;
  readonly connectionsMax: number;
  /** Calls in a row that may be refused on one connection before it is ended. */
  readonly refusedCallsMax: number;
  /** Calls of one connection that its peer takes back. */
  readonly resets: Rate;
  /** Calls with one client key. */
  readonly callsPerKey: Rate;
  /** Calls of one address that end UNAUTHENTICATED; beyond, its next ones are refused unread. */
  readonly refusalsPerAddress: Rate;
  /** Heartbeats that wait for the database. */
  readonly waitingMax: number;
  /** How long a refusal is remembered. */
  readonly refusalMs: number;
  /** How long a connection may be open before an agent of ours was heard on it. */
  readonly strangerMs: number;
  /** How long nothing may come on a connection of an agent; it is ended after twice this at most. */
  readonly idleMs: number;
  /** What agents, each by its key, have us hold in memory at once. */
  readonly agentBytes: Room;
  /** The same of callers that are no agents as far as we know, each by its address. */
  readonly strangerBytes: Room;
  /**
   * What a connection may hold before any of it counts as a stranger's. A heartbeat without a
   * hardware report fits, so no crowd of strangers keeps out an agent that is not known yet.
   */
  readonly connectionBytes: number;
}

/** How many bytes all may take, and how many each of them. */
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
  // Less than what TLS and HTTP/2 hold for a connection.
  connectionBytes: 16 * KIB,
};

/** Remembers keys for a fixed time from when they were added first. */
export function createRecentSet(keepMs: number, clock: Clock) {
  // All are kept equally long, so insertion order is the order they end in.
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

/** Bytes that are held for callers; what one of them took must be given back. */
export interface ByteRoom<Caller> {
  enter(caller: Caller): Stay;
}

/** What one call holds. */
export interface Stay {
  /** Takes so many more if there is room for them. */
  take(bytes: number): boolean;
  /** Gives back all that was taken. Call once. */
  leave(): void;
}

/** Takes from the first that has room. */
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

/** The connections of a listener: whose they are, and when they have to end. */
export type Connections = ReturnType<typeof watchConnections>;

/**
 * Refuses connections before they cost a handshake, ends those that speak no HTTP/2, those that
 * nothing comes on any more, and those of strangers after a while whatever comes on them: they are
 * not to take the place of agents.
 */
export function watchConnections(
  server: Http2SecureServer,
  limits: AgentServerLimits,
  clock: Clock,
) {
  const open = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  /** When those that no agent was heard on yet have to end. */
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
    /** An agent of ours was heard on this connection. */
    accepted,
    /** A call on it was refused, whose caller is to blame; too many of them end the connection. */
    refused(session: Http2Session): void {
      const count = (refusals.get(session) ?? 0) + 1;
      refusals.set(session, count);
      if (count > limits.refusedCallsMax) session.destroy();
    },
    /** Ends them all at once. */
    destroy: (): void => open.forEach((socket) => socket.destroy()),
  };
}

/**
 * Ends a connection on which nothing came for a while. The session's own timeout would be set anew
 * for each frame, several times a call; here is one look in a while.
 */
function watchIdle(
  session: Http2Session,
  { idleMs }: Pick<AgentServerLimits, 'idleMs'>,
  clock: Clock,
): void {
  let seenBytes = session.socket.bytesRead;
  const look = () => {
    // It is over, and only the peer's end of the socket is still open: the session has none any more.
    if (session.destroyed) return;
    const { bytesRead } = session.socket;
    if (bytesRead === seenBytes) session.destroy();
    else timer = clock.setTimeout(look, idleMs);
    seenBytes = bytesRead;
  };
  let timer = clock.setTimeout(look, idleMs);
  session.on('close', () => clock.clearTimeout(timer));
}
