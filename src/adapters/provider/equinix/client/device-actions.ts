import type { Call } from '../../../http/call.ts';
import type { DeviceAction, DeviceRoutes } from './device-routes.ts';
import { asAmbiguous, isApiError } from '../../../http/errors.ts';
import { unsettled } from '../../../http/mutation.ts';
import type { BeforeSending } from './request-parts.ts';
import type { DeviceEvent } from './schema.ts';

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
