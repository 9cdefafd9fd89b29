import type { Catalogue } from './catalogue.ts';

/** Everything the emulator remembers. Plain data: it is the state file, byte for byte. */
export interface State {
  /** The emulator's time at the last save, epoch ms: time never goes back over a restart. */
  nowMs: number;
  idPosition: number;
  chancePosition: number;
  lastTimerId: number;
  /** Counts everything that is created, so that unsorted lists have a stable order. */
  sequence: number;
  addressCount: number;
  adminToken: string;
  catalogue: Catalogue;
  organizations: Organization[];
  projects: Map<string, Project>;
  tokens: Token[];
  reservations: Map<string, Reservation>;
  devices: Map<string, Device>;
  sshKeys: Map<string, SshKey>;
  /** Sorted by due time. */
  timers: Timer[];
}

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly userId: string;
}

export interface Project {
  readonly id: string;
  name: string;
  readonly organizationId: string;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /** What outlives its devices, newest last. */
  events: EventRecord[];
}

export interface Token {
  readonly value: string;
  readonly organizationId: string;
  /** Null: user-scoped, all projects of the organisation. */
  readonly projectId: string | null;
  readonly readOnly: boolean;
  revoked: boolean;
}

export interface Reservation {
  readonly id: string;
  projectId: string;
  readonly plan: string;
  readonly facility: string;
  readonly createdAtMs: number;
  readonly switchUuid: string;
  readonly sequence: number;
  deviceId: string | null;
  /** When a device was last attached or released, for the `stale` fault; epoch ms. */
  changedAtMs: number;
  /** Being wiped after a delete. */
  cleaning: boolean;
  /** False: withdrawn, whatever else is true. */
  provisionable: boolean;
  spare: boolean;
  needOfService: boolean;
  terminationTimeMs: number | null;
}

export type DeviceState =
  | 'queued'
  | 'provisioning'
  | 'post_provisioning'
  | 'active'
  | 'inactive'
  | 'powering_on'
  | 'powering_off'
  | 'reinstalling'
  | 'failed'
  | 'deprovisioning'
  | 'deleted';

export interface Device {
  readonly id: string;
  readonly projectId: string;
  readonly reservationId: string | null;
  readonly plan: string;
  readonly facility: string;
  readonly createdAtMs: number;
  readonly sequence: number;
  readonly rootPassword: string;
  readonly sshKeyIds: string[];
  /** The keys' texts at creation; a key deleted later still lets in. */
  readonly authorizedKeys: readonly string[];
  updatedAtMs: number;
  hostname: string;
  description: string | null;
  state: DeviceState;
  operatingSystem: string;
  tags: string[];
  userdata: string | null;
  customdata: Record<string, unknown>;
  locked: boolean;
  alwaysPxe: boolean;
  ipxeScriptUrl: string | null;
  addresses: Address[];
  steps: ProvisioningStep[];
  /** Oldest first. */
  events: EventRecord[];
  /** How its provisioning ends; null: well. */
  doom: { kind: 'stuck' } | { kind: 'fail'; reason: string } | null;
  machine: MachineState;
}

/** What the simulated machine behind a device is known to be. */
export interface MachineState {
  /** No machine behind it: a stranger's device, or an emulator without hooks. */
  readonly paper: boolean;
  up: boolean;
  sshPort: number | null;
  /** Reinstalled, and the machine has not been told yet. */
  wipePending: boolean;
  gone: boolean;
}

export interface Address {
  readonly id: string;
  readonly address: string;
  readonly family: 4 | 6;
  readonly public: boolean;
  readonly cidr: number;
  readonly gateway: string;
  readonly netmask: string;
  readonly network: string;
}

export interface ProvisioningStep {
  readonly code: string;
  readonly body: string;
  eventId: string | null;
}

export interface EventRecord {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly atMs: number;
}

export interface SshKey {
  readonly id: string;
  label: string;
  key: string;
  /** Null: belongs to the organisation's user. */
  readonly projectId: string | null;
  readonly organizationId: string;
  readonly createdAtMs: number;
  readonly sequence: number;
  updatedAtMs: number;
}

export interface Timer {
  readonly id: number;
  readonly dueAtMs: number;
  readonly kind: TimerKind;
  /** Device id, or reservation id for `clean`. */
  readonly subject: string;
}

export type TimerKind =
  | 'start-provisioning'
  | 'assign-addresses'
  | `progress-${string}`
  | 'installed'
  | 'activate'
  | 'fail'
  | 'powered-off'
  | 'powered-on'
  | 'machine-down'
  | 'machine-up'
  | 'reinstalled'
  | 'remove'
  | 'forget'
  | 'clean';

const VERSION = 1;
const MAPS = ['projects', 'reservations', 'devices', 'sshKeys'] as const;

/** The state as JSON text. */
export function serialise(state: State): string {
  const lists = Object.fromEntries(MAPS.map((name) => [name, [...state[name].values()]]));
  return JSON.stringify({ version: VERSION, ...state, ...lists });
}

/** @throws {Error} when the text is not a state of this version. */
export function deserialise(text: string, path: string): State {
  const raw: unknown = parseJson(text, path);
  if (typeof raw !== 'object' || raw === null || !('version' in raw) || raw.version !== VERSION) {
    throw new Error(`${path} is not a Fakequinix state file of version ${VERSION}`);
  }
  const { version: _version, ...rest } = raw as Record<string, unknown>;
  const maps = MAPS.map((name) => {
    const list = rest[name];
    if (!Array.isArray(list)) throw new Error(`${path}: ${name} is not a list`);
    return [name, new Map((list as { id: string }[]).map((item) => [item.id, item]))] as const;
  });
  return { ...rest, ...Object.fromEntries(maps) } as unknown as State;
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error });
  }
}
