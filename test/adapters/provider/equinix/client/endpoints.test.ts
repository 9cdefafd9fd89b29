import { expect, test } from 'vitest';
import { endpointName } from '../../../../../src/adapters/provider/equinix/api.ts';

test.each([
  ['GET', '/devices/x', 'GetDevice'],
  ['GET', '/projects/x/devices', 'ListDevices'],
  ['GET', '/organizations/x/devices', 'ListDevices'],
  ['POST', '/projects/x/devices', 'CreateDevice'],
  ['PUT', '/devices/x', 'UpdateDevice'],
  ['PATCH', '/devices/x', 'UpdateDevice'],
  ['DELETE', '/devices/x', 'DeleteDevice'],
  ['POST', '/devices/x/actions', 'PerformDeviceAction'],
  ['GET', '/devices/x/events', 'ListDeviceEvents'],
  ['GET', '/projects/x/hardware-reservations', 'ListReservations'],
  ['GET', '/organizations/x/hardware-reservations', 'ListOrganizationReservations'],
  ['GET', '/hardware-reservations/x', 'GetReservation'],
  ['POST', '/hardware-reservations/x/move', 'MoveReservation'],
  ['GET', '/projects/x/ssh-keys', 'ListProjectSSHKeys'],
  ['POST', '/projects/x/ssh-keys', 'CreateSSHKey'],
  ['POST', '/ssh-keys', 'CreateSSHKey'],
  ['GET', '/ssh-keys/x', 'GetSSHKey'],
  ['PATCH', '/ssh-keys/x', 'UpdateSSHKey'],
  ['PUT', '/ssh-keys/x', 'UpdateSSHKey'],
  ['DELETE', '/ssh-keys/x', 'DeleteSSHKey'],
  ['GET', '/plans', null],
])('%s %s is %s', (method, path, name) => {
  expect(endpointName(method, path)).toBe(name);
});
