import { stableId } from '../state/catalogue.ts';

const PHYSICAL = ['eth0', 'eth1'];
const portId = (deviceId: string, name: string) => stableId(`port ${name} of ${deviceId}`);

/** The addresses of its network cards. */
export const macsOf = (deviceId: string): string[] =>
  PHYSICAL.map((name) => macOf(portId(deviceId, name)));

/** The ports of a machine: two of the network, bonded into one. */
export function networkPortsOf(deviceId: string, href: (path: string) => string): object[] {
  const id = (name: string) => portId(deviceId, name);
  const bond = { id: id('bond0'), name: 'bond0' };
  const port = (name: string) => ({
    id: id(name),
    name,
    href: href(`/ports/${id(name)}`),
    disbond_operation_supported: true,
    virtual_networks: [],
  });
  return [
    { ...port('bond0'), type: 'NetworkBondPort', network_type: 'layer3', data: { bonded: true } },
    ...PHYSICAL.map((name) => ({
      ...port(name),
      type: 'NetworkPort',
      bond,
      data: { bonded: true, mac: macOf(id(name)) },
    })),
  ];
}

/** An address of those that nobody sells: bit two of the first byte is set. */
const macOf = (id: string): string => ['02', ...(id.slice(-10).match(/../g) ?? [])].join(':');
