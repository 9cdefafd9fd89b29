import { expect, test } from 'vitest';
import type { System } from '../../../../src/adapters/provider/redfish/client/system.ts';
import type { BmcEntry } from '../../../../src/adapters/provider/redfish/entries.ts';
import { checkIdentity } from '../../../../src/adapters/provider/redfish/rack.ts';

const look = (serial: string, system: Partial<System>) => () =>
  checkIdentity(
    { id: 'a', bmc: 'https://bmc', serial, uuid: null } as BmcEntry,
    { serial: null, sku: null, uuid: null, manufacturer: null, ...system } as System,
  );

test('a Dell is known by its service tag, as well as by the serial number of its board', () => {
  const dell = { manufacturer: 'Dell Inc.', serial: 'CNFCP0079500EV', sku: '5N5CKX2' };
  expect(look('5N5CKX2', dell)()).toBe('same');
  expect(look('CNFCP0079500EV', dell)()).toBe('same');
  expect(look('5N5CKX3', dell)).toThrow('serial number');
});

test('the product number of others is no identity, since all of a model have it', () => {
  const hpe = { manufacturer: 'HPE', serial: 'MXQ0000001', sku: '868703-B21' };
  expect(look('MXQ0000001', hpe)()).toBe('same');
  expect(look('868703-B21', hpe)).toThrow('serial number');
  expect(look('868703-B21', { ...hpe, serial: null })()).toBe('unproved');
});
