import { driverTable } from '../../settings/driver-table.ts';
import { anexiaDriver } from './anexia/driver.ts';
import { haproxyDriver } from './haproxy/driver.ts';
import type { BalancerDriver } from './port.ts';

/** Every kind of load balancer there is. A new one is its folder and one line here. */
export const BALANCER_DRIVERS: ReadonlyMap<string, BalancerDriver> = driverTable<BalancerDriver>([
  anexiaDriver,
  haproxyDriver,
]);
