import type { Fault } from '../fault-rules.ts';
import type { Knobs } from './knobs.ts';
import type { Timings } from '../time/timings.ts';
import type { Catalogue } from './catalogue.ts';
import type { DeviceOrder } from './device-order.ts';

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
  /** False in a file of an earlier release, which derived them from its seed. */
  tokensAreRandom: boolean;
  catalogue: Catalogue;
  organizations: Organization[];
  projects: Map<string, Project>;
  tokens: Token[];
  reservations: Map<string, Reservation>;
  devices: Map<string, Device>;
  sshKeys: Map<string, SshKey>;
  /** By subject, in the order they were set. */
  timers: Map<string, Timer[]>;
  /** What the world, the options and the admin set apart from the defaults. */
  knobs: Partial<Knobs>;
  timings: Partial<Timings>;
  /** Rules in force, in the order of their creation, with their counters. */
  faults: FaultRecord[];
  faultCount: number;
  /** `seq` of the journal's last entry. */
  requestCount: number;
}

/** A fault rule as it is kept: what was asked for, and how often it was seen and applied. */
export type FaultRecord = { -readonly [K in keyof Fault]: Fault[K] };

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
  /** Deleted for everybody; kept until the last device that was leaving it is gone. */
  deleted?: boolean;
  type?: 'default' | 'vmce';
  tags?: readonly string[];
  customdata?: Readonly<Record<string, unknown>>;
  backendTransferEnabled?: boolean;
  paymentMethodId?: string;
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
  /** How it was before its latest changes, oldest first, for the `stale` fault. */
  past: { readonly untilMs: number; readonly deviceId: string | null; readonly free: boolean }[];
  /** Being wiped after a delete. */
  cleaning: boolean;
  /** False: withdrawn, whatever else is true. */
  provisionable: boolean;
  spare: boolean;
  needOfService: boolean;
  terminationTimeMs: number | null;
}

/** States that devices pass through by themselves. */
export type LifecycleState =
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

/** A test may force any other text, to see what a client makes of a state it does not know. */
export type DeviceState = LifecycleState | (string & Record<never, never>);

export interface Device extends DeviceOrder {
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
  /** Its states before the latest changes, oldest first, for the `stale` fault. */
  past: { readonly untilMs: number; readonly state: DeviceState }[];
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
  /** As it was sent. */
  key: string;
  tags?: readonly string[];
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
  /** Device id; for `clean` a reservation's, for `terminate` {@link terminationOf} a device. */
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
  | 'clean'
  | 'terminate';

/** A device's termination goes on while its other timers are cancelled: its subject is its own. */
export const terminationOf = (deviceId: string): string => `termination of ${deviceId}`;

/** Free for a create, as things really are. */
export const isProvisionable = (reservation: Reservation): boolean =>
  reservation.provisionable &&
  reservation.deviceId === null &&
  !reservation.cleaning &&
  !reservation.spare &&
  !reservation.needOfService;
