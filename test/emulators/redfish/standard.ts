import { z } from 'zod';

/**
 * The standard's schemas (DMTF DSP8010) of the resources that the Redfish emulator serves, in the
 * versions that it names: the permitted properties, and the kind of their values. Besides the
 * common properties of all resources, a schema permits only these.
 */

const text = z.string();
const path = text.startsWith('/redfish/v1/');
const link = z.strictObject({ '@odata.id': path });
const links = z.array(link);
const time = z.iso.datetime({ offset: true });
const flag = z.boolean().nullable();
const words = <const Words extends string>(list: Words) => z.enum(list.split('|'));

const HEALTH = words('OK|Warning|Critical');
const STATUS = z.strictObject({
  ...{ State: words('Enabled|Disabled|Starting|Absent'), Health: HEALTH },
  HealthRollup: HEALTH.optional(),
});
const POWER = words('On|Off|PoweringOn|PoweringOff').nullable();
const RESETS = words(
  'On|ForceOff|GracefulShutdown|GracefulRestart|ForceRestart|Nmi|ForceOn|PushPowerButton|PowerCycle|Suspend|Pause|Resume',
);
const TARGETS = words(
  'None|Pxe|Floppy|Cd|Usb|Hdd|BiosSetup|Utilities|Diags|UefiShell|UefiTarget|SDCard|UefiHttp|RemoteDrive|UefiBootNext',
);
const PROGRESS = words(
  'None|PrimaryProcessorInitializationStarted|BusInitializationStarted|MemoryInitializationStarted|SecondaryProcessorInitializationStarted|PCIResourceConfigStarted|SystemHardwareInitializationComplete|OSBootStarted|OSRunning|OEM|SetupEntered',
);
const action = z.strictObject({
  target: path,
  'ResetType@Redfish.AllowableValues': z.array(RESETS).optional(),
  '@Redfish.ActionInfo': path.optional(),
});
const BOOT = z.strictObject({
  BootSourceOverrideEnabled: words('Disabled|Once|Continuous').nullable(),
  BootSourceOverrideTarget: TARGETS.nullable(),
  BootSourceOverrideMode: words('Legacy|UEFI').nullable(),
  HttpBootUri: text.nullable(),
  'BootSourceOverrideTarget@Redfish.AllowableValues': z.array(TARGETS).optional(),
});

const resource = (fields: z.ZodRawShape) =>
  z.strictObject({
    ...z.strictObject(fields).partial().shape,
    ...{ '@odata.id': path, '@odata.type': text, Id: text, Name: text },
  });

const LOG_ENTRY = resource({
  ...{ EntryType: words('Event|SEL|Oem'), Severity: HEALTH.nullable() },
  ...{ Message: text, Created: time },
});

/** By name and version of the schema. */
const RESOURCES: Readonly<Record<string, z.ZodType>> = {
  'ServiceRoot.v1_9_0': resource({
    ...{ RedfishVersion: text, UUID: text.nullable(), Vendor: text.nullable() },
    ...{ Systems: link, Managers: link, SessionService: link, Tasks: link },
    Links: z.strictObject({ Sessions: link }),
  }),
  'ComputerSystem.v1_13_0': resource({
    SystemType: words('Physical|Virtual|OS'),
    ...{ Manufacturer: text.nullable(), Model: text.nullable(), SKU: text.nullable() },
    ...{ SerialNumber: text.nullable(), UUID: text.nullable(), AssetTag: text.nullable() },
    ...{ PowerState: POWER, Status: STATUS, LastResetTime: time, Boot: BOOT, VirtualMedia: link },
    BootProgress: z.strictObject({ LastState: PROGRESS, LastStateTime: time }),
    Actions: z.strictObject({ '#ComputerSystem.Reset': action }),
    ...{ Links: z.strictObject({ ManagedBy: links }), LogServices: link },
    '@Redfish.Settings': z.strictObject({ '@odata.type': text, SettingsObject: link }),
  }),
  'Manager.v1_11_0': resource({
    ManagerType: words('ManagementController|EnclosureManager|BMC|RackManager|Service'),
    ...{ FirmwareVersion: text.nullable(), UUID: text.nullable(), DateTime: time },
    ...{ PowerState: POWER, Status: STATUS, VirtualMedia: link },
    Actions: z.strictObject({ '#Manager.Reset': action }),
    Links: z.strictObject({ ManagerForServers: links }),
  }),
  'VirtualMedia.v1_4_0': resource({
    MediaTypes: z.array(words('CD|Floppy|USBStick|DVD')),
    ...{ Image: text.nullable(), Inserted: flag, WriteProtected: flag },
    ConnectedVia: words('NotConnected|URI|Applet|Oem').nullable(),
    Actions: z.strictObject({
      '#VirtualMedia.InsertMedia': action,
      '#VirtualMedia.EjectMedia': action,
    }),
  }),
  'LogService.v1_1_0': resource({ Entries: link, ServiceEnabled: flag, Status: STATUS }),
  'LogEntry.v1_4_0': LOG_ENTRY,
  'SessionService.v1_1_8': resource({
    ...{ ServiceEnabled: flag, SessionTimeout: z.int().min(30).max(86_400) },
    ...{ Status: STATUS, Sessions: link },
  }),
  'Session.v1_3_0': resource({ UserName: text.nullable(), CreatedTime: time }),
  'TaskService.v1_2_0': resource({ ServiceEnabled: flag, DateTime: time, Tasks: link }),
  'Task.v1_5_1': resource({
    TaskState: words('New|Starting|Running|Suspended|Pending|Stopping|Completed|Killed|Exception'),
    ...{ TaskStatus: HEALTH, StartTime: time, TaskMonitor: path },
  }),
  'ActionInfo.v1_1_2': resource({
    Parameters: z.array(
      z.strictObject({
        ...{ Name: text, Required: z.boolean(), DataType: words('String|Number|Boolean|Object') },
        AllowableValues: z.array(RESETS).optional(),
      }),
    ),
  }),
};

const COLLECTION = z
  .strictObject({
    ...{ '@odata.id': path, '@odata.type': text, Name: text },
    // Members of logs are shown in full.
    Members: z.array(z.union([link, LOG_ENTRY])),
    'Members@odata.count': z.int(),
  })
  .refine(({ Members: members, ...told }) => told['Members@odata.count'] === members.length);

/** The body of a refusal, with messages in the form of Message.v1_1_1. */
const ERROR = z.strictObject({
  error: z.strictObject({
    ...{ code: text, message: text },
    '@Message.ExtendedInfo': z.array(
      z.strictObject({
        ...{ '@odata.type': z.literal('#Message.v1_1_1.Message'), MessageId: text, Message: text },
        ...{ MessageArgs: z.array(text), MessageSeverity: HEALTH },
        RelatedProperties: z.array(text).optional(),
      }),
    ),
  }),
});

const faultsIn = (schema: z.ZodType, body: unknown): string[] =>
  schema.safeParse(body).error?.issues.map((one) => `${one.path.join('/')}: ${one.message}`) ?? [];

/** Faults in the body of a successful GET. */
export function faultsOfResource(body: Readonly<Record<string, unknown>>, at: string): string[] {
  const [, name = '', schema = ''] = /^#((\w+)(?:\.v[0-9_]+)?)\.\2$/.exec(typeOf(body)) ?? [];
  const kind = schema.endsWith('Collection') ? COLLECTION : RESOURCES[name];
  if (!kind) return [`${at} is of the type ${typeOf(body)}`];
  const elsewhere =
    body['@odata.id'] === at ? [] : [`says that it is ${String(body['@odata.id'])}`];
  return [...elsewhere, ...faultsIn(kind, body)].map((fault) => `${at} ${fault}`);
}
const typeOf = (body: Readonly<Record<string, unknown>>) => String(body['@odata.type']);

/** Faults in the body of a refusal. */
export const faultsOfError = (body: unknown): string[] => faultsIn(ERROR, body);
