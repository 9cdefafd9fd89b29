import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { Driver } from '../../../src/adapters/provider/port.ts';
import { createMemProvider, type MemProviderDeps } from '../../doubles/mem-provider.ts';

/** An in-memory provider with minimal cost for the daemon. */
export interface BenchProvider {
  readonly instanceSetId: string;
  readonly drivers: ReadonlyMap<string, Driver>;
}

/** @param machines amount of free capacity. Created machines run at once. */
export function benchProvider(
  machines: number,
  deps: Partial<MemProviderDeps> = {},
): BenchProvider {
  const instanceSetId = 'bench-fleet-000000000000001';
  const { driver } = createMemProvider(
    {
      ...{ devicePrefix: 'bench-', instanceSetId, provisioningMs: 0, latencyMs: 0 },
      ...{ reservations: machines, without: deps.hostKeyAt ? [] : ['hostKey'] },
    },
    { clock: systemClock, random: systemRandom, ...deps },
  );
  return { instanceSetId, drivers: new Map([[driver.name, driver]]) };
}
