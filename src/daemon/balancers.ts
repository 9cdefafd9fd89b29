import type { OpenBalancer } from '../actors/balancing/deps.ts';
import type { BalancerDriver, LoadBalancer } from '../adapters/balancer/port.ts';
import { ownBalancerSettingsOf, type BalancerConfig } from '../config.ts';
import { UsageError } from '../domain/errors.ts';
import type { DriverMeans, Means } from './ports.ts';

/** The means to open a balancer. */
export interface BalancerMeans extends DriverMeans {
  /** By the value of `driver:` in a configuration. */
  readonly drivers: ReadonlyMap<string, BalancerDriver>;
}

/**
 * Opens one configured balancer; makes no call yet. The caller closes it.
 * @throws {UsageError} contradictory settings.
 */
export function openBalancer(
  name: string,
  settings: BalancerConfig,
  means: BalancerMeans,
): LoadBalancer {
  const driver = means.drivers.get(settings.driver);
  if (!driver) throw new UsageError(`balancer ${name}: there is no driver ${settings.driver}`);
  const { clock, random, metrics, version } = means;
  return driver.open(ownBalancerSettingsOf(settings), {
    name,
    clock,
    random,
    log: means.log.child({ component: `balancer ${name}` }),
    metrics,
    userAgent: `shepherd/${version}`,
  });
}

/**
 * Opens every configured balancer. The daemon closes them; their objects stay.
 * @throws {UsageError} contradictory settings.
 */
export function openBalancers(
  means: Means,
  drivers: ReadonlyMap<string, BalancerDriver>,
): ReadonlyMap<string, OpenBalancer> {
  const opened = new Map<string, OpenBalancer>();
  for (const [name, settings] of Object.entries(means.config.balancers)) {
    const balancer = openBalancer(name, settings, { ...means, drivers });
    means.closer.add(`balancer ${name}`, () => balancer.close());
    opened.set(name, { name, driver: settings.driver, balancer });
  }
  return opened;
}
