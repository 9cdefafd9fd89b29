import type { Call } from './call.ts';
import { isEquinixError } from './errors.ts';
import type { Routes } from './routes.ts';
import type { DeviceEvent } from './schema.ts';

/** When to look for the event of a reboot whose reply was lost, milliseconds after each other. */
const LOOKS_AFTER_MS = [0, 2_000, 5_000];

/**
 * Asks for a reboot, once. When the reply is lost, an event that was not there before the request
 * and names a reboot proves that it was accepted; the server's and our clock are not compared.
 * @throws {EquinixError} OutcomeUnknown: no such event; the machine may reboot or not.
 */
export async function rebootDevice(routes: Routes, call: Call, id: string): Promise<void> {
  const before = await eventIds(routes, call, id);
  try {
    await routes.rebootDevice(call, id);
  } catch (error) {
    if (!isEquinixError(error) || !error.ambiguous || error.kind === 'Cancelled') throw error;
    if (before && (await eventAppears(routes, call, id, before).catch(unlessCancelled))) return;
    throw call.error('OutcomeUnknown', 'the reboot may have been accepted', {
      ambiguous: true,
      cause: error,
    });
  }
}

/** Null where the server keeps no events. */
async function eventIds(routes: Routes, call: Call, id: string): Promise<Set<unknown> | null> {
  try {
    return new Set((await routes.listDeviceEvents(call, id)).map((event) => event.id));
  } catch (error) {
    if (isEquinixError(error, 'NotFound', 'Rejected', 'Protocol')) return null;
    throw error;
  }
}

async function eventAppears(routes: Routes, call: Call, id: string, before: Set<unknown>) {
  for (const delayMs of LOOKS_AFTER_MS) {
    await call.wait(delayMs);
    const events = await routes.listDeviceEvents(call, id);
    if (events.some((event) => !before.has(event.id) && namesReboot(event))) return true;
  }
  return false;
}
/** A failed look proves nothing either way. */
function unlessCancelled(error: unknown): false {
  if (isEquinixError(error) && error.kind !== 'Cancelled') return false;
  throw error;
}
const namesReboot = ({ type = '', body = '' }: DeviceEvent) => /reboot/i.test(`${type} ${body}`);
