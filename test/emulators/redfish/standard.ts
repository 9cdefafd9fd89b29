/**
 * What the standard's schemas (DMTF DSP8010) say of the resources that the emulator of Redfish serves: the properties that a resource
 * may have, in the versions that it names, and of which kind their values are. `!` marks what must be there. Kinds: `text`,
 * `boolean`, `count`, `time`, `link`, `links`; `x?` may be null; `a|b` is one of a list; `[…]` is an array;
 * an object is looked into. A schema allows no other property, but annotations and `Oem`.
 */
export type Kind = string | { readonly [property: string]: Kind };

const HEALTH = 'OK|Warning|Critical';
const STATES =
  'Enabled|Disabled|StandbyOffline|StandbySpare|InTest|Starting|Absent|UnavailableOffline|Deferring|Quiesced|Updating|Qualified';
const POWER = 'On|Off|PoweringOn|PoweringOff';
const STATUS = { State: `${STATES}?`, Health: `${HEALTH}?`, HealthRollup: `${HEALTH}?` };
const RESETS =
  'On|ForceOff|GracefulShutdown|GracefulRestart|ForceRestart|Nmi|ForceOn|PushPowerButton|PowerCycle|Suspend|Pause|Resume';
const MANAGER_RESETS = `${RESETS}|FullPowerCycle`;
const TARGETS =
  'None|Pxe|Floppy|Cd|Usb|Hdd|BiosSetup|Utilities|Diags|UefiShell|UefiTarget|SDCard|UefiHttp|RemoteDrive|UefiBootNext';
const PROGRESS =
  'None|PrimaryProcessorInitializationStarted|BusInitializationStarted|MemoryInitializationStarted|SecondaryProcessorInitializationStarted|PCIResourceConfigStarted|SystemHardwareInitializationComplete|OSBootStarted|OSRunning|OEM|SetupEntered';
const HEAD = { 'Id!': 'text', 'Name!': 'text', Description: 'text?' };
const BOOT = {
  BootSourceOverrideEnabled: 'Disabled|Once|Continuous?',
  BootSourceOverrideTarget: `${TARGETS}?`,
  BootSourceOverrideMode: 'Legacy|UEFI?',
  HttpBootUri: 'text?',
  UefiTargetBootSourceOverride: 'text?',
  BootOrder: '[text]',
};
const collection = { 'Name!': 'text', 'Members!': 'links', Description: 'text?' };
const action = { 'target!': 'path' };

/** By the name of the schema. */
export const RESOURCES: Readonly<Record<string, Kind>> = {
  ServiceRoot: {
    ...HEAD,
    'Links!': { 'Sessions!': 'link' },
    RedfishVersion: 'text',
    UUID: 'text?',
    Vendor: 'text?',
    Product: 'text?',
    Systems: 'link',
    Managers: 'link',
    Chassis: 'link',
    SessionService: 'link',
    Tasks: 'link',
  },
  ComputerSystem: {
    ...HEAD,
    SystemType: 'Physical|Virtual|OS|PhysicallyPartitioned|VirtuallyPartitioned|Composed|DPU',
    Manufacturer: 'text?',
    Model: 'text?',
    SKU: 'text?',
    SerialNumber: 'text?',
    UUID: 'text?',
    AssetTag: 'text?',
    HostName: 'text?',
    PowerState: `${POWER}?`,
    Status: STATUS,
    LastResetTime: 'time',
    BootProgress: { LastState: `${PROGRESS}?`, LastStateTime: 'time' },
    Boot: BOOT,
    VirtualMedia: 'link',
    LogServices: 'link',
    Actions: { '#ComputerSystem.Reset': action },
    Links: { ManagedBy: 'links', Chassis: 'links' },
  },
  Manager: {
    ...HEAD,
    ManagerType:
      'ManagementController|EnclosureManager|BMC|RackManager|AuxiliaryController|Service',
    Model: 'text?',
    FirmwareVersion: 'text?',
    UUID: 'text?',
    DateTime: 'time?',
    PowerState: `${POWER}?`,
    Status: STATUS,
    VirtualMedia: 'link',
    LogServices: 'link',
    Actions: { '#Manager.Reset': action },
    Links: { ManagerForServers: 'links', ManagerForChassis: 'links' },
  },
  Chassis: {
    ...HEAD,
    'ChassisType!':
      'Rack|Blade|Enclosure|StandAlone|RackMount|Card|Cartridge|Row|Pod|Expansion|Sidecar|Zone|Sled|Shelf|Drawer|Module|Component|IPBasedDrive|RackGroup|StorageEnclosure|Other',
    Manufacturer: 'text?',
    Model: 'text?',
    SerialNumber: 'text?',
    AssetTag: 'text?',
    PowerState: `${POWER}?`,
    Status: STATUS,
    Links: { ComputerSystems: 'links', ManagedBy: 'links' },
  },
  VirtualMedia: {
    ...HEAD,
    MediaTypes: '[CD|Floppy|USBStick|DVD]',
    Image: 'text?',
    ImageName: 'text?',
    Inserted: 'boolean?',
    ConnectedVia: 'NotConnected|URI|Applet|Oem?',
    WriteProtected: 'boolean?',
    Actions: { '#VirtualMedia.InsertMedia': action, '#VirtualMedia.EjectMedia': action },
  },
  SessionService: {
    ...HEAD,
    ServiceEnabled: 'boolean?',
    SessionTimeout: 'count',
    Status: STATUS,
    Sessions: 'link',
  },
  Session: { ...HEAD, UserName: 'text?', CreatedTime: 'time', Password: 'text?' },
  TaskService: {
    ...HEAD,
    ServiceEnabled: 'boolean?',
    DateTime: 'time?',
    Tasks: 'link',
    Status: STATUS,
  },
  Task: {
    ...HEAD,
    TaskState:
      'New|Starting|Running|Suspended|Interrupted|Pending|Stopping|Completed|Killed|Exception|Service|Cancelling|Cancelled',
    TaskStatus: HEALTH,
    StartTime: 'time',
    EndTime: 'time',
    TaskMonitor: 'path',
    PercentComplete: 'count?',
  },
  ActionInfo: { ...HEAD, Parameters: '[parameter]' },
  LogService: {
    ...HEAD,
    ServiceEnabled: 'boolean?',
    MaxNumberOfRecords: 'count',
    OverWritePolicy: 'Unknown|WrapsWhenFull|NeverOverWrites',
    DateTime: 'time?',
    Status: STATUS,
    Entries: 'link',
  },
  LogEntry: {
    ...HEAD,
    'EntryType!': 'Event|SEL|Multiple|Oem',
    Created: 'time',
    Severity: `${HEALTH}?`,
    Message: 'text?',
    MessageId: 'text',
    MessageArgs: '[text]',
  },
  ...Object.fromEntries(
    ['ComputerSystem', 'Manager', 'Chassis', 'VirtualMedia', 'Session', 'Task'].map((of) => [
      `${of}Collection`,
      collection,
    ]),
  ),
  LogServiceCollection: collection,
  LogEntryCollection: { ...collection, 'Members!': '[entry]' },
};

/** The standard's form of a message, in errors and beside successes. */
const MESSAGE: Kind = {
  'MessageId!': 'text',
  Message: 'text',
  MessageArgs: '[text]',
  Severity: 'text',
  MessageSeverity: HEALTH,
  Resolution: 'text',
  RelatedProperties: '[text]',
};
const PARAMETER: Kind = {
  'Name!': 'text',
  Required: 'boolean',
  DataType: 'Boolean|Number|NumberArray|String|StringArray|Object|ObjectArray?',
  AllowableValues: '[text]',
};
const ERROR: Kind = { 'error!': { 'code!': 'text', 'message!': 'text' } };

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPath = (value: unknown) => typeof value === 'string' && value.startsWith('/redfish/v1/');
const isLink = (value: unknown) =>
  isObject(value) && Object.keys(value).join() === '@odata.id' && isPath(value['@odata.id']);

const SIMPLE: Readonly<Record<string, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  count: (value) => Number.isInteger(value) && Number(value) >= 0,
  time: (value) => typeof value === 'string' && ISO_TIME.test(value),
  path: isPath,
  link: isLink,
  links: (value) => Array.isArray(value) && value.every(isLink),
};
const INNER: Readonly<Record<string, (value: unknown, at: string) => string[]>> = {
  parameter: (value, at) => faultsOf(PARAMETER, value, at),
  entry: (value, at) => faultsOfResource(value, isObject(value) ? String(value['@odata.id']) : at),
};

/** What of a value is not as the standard has it. */
function faultsOf(kind: Kind, value: unknown, at: string): string[] {
  if (typeof kind !== 'string') return faultsOfObject(kind, value, at);
  if (kind.startsWith('[')) {
    if (!Array.isArray(value)) return [`${at} is no array`];
    return value.flatMap((one, n) => faultsOf(kind.slice(1, -1), one, `${at}/${n}`));
  }
  const inner = INNER[kind];
  if (inner) return inner(value, at);
  if (kind.endsWith('?')) {
    return value === null ? [] : faultsOf(kind.slice(0, -1), value, at);
  }
  const fits = SIMPLE[kind] ?? ((one: unknown) => kind.split('|').includes(String(one)));
  return fits(value) ? [] : [`${at} is ${JSON.stringify(value)}, not ${kind}`];
}

function faultsOfObject(kind: { readonly [name: string]: Kind }, value: unknown, at: string) {
  if (!isObject(value)) return [`${at} is no object`];
  const required = Object.keys(kind).filter((name) => name.endsWith('!'));
  const absent = required.map((name) => name.slice(0, -1)).filter((name) => !(name in value));
  return [
    ...absent.map((name) => `${at} lacks ${name}`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      if (name.includes('@')) return faultsOfAnnotation(name, inner, `${at}/${name}`);
      const known = kind[name] ?? kind[`${name}!`];
      return known === undefined
        ? [`${at}/${name} is not in the schema`]
        : faultsOf(known, inner, `${at}/${name}`);
    }),
  ];
}

/** The reset types of a system and of a manager are not the same list in these versions. */
const ANNOTATIONS: Readonly<Record<string, Kind>> = {
  '@odata.id': 'path',
  '@odata.type': 'text',
  '@odata.etag': 'text',
  '@odata.context': 'path',
  'Members@odata.count': 'count',
  'ResetType@Redfish.AllowableValues': `[${MANAGER_RESETS}]`,
  'BootSourceOverrideTarget@Redfish.AllowableValues': `[${TARGETS}]`,
  '@Redfish.ActionInfo': 'path',
  '@Redfish.Settings': { SettingsObject: 'link' },
};

function faultsOfAnnotation(name: string, value: unknown, at: string): string[] {
  if (name === '@Message.ExtendedInfo') {
    const messages = Array.isArray(value) ? value : [value];
    return messages.flatMap((one, n) => faultsOf(MESSAGE, one, `${at}/${n}`));
  }
  const kind = ANNOTATIONS[name];
  return kind === undefined
    ? [`${at} is no annotation of the standard`]
    : faultsOf(kind, value, at);
}

/** What is wrong with the body of a successful GET, or a part of it that is a resource itself. */
export function faultsOfResource(body: unknown, at: string): string[] {
  if (!isObject(body)) return [`${at} is no object`];
  const type = /^#(\w+)\.(?:(v\d+_\d+_\d+)\.)?(\w+)$/.exec(String(body['@odata.type']));
  const [, schema = '', version, name] = type ?? [];
  const kind = RESOURCES[schema];
  const isCollection = schema.endsWith('Collection');
  if (!kind || schema !== name || (version === undefined) !== isCollection) {
    return [`${at} is of the type ${String(body['@odata.type'])}`];
  }
  const { Members: members, 'Members@odata.count': count } = body;
  const isShort = isCollection && (!Array.isArray(members) || members.length > Number(count));
  return [
    ...(body['@odata.id'] === at ? [] : [`${at} says that it is ${String(body['@odata.id'])}`]),
    ...(isShort ? [`${at} has more members than it counts`] : []),
    ...faultsOf(kind, body, at),
  ];
}

/** What is wrong with the body of a refusal. */
export const faultsOfError = (body: unknown, at: string): string[] => faultsOf(ERROR, body, at);
