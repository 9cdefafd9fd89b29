import type { WantedAddress } from './device-order.ts';
import type { Address, State } from './state.ts';
import { stableId } from './catalogue.ts';

/** 198.18.0.0/15 is reserved for test benches (RFC 2544): so many networks of two addresses. */
const PAIRS = 65_536;
type Base = Omit<WantedAddress, 'cidr'> & { id: string };

/**
 * A device's management addresses, as it wants them. `machine` is where the simulated machine
 * listens; without one the public IPv4 address is made up too, and nothing answers there.
 */
export function createAddresses(
  state: State,
  { id, wantedAddresses }: { id: string; wantedAddresses: readonly WantedAddress[] },
  machine: string | undefined,
): Address[] {
  const pair = takePairs(state, wantedAddresses);
  return wantedAddresses.map(({ cidr, ...wanted }) => {
    const kind = `${wanted.public ? 'public' : 'private'} ${wanted.family}`;
    const base = { ...wanted, id: stableId(`${id} ${kind}`) };
    if (wanted.family === 6) return six(base, pair, cidr);
    if (wanted.public && machine !== undefined) return listening(base, machine);
    return four(base, wanted.public ? 198 : 10, pair, cidr);
  });
}

/** The first pair of a network, aligned, that holds the largest IPv4 network wanted. */
function takePairs(state: State, wanted: readonly WantedAddress[]): number {
  const lengths = wanted.filter(({ family }) => family === 4).map(({ cidr }) => cidr);
  const size = 2 ** (31 - Math.min(31, ...lengths));
  const first = Math.ceil(state.addressCount / size) * size;
  state.addressCount = first + size;
  return first % PAIRS;
}

/** In a network of two the gateway is the first address; in a larger one that is the network's. */
const gatewayIn = (cidr: number, pairLength: number) => (cidr === pairLength ? 0 : 1);

function four(base: Base, first: 198 | 10, pair: number, cidr: number): Address {
  const second = (first === 198 ? 18 : 64) + (pair >> 15);
  const at = (offset: number) =>
    `${first}.${second}.${(pair >> 7) & 255}.${((pair & 127) << 1) + offset}`;
  const gateway = gatewayIn(cidr, 31);
  return {
    ...base,
    address: at(gateway + 1),
    cidr,
    gateway: at(gateway),
    network: at(0),
    netmask: `255.255.255.${256 - 2 ** (32 - cidr)}`,
  };
}

/** A machine's address on this computer is alone in its network. */
function listening(base: Base, address: string): Address {
  const parts = address.split('.');
  const network = [...parts.slice(0, 3), Number(parts[3]) & ~1].join('.');
  return { ...base, address, cidr: 32, gateway: network, network, netmask: '255.255.255.255' };
}

function six(base: Base, pair: number, cidr: number): Address {
  const at = (last: number) => `2001:db8:${(pair + 1).toString(16)}::${last === 0 ? '' : last}`;
  const network = cidr === 127 ? 2 : 0;
  const mask = (0x10000 - 2 ** (128 - cidr)).toString(16);
  return {
    ...base,
    address: at(3),
    cidr,
    gateway: at(network + gatewayIn(cidr, 127)),
    network: at(network),
    netmask: `ffff:ffff:ffff:ffff:ffff:ffff:ffff:${mask}`,
  };
}
