import type { Address, State } from './state.ts';
import { stableId } from './catalogue.ts';

/** Two addresses (a /31) per device; 198.18.0.0/15 is reserved for test benches (RFC 2544). */
const PAIRS = 65_536;

/**
 * A device's three management addresses. `machine` is where the simulated machine listens; without
 * one the public IPv4 address is made up too, and nothing answers there.
 */
export function createAddresses(
  state: State,
  deviceId: string,
  machine: string | undefined,
): Address[] {
  const pair = state.addressCount++ % PAIRS;
  const made = `198.${18 + (pair >> 15)}.${(pair >> 7) & 255}.${((pair & 127) << 1) | 1}`;
  const group = (pair + 1).toString(16);
  return [
    machine === undefined
      ? four(deviceId, { address: made, public: true })
      : {
          ...four(deviceId, { address: machine, public: true }),
          cidr: 32,
          netmask: '255.255.255.255',
        },
    {
      id: stableId(`${deviceId} public 6`),
      address: `2001:db8:${group}::3`,
      family: 6,
      public: true,
      cidr: 127,
      gateway: `2001:db8:${group}::2`,
      netmask: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe',
      network: `2001:db8:${group}::2`,
    },
    four(deviceId, { address: `10.${64 + (pair >> 15)}${made.slice(6)}`, public: false }),
  ];
}

function four(deviceId: string, of: { address: string; public: boolean }): Address {
  const parts = of.address.split('.');
  const network = [...parts.slice(0, 3), Number(parts[3]) & ~1].join('.');
  const id = stableId(`${deviceId} ${of.public ? 'public' : 'private'} 4`);
  return { id, ...of, family: 4, cidr: 31, gateway: network, network, netmask: '255.255.255.254' };
}
