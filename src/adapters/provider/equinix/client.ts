import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../../../domain/errors.ts';
import type { Api } from '../../driver-kit/api.ts';
import type { Call } from '../../driver-kit/call.ts';
import { asAmbiguous, isApiError, isNotFound, baseUrlFault } from '../../driver-kit/errors.ts';
import { fingerprintOfLine, isSameKey, unknownKeyAdvice } from '../../driver-kit/our-key.ts';
import { mutate, unsettled } from '../../driver-kit/pages.ts';
import type { LabelsOf } from '../../metrics/port.ts';
import {
  device,
  givenOf,
  createEquinixApi,
  type BeforeSending,
  type Device,
  type DeviceEvent,
  type SshKey,
  type EquinixDeps,
} from './api.ts';
import {
  createDevice,
  findByWitness,
  isDevice,
  strangerThere,
  type DeviceOrder,
  type Sought,
} from './create-device.ts';
import { createRoutes, type DeviceAction, type DevicePatch, type Routes } from './routes.ts';
import { timingsOf, type EquinixConfig } from './settings.ts';

/** When to look for a trace of an action whose reply was lost, milliseconds after each other. */
const LOOKS_AFTER_MS = [0, 2_000, 5_000];

/** An action that must not happen twice. */
interface OnceAction extends DeviceAction {
  readonly type: 'reboot' | 'reinstall';
}
interface BeforeAction extends BeforeSending {
  /** The last thing that is asked before the request; what it throws ends the operation. */
  readonly look?: () => Promise<void>;
}

/** The key that a label has to hold. */
export interface WantedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
  /** OpenSSH lines of the earlier keys of ours: only these are replaced. */
  readonly previousKeys?: readonly string[];
  /** Called after an earlier key was replaced, with its OpenSSH line. */
  readonly onReplaced?: (previousKey: string) => void;
}

/**
 * What changes devices and keys. A change that is the same twice as once is repeated until it is seen; an
 * action is sent once. All reject with `ApiError`; OutcomeUnknown: no trace of the change, so nobody knows.
 */
export function createDeviceChanges(routes: Routes, api: Pick<Api, 'call'>) {
  /**
   * Asks for an action, once. When the reply is lost, an event that was not there before the request
   * and names the action proves that it was accepted; the server's and our clock are not compared.
   */
  async function actOnce(
    call: Call,
    id: string,
    action: OnceAction,
    { look, beforeSending }: BeforeAction,
  ): Promise<void> {
    const before = await eventIds(routes, call, id);
    await look?.();
    try {
      await call.send(routes.actionOf(call, id, action, beforeSending));
    } catch (error) {
      if (!isApiError(error) || !error.ambiguous || error.kind === 'Cancelled') throw error;
      const trace = { id, type: action.type, before };
      if (await traceAppears(routes, call, trace).catch(unlessCancelled)) return;
      throw unsettled(call, error);
    }
  }

  /** A machine that is so already, or on its way, is left as it is. */
  const switching =
    (op: string, want: 'on' | 'off') =>
    async (
      id: string,
      signal: AbortSignal,
      { beforeSending }: BeforeSending = {},
    ): Promise<void> => {
      const call = api.call(op, signal);
      await mutate(call, {
        endpoint: 'PerformDeviceAction',
        send: () => call.send(routes.actionOf(call, id, { type: `power_${want}` }, beforeSending)),
        look: async () => {
          const { state = '' } = await routes.getDevice(id, call, {});
          return POWERED[want].has(state) ? { value: undefined } : null;
        },
        looksAfter: ({ status }) => status === 422,
        repeatsMax: 1,
      });
    };

  return {
    /** @throws {ApiError} InvalidArgument: no field is given. */
    async updateDevice(
      id: string,
      fields: DevicePatch,
      signal: AbortSignal,
      { beforeSending }: BeforeSending = {},
    ): Promise<Device> {
      const call = api.call('updateDevice', signal);
      const patch: DevicePatch = givenOf(fields);
      if (Object.keys(patch).length === 0) {
        throw call.error('InvalidArgument', 'no field to change is given');
      }
      return mutate(call, {
        endpoint: 'UpdateDevice',
        send: () => routes.putDevice(call, id, patch, beforeSending),
        look: async () => {
          const written = await routes.getWrittenDevice(call, id);
          return agrees(written, patch) ? { value: device.parse(written) } : null;
        },
      });
    },
    /** Whether the API took the request, or said that there is no such device: that one has been given back. */
    deleteDevice(
      id: string,
      signal: AbortSignal,
      how: BeforeSending = {},
    ): Promise<'accepted' | 'unknown device'> {
      const call = api.call('deleteDevice', signal);
      const accepted = () => 'accepted' as const;
      return mutate(call, {
        endpoint: 'DeleteDevice',
        send: async () =>
          (await unlessGone(routes.deleteDevice(call, id, how).then(accepted))) ?? 'unknown device',
        look: async () => {
          const seen = await unlessGone(routes.getDevice(id, call, {}));
          if (!seen) return { value: 'unknown device' as const };
          return LEAVING.has(seen.state ?? '') ? { value: accepted() } : null;
        },
      });
    },
    powerOn: switching('powerOn', 'on'),
    powerOff: switching('powerOff', 'off'),
    rebootDevice: (id: string, signal: AbortSignal, how: BeforeAction = {}) =>
      actOnce(api.call('rebootDevice', signal), id, { type: 'reboot' }, how),
    /** @param options the same system as before when none is named. */
    reinstallDevice: (
      id: string,
      { operatingSystem }: { readonly operatingSystem?: string },
      signal: AbortSignal,
      how: BeforeSending = {},
    ) =>
      actOnce(
        api.call('reinstallDevice', signal),
        id,
        {
          type: 'reinstall',
          ...(operatingSystem !== undefined && { operating_system: operatingSystem }),
        },
        how,
      ),
    /** One that is gone already has been removed. */
    async deleteSshKey(id: string, signal: AbortSignal): Promise<void> {
      const call = api.call('deleteSshKey', signal);
      await mutate(call, {
        endpoint: 'DeleteSSHKey',
        send: () => unlessGone(routes.deleteSshKey(call, id)),
        look: async () =>
          (await unlessGone(routes.getSshKey(call, id))) ? null : { value: undefined },
      });
    },
    /**
     * Makes the label hold our key, so that new machines let us in. Resolves with the key's id.
     * @throws {ApiError} KeyLabelConflict: a key that is not known as ours has the label.
     */
    async ensureSshKey(wanted: WantedKey, signal: AbortSignal): Promise<string> {
      const call = api.call('ensureSshKey', signal);
      const { key, onReplaced } = wanted;
      const existing = await findByLabel(routes, call, wanted);
      if (!existing) return (await storeKey(routes, call, wanted)).id;
      if (isSameKey(existing.key, key)) return existing.id;
      const { id } = await replaceKey(routes, call, { id: existing.id, key });
      onReplaced?.(existing.key);
      return id;
    },
  };
}

/** A field that the server does not show counts as different: then the change is repeated. */
const agrees = (written: Readonly<Record<string, unknown>>, patch: DevicePatch): boolean =>
  Object.entries(patch).every(([name, value]) => isDeepStrictEqual(written[name], value));

const LEAVING: ReadonlySet<string> = new Set(['deprovisioning', 'deleted']);

const unlessGone = <T>(request: Promise<T>): Promise<T | undefined> =>
  request.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

const POWERED: Readonly<Record<'on' | 'off', ReadonlySet<string>>> = {
  on: new Set(['powering_on', 'active']),
  off: new Set(['powering_off', 'inactive']),
};

interface Trace {
  readonly id: string;
  readonly type: OnceAction['type'];
  /** Events from before; null where the server keeps none. */
  readonly before: ReadonlySet<unknown> | null;
}

async function eventIds(
  routes: Routes,
  call: Call,
  id: string,
): Promise<ReadonlySet<unknown> | null> {
  try {
    return new Set((await routes.newestEvents(call, id)).map((event) => event.id));
  } catch (error) {
    if (isApiError(error, 'NotFound', 'Forbidden', 'Rejected', 'Protocol')) return null;
    // Not even a route: what answers for it need not have the API's form.
    if (isApiError(error) && error.status === 404) return null;
    throw error;
  }
}

async function traceAppears(routes: Routes, call: Call, trace: Trace): Promise<boolean> {
  for (const delayMs of LOOKS_AFTER_MS) {
    await call.wait(delayMs);
    if (await showsInState(routes, call, trace)) return true;
    if (await showsInEvents(routes, call, trace)) return true;
  }
  return false;
}

/** A reboot leaves the state as it is. */
async function showsInState(routes: Routes, call: Call, { id, type }: Trace) {
  return type === 'reinstall' && (await routes.getDevice(id, call, {})).state === 'reinstalling';
}

async function showsInEvents(routes: Routes, call: Call, { id, type, before }: Trace) {
  if (!before) return false;
  const names = ({ type: of = '', body = '' }: DeviceEvent) =>
    `${of} ${body}`.toLowerCase().includes(type);
  const events = await routes.newestEvents(call, id);
  return events.some((event) => !before.has(event.id) && names(event));
}

/** A failed look proves nothing either way. */
function unlessCancelled(error: unknown): false {
  if (isApiError(error) && error.kind !== 'Cancelled') return false;
  throw isApiError(error) ? asAmbiguous(error) : error;
}

/** With project tokens the key is stored although the answer says 404. */
const storeKey = (routes: Routes, call: Call, wanted: WantedKey): Promise<SshKey> => {
  const { label, key } = wanted;
  return mutate(call, {
    endpoint: 'CreateSSHKey',
    send: () => routes.postSshKey(call, { label, key }),
    look: async () => {
      const value = await findByLabel(routes, call, wanted);
      return value && isSameKey(value.key, key) ? { value } : null;
    },
    looksAfter: isNotFound,
  });
};

/** The same change twice is the same as once, so it is repeated until seen. */
async function replaceKey(
  routes: Routes,
  call: Call,
  change: { readonly id: string; readonly key: string },
): Promise<SshKey> {
  let method: 'PATCH' | 'PUT' = 'PATCH';
  const send = async (): Promise<SshKey> => {
    try {
      return await routes.changeSshKey(call, change, method);
    } catch (error) {
      // The published description says PUT where clients send PATCH.
      const wrongMethod = isApiError(error) && WRONG_METHOD.has(error.status ?? 0);
      if (!wrongMethod || method === 'PUT') throw error;
      method = 'PUT';
      return routes.changeSshKey(call, change, method);
    }
  };
  const look = async () => {
    const value = await routes.getSshKey(call, change.id);
    return isSameKey(value.key, change.key) ? { value } : null;
  };
  return mutate(call, { endpoint: 'UpdateSSHKey', send, look });
}

const WRONG_METHOD: ReadonlySet<number> = new Set([404, 405]);

/** The key with the label: ours, or else an earlier one of ours. */
async function findByLabel(
  routes: Routes,
  call: Call,
  { label, key: wanted, previousKeys = [] }: WantedKey,
): Promise<SshKey | undefined> {
  const found = (await routes.listProjectSshKeys(call))
    .filter((key) => key.label === label)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const unknown = found.find(
    ({ key }) => ![wanted, ...previousKeys].some((ours) => isSameKey(key, ours)),
  );
  if (unknown) {
    throw call.error(
      'KeyLabelConflict',
      `the key with the label ${label} (${unknown.id}, ${fingerprintOfLine(unknown.key)}) is not ours ` +
        `(${fingerprintOfLine(wanted)}): ${unknownKeyAdvice('sshKeyLabel')}`,
    );
  }
  // Daemons that start together may each have stored our key: any of them will do.
  return found.find(({ key }) => isSameKey(key, wanted)) ?? found[0];
}

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
  const routes = createRoutes(config, api);
  const { getDevice, listDevices, listProjectSshKeys, listReservations, getReservation } = routes;

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
    ...createDeviceChanges(routes, api),
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
