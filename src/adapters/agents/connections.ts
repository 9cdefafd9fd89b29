import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../clock/port.ts';
import { createRateLimit } from './limits.ts';
import type { AgentServerLimits } from './limits.ts';
import { networkOf } from '../../domain/network.ts';

/** The connections of a listener: whose they are, and when they have to end. */
export interface Connections {
  readonly sessions: ReadonlySet<Http2Session>;
  /** An agent of ours was heard on this connection. */
  accepted(session: Http2Session): void;
  /** A call on it was refused, whose caller is to blame; too many of them end the connection. */
  refused(session: Http2Session): void;
  /** Ends them all at once. */
  destroy(): void;
}

/**
 * Refuses connections before they cost a handshake, ends those that speak no HTTP/2, those that
 * nothing comes on any more, and those of strangers after a while whatever comes on them: they are
 * not to take the place of agents.
 */
export function watchConnections(
  server: Http2SecureServer,
  limits: AgentServerLimits,
  clock: Clock,
): Connections {
  const open = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  /** When those that no agent was heard on yet have to end. */
  const ends = new Map<Http2Session, unknown>();
  const refusals = new WeakMap<Http2Session, number>();
  const connects = createRateLimit(limits.connects, clock);
  const strangers = createStrangers(limits);

  const accepted = (session: Http2Session) => {
    refusals.delete(session);
    if (!ends.has(session)) return;
    clock.clearTimeout(ends.get(session));
    ends.delete(session);
    if (session.destroyed) return;
    strangers.leave(peerOf(session.socket));
    watchIdle(session, limits, clock);
  };
  server.maxConnections = limits.connectionsMax;
  server.prependListener('connection', (socket: Socket) => {
    const [peer, network] = [peerOf(socket), networkOf(socket.remoteAddress ?? '')];
    open.add(socket);
    socket.on('close', () => {
      open.delete(socket);
      strangers.leave(peer, socket);
    });
    if (!connects.take(network) || !strangers.enter(peer, network, socket)) socket.destroy();
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
    accepted,
    refused(session) {
      const count = (refusals.get(session) ?? 0) + 1;
      refusals.set(session, count);
      if (count > limits.refusedCallsMax) session.destroy();
    },
    destroy: () => open.forEach((socket) => socket.destroy()),
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

/** Names a connection to this listener as long as it is open. */
const peerOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>) =>
  `${remoteAddress} ${remotePort}`;

/**
 * Counts the connections on which no agent was heard yet, in all and by network. While there are too
 * many in all, a network with fewer takes the oldest place of the one that has most: whoever has a few
 * addresses keeps nobody else out.
 */
function createStrangers({
  strangersMax,
  strangersPerAddress,
}: Pick<AgentServerLimits, 'strangersMax' | 'strangersPerAddress'>) {
  const networks = new Map<string, string>();
  /** Of each network, by peer, the oldest first. */
  const sockets = new Map<string, Map<string, Socket>>();
  const remove = (peer: string): void => {
    const network = networks.get(peer);
    if (network === undefined) return;
    networks.delete(peer);
    const those = sockets.get(network)!;
    those.delete(peer);
    if (those.size === 0) sockets.delete(network);
  };
  const makeRoom = (fewerThan: number): boolean => {
    let most: ReadonlyMap<string, Socket> = new Map();
    for (const those of sockets.values()) if (those.size > most.size) most = those;
    const [oldest] = most;
    if (!oldest || most.size <= fewerThan) return false;
    const [peer, socket] = oldest;
    remove(peer);
    socket.destroy();
    return true;
  };
  return {
    /** Whether there is room for one more. */
    enter(peer: string, network: string, socket: Socket): boolean {
      // The same port again: the end of the other is on its way.
      remove(peer);
      const those = sockets.get(network) ?? new Map<string, Socket>();
      if (those.size >= strangersPerAddress) return false;
      if (networks.size >= strangersMax && !makeRoom(those.size)) return false;
      networks.set(peer, network);
      sockets.set(network, those.set(peer, socket));
      return true;
    },
    /** It is a stranger's no more. With a socket: only if it is this one's. */
    leave(peer: string, socket?: Socket): void {
      const held = sockets.get(networks.get(peer) ?? '')?.get(peer);
      if (socket === undefined || held === socket) remove(peer);
    },
  };
}
