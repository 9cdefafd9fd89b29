import type { Call, Core } from '../core.ts';
import { refusal } from '../messages.ts';
import type { Media, System } from '../world.ts';

export const ROOT = '/redfish/v1';

export type View = Readonly<Record<string, unknown>>;

export const missing = ({ path }: Pick<Call, 'path'>) => refusal(404, 'ResourceMissingAtURI', path);

/** A link to a resource. */
export const ref = (call: Call, path: string) => ({ '@odata.id': call.link(path) });

export const collection = (call: Call, type: string, members: readonly string[]): View => ({
  '@odata.id': call.link(call.path),
  '@odata.type': `#${type}Collection.${type}Collection`,
  Name: `${type} Collection`,
  'Members@odata.count': members.length,
  Members: members.map((path) => ref(call, path)),
});

/** What every resource begins with. */
export const head = (call: Call, type: string, id: string, name: string) => ({
  '@odata.id': call.link(call.path),
  '@odata.type': `#${type}`,
  Id: id,
  Name: name,
});

/** The system of the path. @throws {RedfishError} 404. */
export function systemOf(call: Call): System {
  const found = call.bmc.systems.find(({ id }) => id === call.params['system']);
  if (!found) throw missing(call);
  return found;
}

export const systemPath = (id: string) => `${ROOT}/Systems/${id}`;
const OK = { State: 'Enabled', Health: 'OK' };

export function rootView(core: Core, call: Call): View {
  return {
    ...head(call, 'ServiceRoot.v1_9_0.ServiceRoot', 'RootService', 'Root Service'),
    RedfishVersion: '1.11.0',
    UUID: call.bmc.uuid,
    Vendor: core.profile.vendor,
    Product: core.profile.product,
    Systems: ref(call, `${ROOT}/Systems`),
    Managers: ref(call, `${ROOT}/Managers`),
    Chassis: ref(call, `${ROOT}/Chassis`),
    SessionService: ref(call, `${ROOT}/SessionService`),
    Tasks: ref(call, `${ROOT}/TaskService`),
    Links: { Sessions: ref(call, `${ROOT}/SessionService/Sessions`) },
  };
}

export function systemView({ profile, clock }: Core, call: Call): View {
  const system = systemOf(call);
  const swapped = call.strike('bladeSwapped');
  const serial = swapped?.serial ?? system.serial;
  const path = systemPath(system.id);
  return {
    ...head(call, 'ComputerSystem.v1_13_0.ComputerSystem', system.id, system.name),
    SystemType: 'Physical',
    Manufacturer: profile.vendor,
    Model: profile.model,
    // Of a Dell it is the service tag; the serial number is that of its board.
    SKU: profile.vendor === 'Dell' ? serial.slice(0, 7) : null,
    SerialNumber: serial,
    UUID: swapped?.uuid ?? system.uuid,
    AssetTag: system.assetTag,
    HostName: '',
    PowerState: powerShown(call, system, clock.now()),
    Status: OK,
    LastResetTime: call.time(system.lastResetMs),
    BootProgress: {
      LastState: system.progress.state,
      LastStateTime: call.time(system.progress.atMs),
    },
    Boot: bootView(profile, call, system),
    ...(profile.bootInSettings && {
      '@Redfish.Settings': {
        '@odata.type': '#Settings.v1_3_0.Settings',
        SettingsObject: ref(call, `${path}/SD`),
      },
    }),
    ...(profile.logAt === 'Systems' && { LogServices: ref(call, `${path}/LogServices`) }),
    Actions: { '#ComputerSystem.Reset': resetAction(profile, call, path) },
    ...(profile.mediaAt === 'Systems' && { VirtualMedia: ref(call, `${path}/VirtualMedia`) }),
    Links: {
      ManagedBy: [ref(call, `${ROOT}/Managers/${profile.managerId}`)],
      Chassis: [ref(call, `${ROOT}/Chassis/${system.id}`)],
    },
  };
}

function powerShown(call: Call, { power, powerHistory }: System, nowMs: number): string | null {
  const fault = call.strike('powerState');
  if (fault?.shows !== undefined) return fault.shows;
  if (fault?.lagMs === undefined) return power;
  const thenMs = nowMs - fault.lagMs;
  return (powerHistory.findLast(({ atMs }) => atMs <= thenMs) ?? powerHistory[0])?.state ?? power;
}

/** What the system takes on at its next boot. @throws {RedfishError} 404. */
export function settingsView({ profile }: Core, call: Call): View {
  const system = systemOf(call);
  return {
    ...head(call, 'ComputerSystem.v1_13_0.ComputerSystem', 'SD', 'Pending settings'),
    Boot: bootView(profile, call, { boot: system.pendingBoot ?? system.boot }),
  };
}

function bootView(profile: Core['profile'], call: Call, { boot }: Pick<System, 'boot'>): View {
  const fault = call.strike('allowableValues', (effect) => effect.of === 'boot');
  const own = profile.bootTargetsTold ? profile.bootTargets : null;
  const targets = fault ? fault.values : own;
  return {
    BootSourceOverrideEnabled: boot.enabled,
    BootSourceOverrideTarget: boot.target,
    BootSourceOverrideMode: boot.mode,
    HttpBootUri: boot.httpBootUri,
    ...(targets && { 'BootSourceOverrideTarget@Redfish.AllowableValues': targets }),
  };
}

function resetAction(profile: Core['profile'], call: Call, path: string): View {
  const target = { target: call.link(`${path}/Actions/ComputerSystem.Reset`) };
  if (profile.resetsIn === 'actionInfo') {
    return { ...target, '@Redfish.ActionInfo': call.link(`${path}/ResetActionInfo`) };
  }
  const allowed = resetsShown(profile, call);
  return { ...target, ...(allowed && { 'ResetType@Redfish.AllowableValues': allowed }) };
}

const resetsShown = (profile: Core['profile'], call: Call): readonly string[] | null => {
  const fault = call.strike('allowableValues', (effect) => effect.of === 'reset');
  return fault ? fault.values : profile.resets;
};

export function actionInfoView({ profile }: Core, call: Call): View {
  systemOf(call);
  if (profile.resetsIn !== 'actionInfo') throw missing(call);
  const allowed = resetsShown(profile, call);
  const parameter = { Name: 'ResetType', Required: true, DataType: 'String' };
  return {
    ...head(call, 'ActionInfo.v1_1_2.ActionInfo', 'ResetActionInfo', 'Reset Action Info'),
    Parameters: [{ ...parameter, ...(allowed && { AllowableValues: allowed }) }],
  };
}

/** @throws {RedfishError} 404. */
export function requireManager({ profile }: Core, call: Call): void {
  if (call.params['manager'] !== profile.managerId) throw missing(call);
}

export function managerView(core: Core, call: Call): View {
  const { profile, clock } = core;
  requireManager(core, call);
  const path = `${ROOT}/Managers/${profile.managerId}`;
  return {
    ...head(call, 'Manager.v1_11_0.Manager', profile.managerId, 'Manager'),
    ManagerType: 'BMC',
    Model: profile.managerModel,
    FirmwareVersion: profile.firmware,
    UUID: call.bmc.uuid,
    DateTime: call.time(clock.now()),
    PowerState: 'On',
    Status: OK,
    ...(profile.mediaAt === 'Managers' && { VirtualMedia: ref(call, `${path}/VirtualMedia`) }),
    ...(profile.logAt === 'Managers' && { LogServices: ref(call, `${path}/LogServices`) }),
    Actions: {
      '#Manager.Reset': {
        target: call.link(`${path}/Actions/Manager.Reset`),
        'ResetType@Redfish.AllowableValues': profile.managerResets,
      },
    },
    Links: {
      ManagerForServers: call.bmc.systems.map(({ id }) => ref(call, systemPath(id))),
      ManagerForChassis: call.bmc.systems.map(({ id }) => ref(call, `${ROOT}/Chassis/${id}`)),
    },
  };
}

export function chassisView({ profile }: Core, call: Call): View {
  const system = call.bmc.systems.find(({ id }) => id === call.params['chassis']);
  if (!system) throw missing(call);
  return {
    ...head(call, 'Chassis.v1_14_0.Chassis', system.id, `Chassis of ${system.name}`),
    ChassisType: 'RackMount',
    Manufacturer: profile.vendor,
    Model: profile.model,
    SerialNumber: system.serial,
    AssetTag: system.assetTag,
    PowerState: system.power,
    Status: OK,
    Links: {
      ComputerSystems: [ref(call, systemPath(system.id))],
      ManagedBy: [ref(call, `${ROOT}/Managers/${profile.managerId}`)],
    },
  };
}

/** The devices of the path's owner. @throws {RedfishError} 404. */
export function devicesOf(core: Core, call: Call): readonly Media[] {
  if (core.profile.mediaAt === 'Systems') return systemOf(call).media;
  requireManager(core, call);
  return call.bmc.systems[0]?.media ?? [];
}

/** @throws {RedfishError} 404. */
export function mediaOf(core: Core, call: Call): Media {
  const found = devicesOf(core, call).find(({ id }) => id === call.params['media']);
  if (!found) throw missing(call);
  return found;
}

export function mediaView(core: Core, call: Call): View {
  const media = mediaOf(core, call);
  const image = media.image ?? media.stale;
  const path = call.path;
  const action = (name: string) => ({ target: call.link(`${path}/Actions/VirtualMedia.${name}`) });
  return {
    ...head(call, 'VirtualMedia.v1_4_0.VirtualMedia', media.id, 'Virtual Removable Media'),
    MediaTypes: media.types,
    Image: image,
    ImageName: image === null ? null : (image.split('/').at(-1) ?? ''),
    Inserted: media.inserted || media.stale !== null,
    ConnectedVia: image === null ? 'NotConnected' : 'URI',
    WriteProtected: media.writeProtected,
    ...(core.profile.mediaBy === 'action' && {
      Actions: {
        '#VirtualMedia.InsertMedia': action('InsertMedia'),
        '#VirtualMedia.EjectMedia': action('EjectMedia'),
      },
    }),
  };
}
