import type { RedfishCall, RackCore, ResourceView } from '../core.ts';
import { refusal } from '../messages.ts';
import { MANAGER_RESETS, type Vendor } from '../vendors.ts';
import type { Media, ComputerSystem } from '../world.ts';

export const ROOT = '/redfish/v1';

export const missing = ({ path }: Pick<RedfishCall, 'path'>) =>
  refusal(404, 'ResourceMissingAtURI', path);

/** A link to a resource. */
export const ref = (call: RedfishCall, path: string) => ({ '@odata.id': call.link(path) });

export const collection = (
  call: RedfishCall,
  type: string,
  members: readonly string[],
): ResourceView => ({
  '@odata.id': call.link(call.path),
  '@odata.type': `#${type}Collection.${type}Collection`,
  Name: `${type} Collection`,
  'Members@odata.count': members.length,
  Members: members.map((path) => ref(call, path)),
});

/** The first fields of every resource. */
export const head = (call: RedfishCall, type: string, id: string, name: string) => ({
  '@odata.id': call.link(call.path),
  '@odata.type': `#${type}`,
  Id: id,
  Name: name,
});

/** The path's system. @throws {ApiRefusal} 404. */
export function systemOf(call: RedfishCall): ComputerSystem {
  const found = call.bmc.systems.find(({ id }) => id === call.params['system']);
  if (!found) throw missing(call);
  return found;
}

export const systemPath = (id: string) => `${ROOT}/Systems/${id}`;
export const managerPath = ({ managerId }: Vendor) => `${ROOT}/Managers/${managerId}`;
const OK = { State: 'Enabled', Health: 'OK' };

export const rootView = (core: RackCore, call: RedfishCall): ResourceView => ({
  ...head(call, 'ServiceRoot.v1_9_0.ServiceRoot', 'RootService', 'Root Service'),
  RedfishVersion: '1.11.0',
  UUID: call.bmc.uuid,
  Vendor: core.vendor.manufacturer,
  Systems: ref(call, `${ROOT}/Systems`),
  Managers: ref(call, `${ROOT}/Managers`),
  SessionService: ref(call, `${ROOT}/SessionService`),
  Tasks: ref(call, `${ROOT}/TaskService`),
  Links: { Sessions: ref(call, `${ROOT}/SessionService/Sessions`) },
});

export const systemsView = (_core: RackCore, call: RedfishCall): ResourceView =>
  collection(
    call,
    'ComputerSystem',
    call.bmc.systems.map(({ id }) => systemPath(id)),
  );

export function systemView({ vendor }: RackCore, call: RedfishCall): ResourceView {
  const system = systemOf(call);
  const swapped = call.strike('bladeSwapped');
  const shown = call.strike('powerState');
  const serial = swapped?.serial ?? system.serial;
  const path = systemPath(system.id);
  return {
    ...head(call, 'ComputerSystem.v1_13_0.ComputerSystem', system.id, system.name),
    SystemType: 'Physical',
    Manufacturer: vendor.manufacturer,
    Model: vendor.model,
    // A Dell's SKU is the service tag; its serial number is the board's.
    SKU: vendor.manufacturer === 'Dell' ? serial.slice(0, 7) : null,
    SerialNumber: serial,
    UUID: swapped?.uuid ?? system.uuid,
    AssetTag: system.assetTag,
    PowerState: shown ? shown.shows : system.power,
    Status: { ...OK, HealthRollup: system.health },
    LogServices: ref(call, `${path}/LogServices`),
    LastResetTime: call.time(system.lastResetMs),
    BootProgress: {
      LastState: system.progress.state,
      LastStateTime: call.time(system.progress.atMs),
    },
    Boot: bootView(vendor, system),
    ...(vendor.bootInSettings && {
      '@Redfish.Settings': {
        '@odata.type': '#Settings.v1_3_0.Settings',
        SettingsObject: ref(call, `${path}/SD`),
      },
    }),
    Actions: { '#ComputerSystem.Reset': resetAction(vendor, call, path) },
    ...(vendor.mediaAt === 'Systems' && { VirtualMedia: ref(call, `${path}/VirtualMedia`) }),
    Links: { ManagedBy: [ref(call, managerPath(vendor))] },
  };
}

/** @throws {ApiRefusal} 404. */
export function logServicesView(_core: RackCore, call: RedfishCall): ResourceView {
  systemOf(call);
  return collection(call, 'LogService', [`${call.path}/Log`]);
}

/** @throws {ApiRefusal} 404. */
export function logServiceView(_core: RackCore, call: RedfishCall): ResourceView {
  systemOf(call);
  return {
    ...head(call, 'LogService.v1_1_0.LogService', 'Log', 'Event Log'),
    Entries: ref(call, `${call.path}/Entries`),
  };
}

/** Newest first, each in full. @throws {ApiRefusal} 404. */
export function logEntriesView(_core: RackCore, call: RedfishCall): ResourceView {
  const { log } = systemOf(call);
  const members = log.map((_, at) => entryView(call, `${call.path}/${at + 1}`, at));
  return { ...collection(call, 'LogEntry', log.map(String)), Members: members.toReversed() };
}

/** @throws {ApiRefusal} 404. */
export const logEntryView = (_core: RackCore, call: RedfishCall): ResourceView =>
  entryView(call, call.path, Number(call.params['entry']) - 1);

function entryView(call: RedfishCall, path: string, at: number): ResourceView {
  const entry = systemOf(call).log[at];
  if (!entry) throw missing(call);
  const { severity: Severity, message: Message, atMs } = entry;
  const id = String(at + 1);
  return {
    ...head({ ...call, path }, 'LogEntry.v1_4_0.LogEntry', id, `Log Entry ${id}`),
    ...{ EntryType: 'Event', Severity, Message, Created: call.time(atMs) },
  };
}

/** The settings for the system's next boot. @throws {ApiRefusal} 404. */
export function settingsView({ vendor }: RackCore, call: RedfishCall): ResourceView {
  const system = systemOf(call);
  return {
    ...head(call, 'ComputerSystem.v1_13_0.ComputerSystem', 'SD', 'Pending settings'),
    Boot: bootView(vendor, { boot: system.pendingBoot ?? system.boot }),
  };
}

function bootView(vendor: Vendor, { boot }: Pick<ComputerSystem, 'boot'>): ResourceView {
  const { bootTargets, bootTargetsTold } = vendor;
  return {
    BootSourceOverrideEnabled: boot.enabled,
    BootSourceOverrideTarget: boot.target,
    BootSourceOverrideMode: boot.mode,
    HttpBootUri: boot.httpBootUri,
    ...(bootTargetsTold && { 'BootSourceOverrideTarget@Redfish.AllowableValues': bootTargets }),
  };
}

function resetAction(vendor: Vendor, call: RedfishCall, path: string): ResourceView {
  const target = { target: call.link(`${path}/Actions/ComputerSystem.Reset`) };
  if (vendor.resetsIn === 'actionInfo') {
    return { ...target, '@Redfish.ActionInfo': call.link(`${path}/ResetActionInfo`) };
  }
  const allowed = resetsShown(vendor, call);
  return { ...target, ...(allowed && { 'ResetType@Redfish.AllowableValues': allowed }) };
}

function resetsShown(vendor: Vendor, call: RedfishCall): readonly string[] | null {
  const fault = call.strike('allowableValues');
  return fault ? fault.values : vendor.resets;
}

export function actionInfoView({ vendor }: RackCore, call: RedfishCall): ResourceView {
  systemOf(call);
  const allowed = resetsShown(vendor, call);
  const parameter = { Name: 'ResetType', Required: true, DataType: 'String' };
  return {
    ...head(call, 'ActionInfo.v1_1_2.ActionInfo', 'ResetActionInfo', 'Reset Action Info'),
    Parameters: [{ ...parameter, ...(allowed && { AllowableValues: allowed }) }],
  };
}

/** @throws {ApiRefusal} 404. */
export function requireManager({ vendor }: RackCore, call: RedfishCall): void {
  if (call.params['manager'] !== vendor.managerId) throw missing(call);
}

export const managersView = ({ vendor }: RackCore, call: RedfishCall): ResourceView =>
  collection(call, 'Manager', [managerPath(vendor)]);

export function managerView(core: RackCore, call: RedfishCall): ResourceView {
  const { vendor, clock } = core;
  requireManager(core, call);
  const path = managerPath(vendor);
  return {
    ...head(call, 'Manager.v1_11_0.Manager', vendor.managerId, 'Manager'),
    ManagerType: 'BMC',
    FirmwareVersion: vendor.firmware,
    UUID: call.bmc.uuid,
    DateTime: call.time(clock.now()),
    PowerState: 'On',
    Status: OK,
    ...(vendor.mediaAt === 'Managers' && { VirtualMedia: ref(call, `${path}/VirtualMedia`) }),
    Actions: {
      '#Manager.Reset': {
        target: call.link(`${path}/Actions/Manager.Reset`),
        'ResetType@Redfish.AllowableValues': MANAGER_RESETS,
      },
    },
    Links: { ManagerForServers: call.bmc.systems.map(({ id }) => ref(call, systemPath(id))) },
  };
}

/** The devices of the path's owner. @throws {ApiRefusal} 404. */
function devicesOf(core: RackCore, call: RedfishCall): readonly Media[] {
  if (core.vendor.mediaAt === 'Systems') return systemOf(call).media;
  requireManager(core, call);
  return call.bmc.systems[0]?.media ?? [];
}

export function devicesView(core: RackCore, call: RedfishCall): ResourceView {
  const paths = devicesOf(core, call).map(({ id }) => `${call.path}/${id}`);
  return collection(call, 'VirtualMedia', paths);
}

/** @throws {ApiRefusal} 404. */
export function mediaOf(core: RackCore, call: RedfishCall): Media {
  const found = devicesOf(core, call).find(({ id }) => id === call.params['media']);
  if (!found) throw missing(call);
  return found;
}

export function mediaView(core: RackCore, call: RedfishCall): ResourceView {
  const media = mediaOf(core, call);
  const { image } = media;
  const action = (name: string) => ({
    target: call.link(`${call.path}/Actions/VirtualMedia.${name}`),
  });
  return {
    ...head(call, 'VirtualMedia.v1_4_0.VirtualMedia', media.id, 'Virtual Removable Media'),
    MediaTypes: media.types,
    Image: image,
    Inserted: image !== null,
    ConnectedVia: image === null ? 'NotConnected' : 'URI',
    WriteProtected: media.writeProtected,
    ...(core.vendor.mediaBy === 'action' && {
      Actions: {
        '#VirtualMedia.InsertMedia': action('InsertMedia'),
        '#VirtualMedia.EjectMedia': action('EjectMedia'),
      },
    }),
  };
}
