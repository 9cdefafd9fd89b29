/**
 * The emulated vendors, as data. Each line has a documented source: the code or issues of sushy,
 * ironic, gofish, bmclib or bmcweb, or the vendor's guide. Undocumented behaviour is as in
 * `generic`. Names of models and firmware are examples.
 */

import type { MessageName } from './messages.ts';

export const RESET_TYPES = [
  'On',
  'ForceOff',
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'PushPowerButton',
  'PowerCycle',
] as const;
export type ResetType = (typeof RESET_TYPES)[number];

/** Resets of a BMC itself. */
export const MANAGER_RESETS = ['GracefulRestart', 'ForceRestart'] as const;

export interface MediaDevice {
  readonly id: string;
  readonly types: readonly string[];
}

export interface Vendor {
  readonly manufacturer: string;
  readonly model: string;
  readonly firmware: string;
  /** Ids of resources; `%` is the system's number within its BMC. */
  readonly systemId: string;
  readonly managerId: string;
  /** Links end with a slash, and paths without a slash are redirected with 308. */
  readonly trailingSlash: boolean;
  readonly resets: readonly ResetType[];
  /** Where the resource lists the allowed reset types. */
  readonly resetsIn: 'action' | 'actionInfo';
  readonly bootTargets: readonly string[];
  /** Whether the resource lists the targets. */
  readonly bootTargetsTold: boolean;
  /** Required fields of a boot override change, without `BootSourceOverride`. */
  readonly bootNeeds: readonly ('Enabled' | 'Target' | 'Mode')[];
  /** The override has its own settings resource, and is read-only in the system. */
  readonly bootInSettings: boolean;
  readonly mediaAt: 'Systems' | 'Managers';
  readonly mediaDevices: readonly MediaDevice[];
  /** `patch`: no actions exist, and `Inserted` and `WriteProtected` are required. */
  readonly mediaBy: 'action' | 'patch';
  /** Refused parameters of InsertMedia. */
  readonly mediaRefuses: readonly string[];
  /** Required parameters of InsertMedia besides the image. */
  readonly mediaNeeds: readonly string[];
  /** The message for one session too many. */
  readonly sessionsFull: MessageName;
  /** Status of a successful PATCH. */
  readonly patchStatus: 200 | 204;
}

const GENERIC: Vendor = {
  manufacturer: 'Contoso',
  model: '3500',
  firmware: '1.0.0',
  systemId: '%',
  managerId: 'BMC',
  trailingSlash: false,
  resets: RESET_TYPES,
  resetsIn: 'action',
  bootTargets: ['None', 'Pxe', 'Cd', 'Usb', 'Hdd', 'BiosSetup', 'UefiHttp'],
  bootTargetsTold: true,
  bootNeeds: [],
  bootInSettings: false,
  mediaAt: 'Managers',
  mediaDevices: [
    { id: 'Cd', types: ['CD', 'DVD'] },
    { id: 'Usb', types: ['USBStick'] },
  ],
  mediaBy: 'action',
  mediaRefuses: [],
  mediaNeeds: [],
  sessionsFull: 'SessionLimitExceeded',
  patchStatus: 200,
};

const IDRAC9: Vendor = {
  ...GENERIC,
  manufacturer: 'Dell',
  model: 'PowerEdge R640',
  firmware: '6.10.30.20',
  systemId: 'System.Embedded.%',
  managerId: 'iDRAC.Embedded.1',
  resets: ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown', 'PushPowerButton'],
  mediaAt: 'Systems',
  mediaDevices: [
    { id: '1', types: ['CD', 'DVD', 'USBStick'] },
    { id: '2', types: ['CD', 'DVD', 'USBStick'] },
  ],
  sessionsFull: 'RAC0218',
};

const SUPERMICRO: Vendor = {
  ...GENERIC,
  manufacturer: 'Supermicro',
  model: 'SYS-120U-TNR',
  firmware: '01.03.19',
  managerId: '1',
  bootTargets: ['None', 'Pxe', 'Cd', 'UsbCd', 'Hdd', 'BiosSetup', 'UefiHttp'],
  bootNeeds: ['Enabled'],
  mediaDevices: [{ id: 'VirtualMedia1', types: ['CD'] }],
  mediaRefuses: ['Inserted', 'WriteProtected'],
};

export const VENDORS = {
  generic: GENERIC,
  idrac9: IDRAC9,
  idrac10: { ...IDRAC9, model: 'PowerEdge R670', firmware: '2.10.10.10', bootTargetsTold: false },
  ilo5: {
    ...GENERIC,
    manufacturer: 'HPE',
    model: 'ProLiant DL360 Gen10',
    firmware: 'iLO 5 v1.40',
    managerId: '1',
    trailingSlash: true,
    resets: [
      'On',
      'ForceOff',
      'GracefulShutdown',
      'ForceRestart',
      'PushPowerButton',
      'GracefulRestart',
    ],
    mediaDevices: [
      { id: '1', types: ['Floppy', 'USBStick'] },
      { id: '2', types: ['CD', 'DVD'] },
    ],
  },
  supermicro: SUPERMICRO,
  'supermicro-ars': { ...SUPERMICRO, model: 'ARS-111GL-NHR' },
  openbmc: {
    ...GENERIC,
    manufacturer: 'OpenBMC',
    model: 'Mt Olympus',
    firmware: '2.14.0',
    systemId: 'system',
    managerId: 'bmc',
    resetsIn: 'actionInfo',
    mediaDevices: [{ id: 'Slot_0', types: ['CD', 'USBStick'] }],
    patchStatus: 204,
  },
  lenovo: {
    ...GENERIC,
    manufacturer: 'Lenovo',
    model: 'ThinkSystem SD530',
    firmware: 'CDI3A8G',
    managerId: '1',
    mediaDevices: [
      { id: 'EXT1', types: ['CD', 'DVD'] },
      { id: 'EXT2', types: ['CD', 'DVD'] },
    ],
    mediaBy: 'patch',
  },
  ami: {
    ...GENERIC,
    manufacturer: 'AMI',
    model: 'WRX80 Creator R2.0',
    firmware: '1.04.00',
    systemId: 'Self',
    managerId: 'Self',
    bootNeeds: ['Enabled', 'Target', 'Mode'],
    bootInSettings: true,
    patchStatus: 204,
  },
  dgx: {
    ...GENERIC,
    manufacturer: 'NVIDIA',
    model: 'DGX H100',
    systemId: 'DGX',
    managerId: 'BMC',
    mediaNeeds: ['UserName', 'Password'],
  },
} as const satisfies Record<string, Vendor>;

export type VendorName = keyof typeof VENDORS;
export const VENDOR_NAMES = Object.keys(VENDORS) as readonly VendorName[];

/** Whether a BMC of this vendor may have several systems. */
export const hasManySystems = ({ systemId }: Vendor): boolean => systemId.includes('%');
