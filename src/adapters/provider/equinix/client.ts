import { UsageError } from '../../../domain/errors.ts';
import { baseUrlFault, isApiError } from '../../driver-kit/errors.ts';
import type { LabelsOf } from '../../metrics/port.ts';
import { createEquinixApi, type EquinixDeps, type BeforeSending, type Device } from './api.ts';
import {
  createDevice,
  findByWitness,
  isDevice,
  strangerThere,
  type DeviceOrder,
  type Sought,
} from './create-device.ts';
import {
  actOnce,
  reinstallAction,
  deleteDevice,
  setPower,
  updateDevice,
  deleteSshKey,
  ensureSshKey,
  type BeforeAction,
  type ReinstallOptions,
  type WantedKey,
} from './device-changes.ts';
import {
  createDeviceRoutes,
  createKeyRoutes,
  createReservationRoutes,
  type DevicePatch,
  type DeviceRoutes,
  type KeyRoutes,
  type ReservationRoutes,
} from './routes.ts';
import { timingsOf, type EquinixConfig } from './settings.ts';

/** The routes of the API, one function each: what is sent and what comes back, and nothing else. */
export type Routes = DeviceRoutes & ReservationRoutes & KeyRoutes;

/**
 * Typed operations of the API for one project. Each takes a signal, resolves to a validated value or
 * rejects with one `ApiError`; reads are repeated within the operation's budget, mutations only while
 * nothing can have happened or after a look that shows nothing.
 * @throws {UsageError} the token would travel in the clear.
 */
export function createEquinixClient(config: EquinixConfig, deps: EquinixDeps) {
  const fault = baseUrlFault(config.baseUrl, config.allowInsecureHttp);
  if (fault) throw new UsageError(`provider ${config.name}: baseUrl ${fault}`);
  const api = createEquinixApi(config, deps);
  const routes: Routes = {
    ...createDeviceRoutes(config, api),
    ...createReservationRoutes(config, api),
    ...createKeyRoutes(config, api),
  };
  const { getDevice, listDevices, listProjectSshKeys } = routes;
  const { listReservations, getReservation } = routes;

  async function create(order: DeviceOrder, signal: AbortSignal): Promise<Device> {
    const call = api.call('createDevice', signal);
    try {
      const scene = { routes, call, config, timings: timingsOf(config) };
      const { device, outcome } = await createDevice(scene, order);
      deps.metrics.count('equinix_create_outcomes_total', { outcome });
      return device;
    } catch (error) {
      deps.metrics.count('equinix_create_outcomes_total', { outcome: outcomeOf(error) });
      throw error;
    }
  }

  return {
    getDevice,
    listDevices,
    listReservations,
    getReservation,
    listProjectSshKeys,
    createDevice: create,
    /**
     * Null when it is certain that there is none.
     * @throws {ApiError} RaceLost, PartialListing.
     */
    async findByWitness(sought: Sought, signal: AbortSignal): Promise<Device | null> {
      const call = api.call('findByWitness', signal);
      const place = { routes, call, config };
      const { ours, holder, foreign, complete } = await findByWitness(place, sought);
      if (foreign) throw call.error('RaceLost', 'another owner tagged the device');
      if (!ours && holder === 'hidden') throw call.error('PartialListing', HIDDEN);
      if (!ours && !complete) throw call.error('PartialListing', 'it may have been left out');
      if (!ours && isDevice(holder)) throw strangerThere(place);
      return ours;
    },
    updateDevice: (id: string, patch: DevicePatch, signal: AbortSignal, how: BeforeSending = {}) =>
      updateDevice(routes, api.call('updateDevice', signal), { ...patch, id }, how),
    deleteDevice: (id: string, signal: AbortSignal, how: BeforeSending = {}) =>
      deleteDevice(routes, api.call('deleteDevice', signal), { ...how, id }),
    powerOn: (id: string, signal: AbortSignal, how: BeforeSending = {}) =>
      setPower(routes, api.call('powerOn', signal), { ...how, id, want: 'on' }),
    powerOff: (id: string, signal: AbortSignal, how: BeforeSending = {}) =>
      setPower(routes, api.call('powerOff', signal), { ...how, id, want: 'off' }),
    rebootDevice: (id: string, signal: AbortSignal, how: BeforeAction = {}) =>
      actOnce(routes, api.call('rebootDevice', signal), { ...how, id, action: { type: 'reboot' } }),
    reinstallDevice: (
      id: string,
      options: ReinstallOptions,
      signal: AbortSignal,
      how: BeforeSending = {},
    ) =>
      actOnce(routes, api.call('reinstallDevice', signal), {
        ...how,
        id,
        action: reinstallAction(options),
      }),
    deleteSshKey: (id: string, signal: AbortSignal) =>
      deleteSshKey(routes, api.call('deleteSshKey', signal), id),
    /** Resolves with the id of the key that has this label, which then holds this key. */
    ensureSshKey: (key: WantedKey, signal: AbortSignal) =>
      ensureSshKey(routes, api.call('ensureSshKey', signal), key),
    /** Ends all operations with `Cancelled` and closes all connections; so do later ones. */
    stop: api.stop,
  };
}
export type EquinixClient = ReturnType<typeof createEquinixClient>;

const HIDDEN = 'the device on the reservation cannot be read; it may be the one';

/** How a failed creation counts: `unknown` if a device may exist, `rejected` if none was made. */
function outcomeOf(error: unknown): LabelsOf<'equinix_create_outcomes_total'>['outcome'] {
  if (isApiError(error, 'RaceLost')) return 'race_lost';
  if (isApiError(error) && error.ambiguous) return 'unknown';
  return isApiError(error, 'Capacity') ? 'capacity' : 'rejected';
}
