import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../clock/port.ts';
import type { AgentServerLimits } from './limits.ts';
import { createStrangers } from '../../domain/strangers.ts';

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
