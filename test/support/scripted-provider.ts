import type { Listing, Provider } from '../../src/adapters/provider/port.ts';

/** A provider of which only what the test overrides works. */
export function scriptedProvider(change: Partial<Provider> = {}): Provider {
  const unused = (name: string) => () => {
    throw new Error(`"${name}" is not scripted`);
  };
  return {
    type: 'stub',
    capabilities: { reboot: true },
    listMachines: async (): Promise<Listing> => ({ machines: [], complete: true }),
    getMachine: unused('getMachine'),
    createMachine: unused('createMachine'),
    findByWitness: unused('findByWitness'),
    rebootMachine: unused('rebootMachine'),
    hostnameFor: (slotId) => `machine-${slotId}`,
    stop: async () => undefined,
    ...change,
  };
}
