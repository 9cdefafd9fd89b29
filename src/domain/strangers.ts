import { networkOf } from '../lib/network.ts';
import { createRateLimit, type Monotonic, type Rate } from '../lib/rate-limit.ts';

/** Limits for connections without an authenticated peer. */
export interface StrangerLimits {
  /** New connections per address, or per /64 for IPv6. Each costs 2 ms of processor time. */
  readonly connects: Rate;
  /**
   * Maximum number of unauthenticated connections. Beyond it, a network with fewer connections
   * takes the oldest place of the network with the most.
   */
  readonly strangersMax: number;
  /** The same limit per address, or per /64 for IPv6. */
  readonly strangersPerAddress: number;
}

/** A TCP connection, or TLS on top of it. */
interface Peer {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}
interface Connection extends Peer {
  destroy(): unknown;
  once(event: 'close', heard: () => void): unknown;
}

/** Identifies an open connection to this listener. */
const nameOf = ({ remoteAddress, remotePort }: Peer) => `${remoteAddress} ${remotePort}`;

/**
 * Counts unauthenticated connections in total and by network. At the total limit, a network with
 * fewer connections replaces the oldest connection of the network with the most. So a few addresses
 * cannot keep others out.
 */
export function createStrangers(limits: StrangerLimits, clock: Monotonic) {
  const { strangersMax, strangersPerAddress } = limits;
  const connects = createRateLimit(limits.connects, clock);
  const networks = new Map<string, string>();
  /** Connections by network, then by name, oldest first. */
  const sockets = new Map<string, Map<string, Connection>>();
  const remove = (name: string): void => {
    const network = networks.get(name);
    if (network === undefined) return;
    networks.delete(name);
    const those = sockets.get(network)!;
    those.delete(name);
    if (those.size === 0) sockets.delete(network);
  };
  const makeRoom = (fewerThan: number): boolean => {
    let most: ReadonlyMap<string, Connection> = new Map();
    for (const those of sockets.values()) if (those.size > most.size) most = those;
    const [oldest] = most;
    if (!oldest || most.size <= fewerThan) return false;
    const [name, socket] = oldest;
    remove(name);
    socket.destroy();
    return true;
  };
  return {
    /** Whether one more connection fits. It counts until its peer is authenticated or it closes. */
    enter(socket: Connection): boolean {
      const [name, network] = [nameOf(socket), networkOf(socket.remoteAddress ?? '')];
      // A newer connection from the same port stays.
      socket.once('close', () => {
        if (sockets.get(networks.get(name) ?? '')?.get(name) === socket) remove(name);
      });
      if (!connects.take(network)) return false;
      // Same port again: the other connection's close is on its way.
      remove(name);
      const those = sockets.get(network) ?? new Map<string, Connection>();
      if (those.size >= strangersPerAddress) return false;
      if (networks.size >= strangersMax && !makeRoom(those.size)) return false;
      networks.set(name, network);
      sockets.set(network, those.set(name, socket));
      return true;
    },
    /** A peer was authenticated on the connection, or on a connection that it carries. */
    known: (peer: Peer): void => remove(nameOf(peer)),
  };
}
