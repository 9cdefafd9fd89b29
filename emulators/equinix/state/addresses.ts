import { stableId } from './catalogue.ts';
import type { Address, State } from './state.ts';

/** 198.18.0.0/15 is reserved for test benches (RFC 2544): this many networks of two addresses. */
const PAIRS = 65_536;

/**
 * A device's management addresses: public ones of both families, and a private one. `machine` is
 * the simulated machine's address. Without it the public IPv4 address is invented too, and nobody
 * answers there.
 */
export function createAddresses(state: State, deviceId: string, machine?: string): Address[] {
  const pair = state.addressCount++ % PAIRS;
  const four = (first: 198 | 10, isPublic: boolean): Omit<Address, 'id'> => {
    const second = (first === 198 ? 18 : 64) + (pair >> 15);
    const at = (last: number) =>
      `${first}.${second}.${(pair >> 7) & 255}.${((pair & 127) << 1) + last}`;
    const network = { gateway: at(0), network: at(0), netmask: '255.255.255.254', cidr: 31 };
    return { ...network, address: at(1), family: 4, public: isPublic };
  };
  const prefix = `2001:db8:${(pair + 1).toString(16)}::`;
  const six: Omit<Address, 'id'> = {
    ...{ address: `${prefix}3`, family: 6, public: true, cidr: 127 },
    ...{ gateway: `${prefix}2`, network: `${prefix}2` },
    netmask: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe',
  };
  const open = machine === undefined ? four(198, true) : listening(machine);
  return [open, six, four(10, false)].map((one) => ({
    ...one,
    id: stableId(`${deviceId} ${one.public ? 'public' : 'private'} ${one.family}`),
  }));
}

/** A machine's address on this computer is alone in its network. */
const listening = (address: string): Omit<Address, 'id'> => ({
  ...{ address, gateway: address, network: address },
  ...{ netmask: '255.255.255.255', cidr: 32, family: 4, public: true },
});
