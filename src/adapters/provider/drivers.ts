import { driverTable } from '../../settings/driver-table.ts';
import { equinixDriver } from './equinix/driver.ts';
import { hetznerRobotDriver } from './hetzner-robot/driver.ts';
import { latitudeDriver } from './latitude/driver.ts';
import type { Driver } from './port.ts';
import { redfishDriver } from './redfish/driver.ts';
import { staticDriver } from './static/driver.ts';

/** All kinds of providers. A new one needs its folder and one line here. */
export const DRIVERS: ReadonlyMap<string, Driver> = driverTable<Driver>([
  equinixDriver,
  hetznerRobotDriver,
  latitudeDriver,
  redfishDriver,
  staticDriver,
]);
