import type { Server, Socket } from 'node:net';
import type { Clock } from '../adapters/clock/port.ts';
import { createStrangers, type StrangerLimits } from '../domain/strangers.ts';

/** Limits of connections to the console, which shares the daemon's process and descriptors. */
export interface ConnectionLimits extends StrangerLimits {
  readonly connectionsMax: number;
  /** How long a connection may be open before one of its requests is admitted. */
  readonly strangerMs: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  // Each stream and each command is a connection of its own.
  connectionsMax: 1_000,
  connects: { perSecond: 50, burst: 400 },
  strangersMax: 400,
  strangersPerAddress: 100,
  strangerMs: 60_000,
};
/** All people may come from the address of one proxy, which then has to limit them. */
const BY_PROXY = {
  connects: { perSecond: 1_000_000, burst: 1_000_000 },
  strangersPerAddress: CONNECTION_LIMITS.strangersMax,
};
/** The database, agents and machines need descriptors, too. */
const SHARE_OF_DESCRIPTORS = 1 / 4;

/** @param descriptorsMax limit of open descriptors of this process; null: unknown. */
export function limitsFor(descriptorsMax: number | null, isProxied: boolean): ConnectionLimits {
  const usual = { ...CONNECTION_LIMITS, ...(isProxied && BY_PROXY) };
  const share = Math.max(8, Math.floor((descriptorsMax ?? Infinity) * SHARE_OF_DESCRIPTORS));
  const connectionsMax = Math.min(usual.connectionsMax, share);
  const strangersMax = Math.min(usual.strangersMax, Math.ceil(connectionsMax / 2));
  const perAddress = isProxied ? strangersMax : Math.ceil(strangersMax / 2);
  const strangersPerAddress = Math.min(usual.strangersPerAddress, perAddress);
  return { ...usual, connectionsMax, strangersMax, strangersPerAddress };
}

/**
 * Refuses excess connections before they cost a handshake. Ends connections that have no admitted
 * request after a while. So strangers cannot take the places of people and agents.
 */
export function boundConnections(server: Server, limits: ConnectionLimits, clock: Clock) {
  const strangers = createStrangers(limits, clock);
  /** End time by TCP socket. */
  const ends = new Map<string, unknown>();
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  const stay = (name: string) => {
    clock.clearTimeout(ends.get(name));
    ends.delete(name);
  };
  server.maxConnections = limits.connectionsMax;
  server.prependListener('connection', (socket: Socket) => {
    const name = nameOf(socket);
    if (!strangers.enter(socket)) return socket.destroy();
    stay(name);
    const end = clock.setTimeout(() => socket.destroy(), limits.strangerMs);
    ends.set(name, end);
    return socket.once('close', () => ends.get(name) === end && stay(name));
  });
  return {
    /** A request on this connection was admitted. */
    known(socket: Socket): void {
      stay(nameOf(socket));
      strangers.known(socket);
    },
  };
}
