import type { EquinixFault } from '../fault-rules.ts';
import type { DeviceFields } from '../api/inputs.ts';
import type { Catalogue } from './catalogue.ts';

/** The emulator's whole state as plain data: the state file's content. */
export interface State {
  /** The emulator's time at the last save, epoch ms. */
  nowMs: number;
  idPosition: number;
  chancePosition: number;
  addressCount: number;
  readonly organizationId: string;
  readonly userId: string;
  readonly catalogue: Catalogue;
  readonly projects: Map<string, Project>;
  readonly tokens: readonly ApiToken[];
  readonly reservations: Map<string, Reservation>;
  readonly devices: Map<string, EquinixDevice>;
  readonly sshKeys: Map<string, EquinixSshKey>;
  readonly timers: Map<string, Timer>;
  /** Active rules with their counters, in the order of creation. */
  faults: EquinixFault[];
  faultCount: number;
  /** `seq` of the journal's last entry. */
  requestCount: number;
}

export interface Project {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
}

export interface ApiToken {
  readonly value: string;
  /** Null: all projects, and the user's own keys. */
  readonly projectId: string | null;
  revoked: boolean;
}

export interface Reservation {
  readonly id: string;
  projectId: string;
  readonly plan: string;
  readonly facility: string;
  readonly createdAtMs: number;
  deviceId: string | null;
  /** Its states before the latest changes, oldest first, for the `stale` fault. */
  past: { readonly untilMs: number; readonly deviceId: string | null; readonly free: boolean }[];
  /** Being wiped after a delete. */
  cleaning: boolean;
  /** False: withdrawn, regardless of all other fields. */
  readonly provisionable: boolean;
  readonly spare: boolean;
  readonly needOfService: boolean;
}

/** States that devices reach by themselves. */
export type LifecycleState =
  | 'queued'
  | 'provisioning'
  | 'active'
  | 'inactive'
  | 'powering_on'
  | 'powering_off'
  | 'reinstalling'
  | 'deprovisioning'
  | 'deleted';

/** A test may force any other text, to see how a client handles an unknown state. */
export type DeviceState = LifecycleState | (string & Record<never, never>);

export interface EquinixDevice {
  readonly id: string;
  readonly projectId: string;
  readonly reservationId: string | null;
  readonly plan: string;
  readonly facility: string;
  readonly createdAtMs: number;
  readonly rootPassword: string;
  readonly sshKeyIds: string[];
  /** The keys' texts at creation; a key that is deleted later still works. */
  readonly authorizedKeys: readonly string[];
  updatedAtMs: number;
  operatingSystem: string;
  state: DeviceState;
  /** Fields of creates and updates, under the API's names. */
  readonly fields: DeviceFields;
  addresses: Address[];
  /** Its first installation: its start, and when something ended it early. Null: nobody saw it. */
  readonly installation: { sinceMs: number; brokenAtMs: number | null } | null;
  /** Oldest first. */
  readonly events: EventRecord[];
  readonly machine: MachineState;
}

/** Known state of the simulated machine behind a device. */
export interface MachineState {
  /** A stranger's device without a machine. */
  readonly paper: boolean;
  up: boolean;
  sshPort: number | null;
  /** Reinstalled, and the machine does not know yet. */
  wipePending: boolean;
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

export interface EventRecord {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly atMs: number;
}

export interface EquinixSshKey {
  readonly id: string;
  readonly label: string;
  /** As received. */
  readonly key: string;
  readonly tags: readonly string[];
  /** Null: belongs to the user. */
  readonly projectId: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface Timer {
  /** Kind and subject, which are unique together. */
  readonly id: string;
  readonly dueAtMs: number;
  readonly kind: TimerKind;
  /** Device id; for `clean` a reservation id. */
  readonly subject: string;
}

export const TIMER_KINDS = [
  'provision',
  'assign',
  'installed',
  'powered-off',
  'powered-on',
  'machine-down',
  'machine-up',
  'reinstalled',
  'remove',
  'clean',
] as const;
export type TimerKind = (typeof TIMER_KINDS)[number];

/** Truly available for a create. */
export const isProvisionable = (reservation: Reservation): boolean =>
  reservation.provisionable &&
  reservation.deviceId === null &&
  !reservation.cleaning &&
  !reservation.spare &&
  !reservation.needOfService;

/** Records the reservation's state before a change. @param nowMs the emulator's time. */
export function remember(reservation: Reservation, nowMs: number): void {
  const { past, deviceId } = reservation;
  past.push({ untilMs: nowMs, deviceId, free: isProvisionable(reservation) });
  if (past.length > PAST_MAX) past.shift();
}
const PAST_MAX = 8;

/** Contradictions in the world. */
export function violationsOf({ devices, reservations }: State): string[] {
  const problems: string[] = [];
  for (const { id, state, reservationId } of devices.values()) {
    if (reservationId === null || state === 'deleted') continue;
    // Of two devices on a reservation, one is not linked.
    if (reservations.get(reservationId)?.deviceId === id) continue;
    problems.push(`device ${id} is not linked from its reservation`);
  }
  for (const { id, deviceId, cleaning } of reservations.values()) {
    if (deviceId === null) continue;
    if (devices.get(deviceId)?.reservationId !== id) {
      problems.push(`reservation ${id} carries a device that is not on it`);
    }
    if (cleaning) problems.push(`reservation ${id} is cleaned while in use`);
  }
  return problems;
}
