import { stableId } from '../state/catalogue.ts';

/** The ports of a machine: two of the network, bonded into one. */
export function networkPortsOf(deviceId: string, href: (path: string) => string): object[] {
  const id = (name: string) => stableId(`port ${name} of ${deviceId}`);
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
    ...['eth0', 'eth1'].map((name) => ({
      ...port(name),
      type: 'NetworkPort',
      bond,
      data: { bonded: true, mac: macOf(id(name)) },
    })),
  ];
}

/** An address of those that nobody sells: bit two of the first byte is set. */
const macOf = (id: string): string => ['02', ...(id.slice(-10).match(/../g) ?? [])].join(':');
