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
  /** Resolves once no call is under way. */
  idle(): Promise<void>;
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
  const timers = new Map<Http2Session, unknown>();
  const refusals = new WeakMap<Http2Session, number>();
  const connects = createRateLimit(limits.connects, clock);
  const strangers = createStrangers(limits);

  const accepted = (session: Http2Session) => {
    refusals.delete(session);
    if (!timers.has(session)) return;
    clock.clearTimeout(timers.get(session));
    timers.delete(session);
    if (!session.destroyed) strangers.leave(peerOf(session.socket));
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
  let calls = 0;
  const waiting: (() => void)[] = [];
  server.on('stream', (stream) => {
    calls += 1;
    stream.on('close', () => {
      calls -= 1;
      if (calls === 0) for (const resolve of waiting.splice(0)) resolve();
    });
  });
  server.on('unknownProtocol', (socket) => socket.destroy());
  server.on('session', (session) => {
    sessions.add(session);
    timers.set(
      session,
      clock.setTimeout(() => session.destroy(), limits.strangerMs),
    );
    session.on('close', () => {
      sessions.delete(session);
      clock.clearTimeout(timers.get(session));
      timers.delete(session);
    });
    session.setTimeout(limits.idleMs, () => session.destroy());
  });
  return {
    sessions,
    accepted,
    refused(session) {
      const count = (refusals.get(session) ?? 0) + 1;
      refusals.set(session, count);
      if (count > limits.refusedCallsMax) session.destroy();
    },
    idle: () => new Promise((resolve) => void (calls === 0 ? resolve() : waiting.push(resolve))),
    destroy: () => open.forEach((socket) => socket.destroy()),
  };
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
