import { driverTable } from '../../settings/driver-table.ts';
import { anexiaDriver } from './anexia/driver.ts';
import { haproxyDriver } from './haproxy/driver.ts';
import type { BalancerDriver } from './port.ts';

/** All kinds of load balancers. A new one needs its folder and one line here. */
export const BALANCER_DRIVERS: ReadonlyMap<string, BalancerDriver> = driverTable<BalancerDriver>([
  anexiaDriver,
  haproxyDriver,
]);
