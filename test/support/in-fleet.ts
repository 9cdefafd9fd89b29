import type { Clock } from '../../src/adapters/clock/port.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import {
  createFleetProvider,
  type FleetProviderOptions,
} from '../../src/adapters/driver-kit/fleet-provider.ts';
import type { FleetProvider, Provider } from '../../src/adapters/provider/port.ts';
import { providerName } from '../../src/domain/ids.ts';

/** A driver's provider as the core uses it, with default options. */
export const inFleet = (
  driven: Provider,
  options: Partial<FleetProviderOptions> & Pick<FleetProviderOptions, 'instanceSetId'>,
  clock: Clock,
): FleetProvider =>
  createFleetProvider(
    driven,
    {
      name: providerName('stub'),
      type: 'stub',
      sharedTags: {},
      image: null,
      initCommand: '',
      publicKey: '',
      ...options,
    },
    { clock, random: createSeededRandom(1), log: silentLog, metrics: silentMetrics },
  );
