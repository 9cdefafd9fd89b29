import type { Call, Core } from '../core.ts';
import { refusal } from '../messages.ts';
import type { LogLine } from '../world.ts';
import { collection, head, missing, ref, requireManager, systemOf, type View } from './views.ts';

/** Of the system of the path, or of all systems of the manager, in the profile's order. */
function linesOf(core: Core, call: Call): readonly LogLine[] {
  const { profile } = core;
  const { log } = call.params;
  if (log !== undefined && log !== profile.logId) throw missing(call);
  if (profile.logAt === 'Managers') requireManager(core, call);
  const systems = profile.logAt === 'Systems' ? [systemOf(call)] : call.bmc.systems;
  const lines = systems
    .flatMap((system) => system.log.map((line) => ({ ...line, id: idOf(systems, system, line) })))
    .toSorted((one, other) => one.atMs - other.atMs);
  return profile.logNewestFirst ? lines.toReversed() : lines;
}

/** Systems that share a log have numbers in it. */
const idOf = (systems: readonly unknown[], system: unknown, { id }: LogLine): string =>
  systems.length === 1 ? id : `${systems.indexOf(system) + 1}-${id}`;

export function logServicesView(core: Core, call: Call): View {
  linesOf(core, call);
  return collection(call, 'LogService', [`${call.path}/${core.profile.logId}`]);
}

export function logServiceView(core: Core, call: Call): View {
  linesOf(core, call);
  return {
    ...head(call, 'LogService.v1_2_0.LogService', core.profile.logId, 'Log Service'),
    ServiceEnabled: true,
    MaxNumberOfRecords: 100,
    OverWritePolicy: 'WrapsWhenFull',
    DateTime: call.time(core.clock.now()),
    Status: { State: 'Enabled', Health: 'OK' },
    Entries: ref(call, `${call.path}/Entries`),
  };
}

/** The entries themselves are members, as with most vendors. @throws {RedfishError} 400, 404. */
export function entriesView(core: Core, call: Call): View {
  const lines = linesOf(core, call);
  const skip = countOf(call, '$skip') ?? 0;
  const top = countOf(call, '$top') ?? lines.length;
  const shown = lines.slice(skip, skip + top).map((line) => viewOf(call, line, call.path));
  return {
    ...collection(call, 'LogEntry', []),
    'Members@odata.count': lines.length,
    Members: shown,
  };
}

function countOf({ query }: Call, name: string): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw refusal(400, 'QueryParameterValueFormatError', text, name);
  return Number(text);
}

export function entryView(core: Core, call: Call): View {
  const found = linesOf(core, call).find(({ id }) => id === call.params['entry']);
  if (!found) throw missing(call);
  return viewOf(call, found, call.path.slice(0, call.path.lastIndexOf('/')));
}

const viewOf = (call: Call, { id, atMs, severity, text }: LogLine, at: string): View => ({
  ...head(call, 'LogEntry.v1_6_0.LogEntry', id, `Log Entry ${id}`),
  '@odata.id': call.link(`${at}/${id}`),
  EntryType: 'SEL',
  Created: call.time(atMs),
  Severity: severity,
  Message: text,
});
