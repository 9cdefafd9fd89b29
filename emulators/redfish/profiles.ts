/**
 * The vendors that can be played, as data. A line is here because the behaviour is written down
 * somewhere (docs/fakefish.md says where); what nobody wrote down is as in `generic`.
 */

import type { MessageName } from './messages.ts';

export const RESET_TYPES = [
  'On',
  'ForceOff',
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'Nmi',
  'ForceOn',
  'PushPowerButton',
  'PowerCycle',
  'FullPowerCycle',
] as const;
export type ResetType = (typeof RESET_TYPES)[number];

export interface MediaDevice {
  readonly id: string;
  readonly types: readonly string[];
}

export interface Profile {
  readonly vendor: string;
  readonly product: string;
  readonly model: string;
  readonly managerModel: string;
  readonly firmware: string;
  /** Ids of resources; `%` is the number of the system within its BMC. */
  readonly systemId: string;
  readonly managerId: string;
  /** Links end with a slash, and a path without one is redirected by 308. */
  readonly trailingSlash: boolean;
  readonly resets: readonly ResetType[];
  /** Where the allowed reset types are told. */
  readonly resetsIn: 'action' | 'actionInfo';
  /** What a restart or a shutdown of a system that is off is answered with. */
  readonly whileOff: { readonly status: number; readonly message: MessageName };
  /** `On` is refused by 409 for so long after the system went off, milliseconds. */
  readonly onConflictMs: number;
  readonly managerResets: readonly string[];
  readonly bootTargets: readonly string[];
  /** Whether the resource tells the targets. */
  readonly bootTargetsTold: boolean;
  /** Which target reaches the virtual CD; null: none does, the disk is booted. */
  readonly cdTarget: 'Cd' | 'UsbCd' | null;
  /** A boot override without a mode falls back to Legacy. */
  readonly legacyUnlessTold: boolean;
  /** A target without `BootSourceOverrideEnabled` is refused. */
  readonly enabledWithTarget: boolean;
  /** A change of the override must name target, enabled and mode. */
  readonly bootWhole: boolean;
  /** The override is changed in a settings resource of its own, and is only shown in the system. */
  readonly bootInSettings: boolean;
  /** During POST a change of the boot override is refused. */
  readonly bootRefusedInPost: boolean;
  readonly mediaAt: 'Systems' | 'Managers';
  readonly mediaDevices: readonly MediaDevice[];
  /** `patch`: there are no actions, and `Inserted` and `WriteProtected` must be said. */
  readonly mediaBy: 'action' | 'patch';
  readonly mediaSchemes: readonly string[];
  /** Parameters of InsertMedia that are refused. */
  readonly mediaRefuses: readonly string[];
  /** Parameters that InsertMedia must have beside the image. */
  readonly mediaNeeds: readonly string[];
  /** EjectMedia without a body is refused. */
  readonly ejectNeedsBody: boolean;
  readonly logAt: 'Systems' | 'Managers';
  readonly logId: string;
  /** The first of a log's entries is the newest. */
  readonly logNewestFirst: boolean;
  readonly sessionsMax: number;
  readonly sessionTimeoutS: number;
  readonly sessionsFull: { readonly status: number; readonly message: MessageName };
  /** What a change by PATCH is answered with. */
  readonly patchStatus: 200 | 204;
}

const GENERIC: Profile = {
  vendor: 'Contoso',
  product: 'Generic Redfish Service',
  model: '3500',
  managerModel: 'BMC',
  firmware: '1.0.0',
  systemId: '%',
  managerId: 'BMC',
  trailingSlash: false,
  resets: [
    ...(['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart'] as const),
    ...(['Nmi', 'ForceOn', 'PushPowerButton', 'PowerCycle'] as const),
  ],
  resetsIn: 'action',
  whileOff: { status: 409, message: 'ResourceInUse' },
  onConflictMs: 0,
  managerResets: ['GracefulRestart', 'ForceRestart'],
  bootTargets: ['None', 'Pxe', 'Cd', 'Usb', 'Hdd', 'BiosSetup', 'UefiHttp'],
  bootTargetsTold: true,
  cdTarget: 'Cd',
  legacyUnlessTold: false,
  enabledWithTarget: false,
  bootWhole: false,
  bootInSettings: false,
  bootRefusedInPost: false,
  mediaAt: 'Managers',
  mediaDevices: [
    { id: 'Cd', types: ['CD', 'DVD'] },
    { id: 'Usb', types: ['USBStick'] },
  ],
  mediaBy: 'action',
  mediaSchemes: ['http', 'https', 'nfs', 'smb'],
  mediaRefuses: [],
  mediaNeeds: [],
  ejectNeedsBody: false,
  logAt: 'Systems',
  logId: 'SEL',
  logNewestFirst: false,
  sessionsMax: 16,
  sessionTimeoutS: 600,
  sessionsFull: { status: 503, message: 'SessionLimitExceeded' },
  patchStatus: 200,
};

const IDRAC9: Profile = {
  ...GENERIC,
  vendor: 'Dell',
  product: 'Integrated Dell Remote Access Controller',
  model: 'PowerEdge R640',
  managerModel: '14G Monolithic',
  firmware: '6.10.30.20',
  systemId: 'System.Embedded.%',
  managerId: 'iDRAC.Embedded.1',
  resets: ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown', 'PushPowerButton', 'Nmi'],
  mediaAt: 'Systems',
  mediaDevices: [
    { id: '1', types: ['CD', 'DVD', 'USBStick'] },
    { id: '2', types: ['CD', 'DVD', 'USBStick'] },
  ],
  sessionsFull: { status: 503, message: 'RAC0218' },
  logAt: 'Managers',
  logId: 'Sel',
  logNewestFirst: true,
};

const SUPERMICRO: Profile = {
  ...GENERIC,
  vendor: 'Supermicro',
  product: 'Supermicro Redfish Service',
  model: 'SYS-120U-TNR',
  managerModel: 'ASPEED',
  firmware: '01.03.19',
  managerId: '1',
  bootTargets: ['None', 'Pxe', 'Cd', 'UsbCd', 'Hdd', 'BiosSetup', 'UefiHttp'],
  cdTarget: 'UsbCd',
  legacyUnlessTold: true,
  enabledWithTarget: true,
  mediaDevices: [{ id: 'VirtualMedia1', types: ['CD'] }],
  mediaRefuses: ['Inserted', 'WriteProtected'],
  logId: 'Log1',
};

export const PROFILES = {
  generic: GENERIC,
  idrac9: IDRAC9,
  idrac10: {
    ...IDRAC9,
    model: 'PowerEdge R670',
    managerModel: '17G Monolithic',
    firmware: '2.10.10.10',
    bootTargetsTold: false,
    cdTarget: null,
    onConflictMs: 30_000,
  },
  ilo5: {
    ...GENERIC,
    vendor: 'HPE',
    product: 'ProLiant DL360 Gen10',
    model: 'ProLiant DL360 Gen10',
    managerModel: 'iLO 5',
    firmware: 'iLO 5 v1.40',
    managerId: '1',
    trailingSlash: true,
    resets: [
      ...(['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart'] as const),
      ...(['Nmi', 'PushPowerButton', 'GracefulRestart'] as const),
    ],
    whileOff: { status: 400, message: 'InvalidOperationForSystemState' },
    bootRefusedInPost: true,
    mediaDevices: [
      { id: '1', types: ['Floppy', 'USBStick'] },
      { id: '2', types: ['CD', 'DVD'] },
    ],
    ejectNeedsBody: true,
    logId: 'IML',
  },
  supermicro: SUPERMICRO,
  'supermicro-ars': { ...SUPERMICRO, model: 'ARS-111GL-NHR', cdTarget: 'Cd' },
  openbmc: {
    ...GENERIC,
    vendor: 'OpenBMC',
    product: 'OpenBMC',
    model: 'Mt Olympus',
    managerModel: 'OpenBmc',
    firmware: '2.14.0',
    systemId: 'system',
    managerId: 'bmc',
    resetsIn: 'actionInfo',
    mediaDevices: [{ id: 'Slot_0', types: ['CD', 'USBStick'] }],
    mediaSchemes: ['https', 'smb'],
    logId: 'EventLog',
    sessionTimeoutS: 1800,
    patchStatus: 204,
  },
  lenovo: {
    ...GENERIC,
    vendor: 'Lenovo',
    product: 'Lenovo XClarity Controller',
    model: 'ThinkSystem SD530',
    managerModel: 'Lenovo XClarity Controller',
    firmware: 'CDI3A8G',
    managerId: '1',
    mediaDevices: [
      { id: 'EXT1', types: ['CD', 'DVD'] },
      { id: 'EXT2', types: ['CD', 'DVD'] },
    ],
    mediaBy: 'patch',
    logId: 'StandardLog',
  },
  ami: {
    ...GENERIC,
    vendor: 'AMI',
    product: 'AMI Redfish Server',
    model: 'WRX80 Creator R2.0',
    managerModel: 'MegaRAC',
    firmware: '1.04.00',
    systemId: 'Self',
    managerId: 'Self',
    bootWhole: true,
    bootInSettings: true,
    patchStatus: 204,
  },
  dgx: {
    ...GENERIC,
    vendor: 'NVIDIA',
    product: 'DGX Redfish Service',
    model: 'DGX H100',
    systemId: 'DGX',
    managerId: 'BMC',
    mediaNeeds: ['UserName', 'Password'],
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];

/** Whether a BMC of this profile may have several systems. */
export const hasManySystems = ({ systemId }: Profile): boolean => systemId.includes('%');
