import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../../driver-kit/call.ts';
import { isNotFound, asAmbiguous, isApiError, type ApiError } from '../../driver-kit/errors.ts';
import { fingerprintOfLine, isSameKey, unknownKeyAdvice } from '../../driver-kit/our-key.ts';
import { mutate, unsettled } from '../../driver-kit/pages.ts';
import {
  givenOf,
  device,
  type BeforeSending,
  type Device,
  type DeviceEvent,
  type SshKey,
} from './api.ts';
import type { DevicePatch, DeviceRoutes, DeviceAction, KeyRoutes } from './routes.ts';

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

/** When to look for a trace of an action whose reply was lost, milliseconds after each other. */
const LOOKS_AFTER_MS = [0, 2_000, 5_000];

/** An action that must not happen twice. */
export interface OnceAction extends DeviceAction {
  readonly type: 'reboot' | 'reinstall';
}

export interface ReinstallOptions {
  /** Slug; the same system as before when absent. */
  readonly operatingSystem?: string;
}

export const reinstallAction = ({ operatingSystem }: ReinstallOptions): OnceAction => ({
  type: 'reinstall',
  ...(operatingSystem !== undefined && { operating_system: operatingSystem }),
});

export interface ActOnce extends BeforeAction {
  readonly id: string;
  readonly action: OnceAction;
}
export interface BeforeAction extends BeforeSending {
  /** The last thing that is asked before the request; what it throws ends the operation. */
  readonly look?: () => Promise<void>;
}

/**
 * Asks for an action, once. When the reply is lost, an event that was not there before the request
 * and names the action proves that it was accepted; the server's and our clock are not compared.
 * @throws {ApiError} OutcomeUnknown: no such trace; it may have been accepted or not.
 */
export async function actOnce(
  routes: DeviceRoutes,
  call: Call,
  { id, action, look, beforeSending }: ActOnce,
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

interface Trace {
  readonly id: string;
  readonly type: OnceAction['type'];
  /** Events from before; null where the server keeps none. */
  readonly before: ReadonlySet<unknown> | null;
}

async function eventIds(
  routes: DeviceRoutes,
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

async function traceAppears(routes: DeviceRoutes, call: Call, trace: Trace): Promise<boolean> {
  for (const delayMs of LOOKS_AFTER_MS) {
    await call.wait(delayMs);
    if (await showsInState(routes, call, trace)) return true;
    if (await showsInEvents(routes, call, trace)) return true;
  }
  return false;
}

/** A reboot leaves the state as it is. */
async function showsInState(routes: DeviceRoutes, call: Call, { id, type }: Trace) {
  return type === 'reinstall' && (await routes.getDevice(id, call, {})).state === 'reinstalling';
}

async function showsInEvents(routes: DeviceRoutes, call: Call, { id, type, before }: Trace) {
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

/** A key of the configured project. */
export interface NamedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
}

/** The key that a label has to hold. */
export interface WantedKey extends NamedKey {
  /** OpenSSH lines of the earlier keys of ours: only these are replaced. */
  readonly previousKeys?: readonly string[];
  /** Called after an earlier key was replaced, with its OpenSSH line. */
  readonly onReplaced?: (previousKey: string) => void;
}

/** With project tokens the key is stored although the answer says 404. */
const storeKey = (routes: KeyRoutes, call: Call, wanted: WantedKey): Promise<SshKey> => {
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
  routes: KeyRoutes,
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

/** Removes a key; one that is gone already has been removed. */
export async function deleteSshKey(routes: KeyRoutes, call: Call, id: string): Promise<void> {
  const isGone = (request: Promise<unknown>): Promise<boolean> =>
    request.then(
      () => false,
      (error: unknown) => {
        if (isNotFound(error)) return true;
        throw error;
      },
    );
  await mutate(call, {
    endpoint: 'DeleteSSHKey',
    send: async () => void (await isGone(routes.deleteSshKey(call, id))),
    look: async () => ((await isGone(routes.getSshKey(call, id))) ? { value: undefined } : null),
  });
}

/**
 * Makes the label hold our key, so that new machines let us in. Resolves with the key's id.
 * @throws {ApiError} KeyLabelConflict: a key that is not known as ours has the label.
 */
export async function ensureSshKey(
  routes: KeyRoutes,
  call: Call,
  wanted: WantedKey,
): Promise<string> {
  const { key, onReplaced } = wanted;
  const existing = await findByLabel(routes, call, wanted);
  if (!existing) return (await storeKey(routes, call, wanted)).id;
  if (isSameKey(existing.key, key)) return existing.id;
  const { id } = await replaceKey(routes, call, { id: existing.id, key });
  onReplaced?.(existing.key);
  return id;
}

/** The key with the label: ours, or else an earlier one of ours. */
async function findByLabel(
  routes: KeyRoutes,
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
