import { expect, test } from 'vitest';
import { DRIVERS } from '../../../src/adapters/provider/drivers.ts';
import type { Driver } from '../../../src/adapters/provider/port.ts';
import { driverTable } from '../../../src/settings/driver-table.ts';

const some = DRIVERS.get('static')!;
const named = (name: string): Driver => ({ ...some, name });

test('lists the existing drivers', () => {
  expect([...DRIVERS.keys()]).toEqual([
    'equinix',
    'hetzner-robot',
    'latitude',
    'redfish',
    'static',
  ]);
  for (const [name, driver] of DRIVERS) expect(driver.name).toBe(name);
});

test('refuses to start with two drivers of one name', () => {
  expect(() => driverTable([named('rack'), some, named('rack')])).toThrow(
    'two drivers are named rack',
  );
});

test.each(['', 'Rack', '1rack', 'rack_1', 'r'.repeat(32), 'rack '])(
  'refuses the driver name "%s"',
  (name) => {
    expect(() => driverTable([named(name)])).toThrow('is not a valid driver name');
  },
);
test.each(['r', 'rack-1', 'r'.repeat(31)])('accepts the driver name %s', (name) => {
  expect([...driverTable([named(name)]).keys()]).toEqual([name]);
});
