import { UsageError } from '../../../../domain/errors.ts';
import type { CreateOutcome } from '../../../metrics/port.ts';
import { createExclusive } from '../exclusive.ts';
import { type EquinixConfig, timingsOf } from '../settings.ts';
import { baseUrlFault } from './base-url.ts';
import type { Call } from './call.ts';
import { createCaller } from './caller.ts';
import { createDevice } from './create-device.ts';
import { actOnce, type ReinstallOptions, reinstallAction } from './device-actions.ts';
import { deleteDevice, setPower, updateDevice } from './device-changes.ts';
import type { DeviceOrder } from './device-order.ts';
import type { DevicePatch } from './device-routes.ts';
import { isEquinixError } from './errors.ts';
import { createList, type ListOptions } from './listing.ts';
import { moveReservation } from './move-reservation.ts';
import { findByWitness, isDevice, type Sought, strangerThere } from './probe.ts';
import type { BeforeSending, Expansion } from './request-parts.ts';
import { createRoutes } from './routes.ts';
import type { Device } from './schema.ts';
import { deleteSshKey, ensureSshKey, type NamedKey } from './ssh-keys.ts';
import type { EquinixDeps } from './transport.ts';

/**
 * Typed operations of the API for one project. Each takes a signal, resolves to a validated value or
 * rejects with one `EquinixError`; reads are repeated within the operation's budget, mutations only
 * while nothing can have happened or after a look that shows nothing. Per device and reservation one
 * mutation runs at a time.
 * @throws {UsageError} the token would travel in the clear.
 */
export function createEquinixClient(config: EquinixConfig, deps: EquinixDeps) {
  const fault = baseUrlFault(config.baseUrl, config.allowInsecureHttp);
  if (fault) throw new UsageError(`provider ${config.name}: baseUrl ${fault}`);
  const timings = timingsOf(config);
  const routes = createRoutes(config, createList(config, deps));
  const caller = createCaller(config, timings, deps);
  const exclusive = createExclusive();
  const { run } = caller;

  /** Runs when no other change of the same thing does. */
  const alone: AloneRun = (key, op, signal, body) =>
    exclusive.run(key, signal, () => run(op, signal, body));
  const onDevice = <T>(op: string, id: string, signal: AbortSignal, body: Body<T>) =>
    alone(`device ${id}`, op, signal, body);

  const power =
    (want: 'on' | 'off') =>
    (id: string, signal: AbortSignal, how: BeforeSending = {}) =>
      onDevice(`power${want === 'on' ? 'On' : 'Off'}`, id, signal, (call) =>
        setPower(routes, call, { ...how, id, want }),
      );

  async function create(order: DeviceOrder, signal: AbortSignal): Promise<Device> {
    const key = `reservation ${order.reservationId}`;
    try {
      const { device, outcome } = await alone(key, 'createDevice', signal, (call) =>
        createDevice({ routes, call, config, timings }, order),
      );
      deps.metrics.equinixCreate(outcome);
      return device;
    } catch (error) {
      deps.metrics.equinixCreate(outcomeOf(error));
      throw error;
    }
  }

  return {
    getDevice: (id: string, signal: AbortSignal, expansion?: Expansion) =>
      run('getDevice', signal, (call) => routes.getDevice(call, id, expansion)),
    listDevices: (signal: AbortSignal, options?: ListOptions) =>
      run('listDevices', signal, (call) => routes.listDevices(call, options)),
    createDevice: create,
    /**
     * Null when it is certain that there is none.
     * @throws {EquinixError} RaceLost, PartialListing.
     */
    findByWitness: (sought: Sought, signal: AbortSignal): Promise<Device | null> =>
      run('findByWitness', signal, async (call) => {
        const place = { routes, call, config };
        const { ours, holder, foreign, complete } = await findByWitness(place, sought);
        if (foreign) throw call.error('RaceLost', 'another owner tagged the device');
        if (!ours && holder === 'hidden') throw call.error('PartialListing', HIDDEN);
        if (!ours && !complete) throw call.error('PartialListing', 'it may have been left out');
        if (!ours && isDevice(holder)) throw strangerThere(place);
        return ours;
      }),
    updateDevice: (id: string, patch: DevicePatch, signal: AbortSignal, how: BeforeSending = {}) =>
      onDevice('updateDevice', id, signal, (call) =>
        updateDevice(routes, call, { ...patch, id }, how),
      ),
    deleteDevice: (
      id: string,
      signal: AbortSignal,
      how: BeforeSending & { readonly force?: boolean } = {},
    ) => onDevice('deleteDevice', id, signal, (call) => deleteDevice(routes, call, { ...how, id })),
    powerOn: power('on'),
    powerOff: power('off'),
    rebootDevice: (id: string, signal: AbortSignal, how: BeforeSending = {}) =>
      onDevice('rebootDevice', id, signal, (call) =>
        actOnce(routes, call, { ...how, id, action: { type: 'reboot' } }),
      ),
    reinstallDevice: (
      id: string,
      options: ReinstallOptions,
      signal: AbortSignal,
      how: BeforeSending = {},
    ) =>
      onDevice('reinstallDevice', id, signal, (call) =>
        actOnce(routes, call, { ...how, id, action: reinstallAction(options) }),
      ),
    listReservations: (signal: AbortSignal, options?: ListOptions) =>
      run('listReservations', signal, (call) => routes.listReservations(call, options)),
    listOrganizationReservations: (
      organizationId: string,
      signal: AbortSignal,
      options?: Pick<ListOptions, 'insist'>,
    ) =>
      run('listOrganizationReservations', signal, (call) =>
        routes.listOrganizationReservations(call, organizationId, options),
      ),
    getReservation: (id: string, signal: AbortSignal) =>
      run('getReservation', signal, (call) => routes.getReservation(call, id)),
    moveReservation: (id: string, projectId: string, signal: AbortSignal) =>
      alone(`reservation ${id}`, 'moveReservation', signal, (call) =>
        moveReservation(routes, call, { id, projectId }),
      ),
    listProjectSshKeys: (
      signal: AbortSignal,
      options?: { readonly projectId?: string; readonly query?: string },
    ) => run('listProjectSshKeys', signal, (call) => routes.listProjectSshKeys(call, options)),
    deleteSshKey: (id: string, signal: AbortSignal) =>
      run('deleteSshKey', signal, (call) => deleteSshKey(routes, call, id)),
    /** Resolves with the id of the key that has this label, which then holds this key. */
    ensureSshKey: (key: NamedKey, signal: AbortSignal) =>
      run('ensureSshKey', signal, (call) => ensureSshKey(routes, call, key)),
    /** Ends all operations with `Cancelled` and closes all connections; so do later ones. */
    stop: () => caller.stop(),
  };
}
export type EquinixClient = ReturnType<typeof createEquinixClient>;

const HIDDEN = 'the device on the reservation cannot be read; it may be the one';

type Body<T> = (call: Call) => Promise<T>;
type AloneRun = <T>(key: string, op: string, signal: AbortSignal, body: Body<T>) => Promise<T>;

/** How a failed creation counts: `unknown` if a device may exist, `rejected` if none was made. */
function outcomeOf(error: unknown): CreateOutcome {
  if (isEquinixError(error, 'RaceLost')) return 'race_lost';
  if (isEquinixError(error) && error.ambiguous) return 'unknown';
  return isEquinixError(error, 'Capacity') ? 'capacity' : 'rejected';
}
