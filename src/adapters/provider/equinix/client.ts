import { createCaller } from './call.ts';
import { type EquinixConfig, timingsOf } from './config.ts';
import { createDevice, type DeviceOrder, findByWitness } from './create-device.ts';
import { rebootDevice } from './reboot-device.ts';
import { createRoutes } from './routes.ts';
import { createSshKey, ensureSshKey, type NamedKey, updateSshKey } from './ssh-keys.ts';
import type { EquinixDeps } from './transport.ts';

/**
 * Typed operations of the API for one project. Each takes a signal, resolves to a validated value or
 * rejects with one `EquinixError`; reads are repeated within the operation's budget, mutations only
 * while nothing can have happened.
 */
export function createEquinixClient(config: EquinixConfig, deps: EquinixDeps) {
  const timings = timingsOf(config);
  const routes = createRoutes(config);
  const caller = createCaller(config, timings, deps);
  const { run } = caller;

  return {
    getDevice: (id: string, signal: AbortSignal) =>
      run('getDevice', signal, (call) => routes.getDevice(call, id)),
    listDevices: (signal: AbortSignal) => run('listDevices', signal, routes.listDevices),
    createDevice: (order: DeviceOrder, signal: AbortSignal) =>
      run('createDevice', signal, (call) => createDevice({ routes, call, config, timings }, order)),
    findByWitness: (order: Pick<DeviceOrder, 'witness' | 'reservationId'>, signal: AbortSignal) =>
      run('findByWitness', signal, async (call) => {
        const { ours, foreign } = await findByWitness({ routes, call, config }, order);
        if (foreign) throw call.error('RaceLost', 'another owner tagged the device');
        return ours;
      }),
    rebootDevice: (id: string, signal: AbortSignal) =>
      run('rebootDevice', signal, (call) => rebootDevice(routes, call, id)),
    listDeviceEvents: (id: string, signal: AbortSignal) =>
      run('listDeviceEvents', signal, (call) => routes.listDeviceEvents(call, id)),
    listReservations: (signal: AbortSignal) =>
      run('listReservations', signal, routes.listReservations),
    getReservation: (id: string, signal: AbortSignal) =>
      run('getReservation', signal, (call) => routes.getReservation(call, id)),
    listProjectSshKeys: (signal: AbortSignal) =>
      run('listProjectSshKeys', signal, routes.listProjectSshKeys),
    createSshKey: (key: NamedKey, signal: AbortSignal) =>
      run('createSshKey', signal, (call) => createSshKey(routes, call, key)),
    updateSshKey: (change: { id: string; label?: string; key?: string }, signal: AbortSignal) =>
      run('updateSshKey', signal, (call) => updateSshKey(routes, call, change)),
    /** Resolves with the id of the project key that has this label, which then holds this key. */
    ensureSshKey: (key: NamedKey, signal: AbortSignal) =>
      run('ensureSshKey', signal, (call) => ensureSshKey(routes, call, key)),
    /** Ends all operations with `Cancelled` and closes all connections; so do later ones. */
    stop: () => caller.stop(),
  };
}
export type EquinixClient = ReturnType<typeof createEquinixClient>;
