import { Registry } from 'prom-client';
import { balancingFamilies } from '../../../src/adapters/metrics/balancing-families.ts';
import { consoleFamilies, daemonFamilies } from '../../../src/adapters/metrics/daemon-families.ts';
import {
  bmdbFamilies,
  driverFamilies,
  equinixFamilies,
  fleetFamilies,
  guardFamilies,
  provisionerFamilies,
  timingFamilies,
  webhookFamilies,
} from '../../../src/adapters/metrics/families.ts';
import {
  hardwareFamilies,
  statisticsFamilies,
} from '../../../src/adapters/metrics/statistics-families.ts';

/** As the library keeps them, some of it undeclared. */
export interface RegisteredFamily {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
}

function register(): Registry {
  const registry = new Registry();
  balancingFamilies(registry);
  bmdbFamilies(registry);
  consoleFamilies(registry);
  daemonFamilies(registry);
  driverFamilies(registry);
  equinixFamilies(registry);
  fleetFamilies(registry);
  guardFamilies(registry);
  hardwareFamilies(registry);
  provisionerFamilies(registry);
  statisticsFamilies(registry);
  timingFamilies(registry);
  webhookFamilies(registry);
  return registry;
}

/** Every family of ours, by name: what documents, rules and dashboards may speak of. */
export const REGISTERED: readonly RegisteredFamily[] = register()
  .getMetricsAsArray()
  .map((family) => {
    const { name, help, labelNames } = family as unknown as RegisteredFamily;
    return { name, help, labelNames, type: family.constructor.name.toLowerCase() };
  })
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));
