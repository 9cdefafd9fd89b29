import type { FleetProvider, Listing } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';

/** A provider of which only what the test overrides works. */
export function scriptedProvider(change: Partial<FleetProvider> = {}): FleetProvider {
  const unused = (name: string) => () => {
    throw new Error(`"${name}" is not scripted`);
  };
  return {
    name: providerName('stub'),
    type: 'stub',
    capabilities: {
      create: true,
      deprovision: true,
      reboot: true,
      reinstall: true,
      power: true,
      tags: true,
      hostKey: false,
      consistentList: true,
      maxConcurrency: 64,
    },
    listMachines: async (): Promise<Listing> => ({ machines: [], complete: true }),
    getMachine: unused('getMachine'),
    createMachine: unused('createMachine'),
    findByWitness: unused('findByWitness'),
    deprovisionMachine: unused('deprovisionMachine'),
    isReusable: unused('isReusable'),
    rebootMachine: unused('rebootMachine'),
    reinstallMachine: unused('reinstallMachine'),
    setPower: unused('setPower'),
    resetController: unused('resetController'),
    setTags: unused('setTags'),
    assimilate: unused('assimilate'),
    verifyHostKey: async () => {
      throw new ProviderError('not-implemented', 'the stub knows no host keys');
    },
    capacityGroup: ({ name }) => name,
    hostnameFor: (slotId) => `machine-${slotId}`,
    prepare: async () => undefined,
    sweep: async () => ({ removed: [] }),
    stop: async () => undefined,
    ...change,
  };
}
