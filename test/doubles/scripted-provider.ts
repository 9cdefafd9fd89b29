import type { FleetProvider, Listing } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';

const NAMES =
  'getMachine createMachine findByWitness deprovisionMachine isReusable rebootMachine reinstallMachine setPower resetController setTags assimilate';
const UNUSED = Object.fromEntries(
  NAMES.split(' ').map((name) => {
    const unused = () => {
      throw new Error(`"${name}" is not scripted`);
    };
    return [name, unused];
  }),
) as unknown as FleetProvider;

const CAPABILITIES: FleetProvider['capabilities'] = {
  create: true,
  deprovision: true,
  reboot: true,
  reinstall: true,
  power: true,
  tags: true,
  hostKey: false,
  consistentList: true,
  maxConcurrency: 64,
};

/** A provider in which only the test's overrides work. */
export function scriptedProvider(change: Partial<FleetProvider> = {}): FleetProvider {
  return {
    ...UNUSED,
    name: providerName('stub'),
    type: 'stub',
    capabilities: CAPABILITIES,
    listMachines: async (): Promise<Listing> => ({ machines: [], complete: true }),
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
