import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import {
  createFleetProvider,
  type FleetProviderOptions,
} from '../../../../src/adapters/provider/core/fleet-provider.ts';
import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import { equinixDriver } from '../../../../src/adapters/provider/equinix/driver.ts';
import type {
  EquinixConfig,
  EquinixSettings,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import type { Network } from '../../../../src/adapters/network/port.ts';
import type {
  CallOptions,
  Driver,
  DriverContext,
  FleetProvider,
} from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { driven } from '../../../doubles/simulated-clock.ts';
import type { Recorded } from './setup.ts';

/** The driver in the core's hands, as the fleet has it; its calls let time pass. */
export const fleetOver = (
  config: EquinixConfig,
  deps: Recorded,
  change: Partial<FleetProviderOptions> = {},
): FleetProvider => driven(deps.clock, bareFleetOver(config, deps, change));

/** The same in time that somebody else lets pass. */
export function bareFleetOver(
  config: EquinixConfig,
  deps: Omit<Recorded, 'clock' | 'network'> & Pick<DriverContext, 'clock' | 'network'>,
  change: Partial<FleetProviderOptions> = {},
): FleetProvider {
  const options = {
    name: providerName(config.name),
    type: 'equinix',
    instanceSetId: config.instanceSetId,
    sharedTags: {},
    image: null,
    initCommand: '',
    publicKey: config.publicKeyLine,
    ...change,
  };
  const metrics = { ...silentMetrics, ...deps.metrics };
  return createFleetProvider(createEquinixProvider(config, deps), options, { ...deps, metrics });
}

/** For a call of the driver itself; whatever machine it is about is taken for ours. */
export const callOf = (change: Partial<CallOptions> = {}): CallOptions => ({
  signal: new AbortController().signal,
  deadline: new Date(8_640_000_000_000_000),
  operationId: '0b6e0000-0000-4000-8000-000000000000',
  requireOurs: () => undefined,
  ...change,
});

/** The driver as a configuration names it, over a network in memory. */
export const over = (network: Network): ReadonlyMap<string, Driver> =>
  new Map([
    [
      equinixDriver.name,
      {
        ...(equinixDriver as Driver),
        open: (settings, context) =>
          equinixDriver.open(settings as EquinixSettings, { ...context, network }),
      },
    ],
  ]);
