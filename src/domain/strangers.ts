import { networkOf } from '../lib/network.ts';
import { createRateLimit, type Monotonic, type Rate } from '../lib/rate-limit.ts';

/** What connections may cost on which nobody whom we know was heard yet. */
export interface StrangerLimits {
  /** New connections of one address; of IPv6, of one /64. Each costs us 2 ms of a processor. */
  readonly connects: Rate;
  /**
   * Connections on which nobody whom we know was heard yet. Beyond, one of a network with fewer takes
   * the oldest place of the network that has most.
   */
  readonly strangersMax: number;
  /** The same of one address; of IPv6, of one /64. */
  readonly strangersPerAddress: number;
}

/** A connection: of TCP, or of TLS on one. */
interface Peer {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}
interface Connection extends Peer {
  destroy(): unknown;
  once(event: 'close', heard: () => void): unknown;
}

/** Names a connection to this listener as long as it is open. */
const nameOf = ({ remoteAddress, remotePort }: Peer) => `${remoteAddress} ${remotePort}`;

/**
 * Counts the connections on which nobody whom we know was heard yet, in all and by network. While there
 * are too many in all, a network with fewer takes the oldest place of the one that has most: whoever has
 * a few addresses keeps nobody else out.
 */
export function createStrangers(limits: StrangerLimits, clock: Monotonic) {
  const { strangersMax, strangersPerAddress } = limits;
  const connects = createRateLimit(limits.connects, clock);
  const networks = new Map<string, string>();
  /** Of each network, by name, the oldest first. */
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
    /** Whether there is room for one more, which counts until it is known or closed. */
    enter(socket: Connection): boolean {
      const [name, network] = [nameOf(socket), networkOf(socket.remoteAddress ?? '')];
      // One that came since by the same port stays.
      socket.once('close', () => {
        if (sockets.get(networks.get(name) ?? '')?.get(name) === socket) remove(name);
      });
      if (!connects.take(network)) return false;
      // The same port again: the end of the other is on its way.
      remove(name);
      const those = sockets.get(network) ?? new Map<string, Connection>();
      if (those.size >= strangersPerAddress) return false;
      if (networks.size >= strangersMax && !makeRoom(those.size)) return false;
      networks.set(name, network);
      sockets.set(network, those.set(name, socket));
      return true;
    },
    /** Somebody whom we know was heard on it, or on what goes through it. */
    known: (peer: Peer): void => remove(nameOf(peer)),
  };
}
