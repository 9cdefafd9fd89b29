import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../../../http/call.ts';
import type { DevicePatch, DeviceRoutes } from './device-routes.ts';
import { type ApiError, isNotFound } from '../../../http/errors.ts';
import { mutate } from '../../../http/mutation.ts';
import { type BeforeSending, givenOf } from './request-parts.ts';
import { type Device, device } from './schema.ts';

/**
 * Changes the given fields. The same change twice is the same as once, so it is repeated until it
 * is seen.
 * @throws {ApiError} InvalidArgument: no field is given.
 */
export async function updateDevice(
  routes: DeviceRoutes,
  call: Call,
  { id, ...fields }: DevicePatch & { readonly id: string },
  { beforeSending }: BeforeSending = {},
): Promise<Device> {
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
}

/** A field that the server does not show counts as different: then the change is repeated. */
const agrees = (written: Readonly<Record<string, unknown>>, patch: DevicePatch): boolean =>
  Object.entries(patch).every(([name, value]) => isDeepStrictEqual(written[name], value));

/**
 * Gives a device back; one that the API does not know has been given back.
 * @returns whether the API took the request, or said that there is no such device.
 */
export async function deleteDevice(
  routes: DeviceRoutes,
  call: Call,
  { id, beforeSending }: BeforeSending & { readonly id: string },
): Promise<'accepted' | 'unknown device'> {
  const accepted = () => 'accepted' as const;
  return mutate(call, {
    endpoint: 'DeleteDevice',
    send: async () => {
      const sent = routes.deleteDevice(call, id, { beforeSending });
      return (await unlessGone(sent.then(accepted))) ?? 'unknown device';
    },
    look: async () => {
      const seen = await unlessGone(routes.getDevice(id, call, {}));
      if (!seen) return { value: 'unknown device' as const };
      return LEAVING.has(seen.state ?? '') ? { value: accepted() } : null;
    },
  });
}

const LEAVING: ReadonlySet<string> = new Set(['deprovisioning', 'deleted']);

const unlessGone = <T>(request: Promise<T>): Promise<T | undefined> =>
  request.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

/**
 * Switches a machine on or off; one that is so already, or on its way, is left as it is.
 * @throws {ApiError} OutcomeUnknown: sent twice, and its state shows nothing of it.
 */
export async function setPower(
  routes: DeviceRoutes,
  call: Call,
  { id, want, beforeSending }: BeforeSending & { readonly id: string; readonly want: 'on' | 'off' },
): Promise<void> {
  await mutate(call, {
    endpoint: 'PerformDeviceAction',
    send: () => call.send(routes.actionOf(call, id, { type: `power_${want}` }, beforeSending)),
    look: async () => {
      const { state = '' } = await routes.getDevice(id, call, {});
      return POWERED[want].has(state) ? { value: undefined } : null;
    },
    looksAfter: isRefusedByState,
    repeatsMax: 1,
  });
}

const POWERED: Readonly<Record<'on' | 'off', ReadonlySet<string>>> = {
  on: new Set(['powering_on', 'active']),
  off: new Set(['powering_off', 'inactive']),
};
const isRefusedByState = ({ status }: ApiError): boolean => status === 422;
