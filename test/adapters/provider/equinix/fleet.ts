import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import {
  createFleetProvider,
  type FleetProviderOptions,
} from '../../../../src/adapters/provider/core/fleet-provider.ts';
import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import type { EquinixConfig } from '../../../../src/adapters/provider/equinix/settings.ts';
import type { CallOptions, FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { Recorded } from './setup.ts';

/** The driver in the core's hands, as the fleet has it. */
export function fleetOver(
  config: EquinixConfig,
  deps: Recorded,
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
