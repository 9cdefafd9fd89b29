import type { EventEmitter } from 'node:events';
import type { MachineHooks } from '../hooks.ts';
import type { FakeClock } from './clock.ts';
import type { Fault, FaultRule } from './fault-rules.ts';
import type { JournalEntry } from './journal.ts';
import type { Device, DeviceState, Reservation } from './state.ts';
import type { Timings } from './timings.ts';
import type { World } from './world.ts';

/** Structurally the daemon's log port; constant messages, everything variable in the fields. */
export interface FakequinixLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Behaviours of the real service that were seen both ways, or that help a test. */
export interface Knobs {
  /** Put before every `href`. The real service sends none; its old examples show `/metal/v1`. */
  readonly hrefPrefix: string;
  /** Upper limit of `per_page`. */
  readonly maxPerPage: number;
  /** A list without `sort_by` comes in another order at every request. */
  readonly shuffleUnsorted: boolean;
  /** A create on a reservation must name a metro or a facility too. */
  readonly strictLocation: boolean;
  /** A second key with the same label in one project is refused. */
  readonly uniqueLabels: boolean;
  /** A reservation moves even while it carries a device or is being cleaned. */
  readonly allowOccupiedMove: boolean;
  /** Whether a device can still be read between its delete and its end. */
  readonly deleteVisibility: 'deprovisioning' | 'immediate404';
  /** What a failed device without reservation answers; null: it stays readable. */
  readonly onDemandVanish: 403 | 404 | null;
  /** Leave every null field out of the answers, for strict generated clients. */
  readonly omitNulls: boolean;
}

export interface FakequinixOptions {
  /** Loopback only is the caller's business; port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** `fast`: every time of the lifecycle divided by 100. */
  readonly profile: 'fast' | 'real';
  /** Free reservations of a world that lists none. Default 0. */
  readonly reservations?: number;
  readonly world?: World;
  /** Path of a YAML or JSON world description; ignored when `world` is given. */
  readonly worldFile?: string;
  /**
   * Everything is kept here; a later start with the same file continues where this one ended, and
   * then `world` and `reservations` are not looked at. Only one process may use a file.
   */
  readonly stateFile?: string;
  /** Default 1. Same seed, clock and requests: same ids and same faults. */
  readonly seed?: number;
  /** Default `/metal/v1`. */
  readonly basePath?: string;
  /** Default `real`. `manual` stands still until {@link Fakequinix.advance}. */
  readonly clock?: 'real' | 'manual' | FakeClock;
  readonly hooks?: MachineHooks;
  readonly knobs?: Partial<Knobs>;
  /** Milliseconds, taken as they are whatever the profile. */
  readonly timings?: Partial<Timings>;
  readonly log?: FakequinixLog;
}

/** One step of a device's or reservation's life. */
export interface Change {
  readonly atMs: number;
  readonly kind: 'device' | 'reservation';
  readonly id: string;
  readonly from: string | null;
  readonly to: string;
}

/** What a test or a simulation wants to know of a device. */
export interface DeviceSnapshot {
  readonly id: string;
  readonly hostname: string;
  readonly state: DeviceState;
  readonly projectId: string;
  readonly reservationId: string | null;
  readonly tags: readonly string[];
  /** Public management IPv4, once assigned. */
  readonly address: string | null;
  readonly sshPort: number | null;
  readonly createdAtMs: number;
}

export interface Fakequinix {
  /** API base with the base path and without a trailing slash. */
  readonly url: string;
  readonly adminUrl: string;
  readonly tokens: {
    readonly user: string;
    readonly project: string;
    readonly readOnly: string;
    /** For `X-Fake-Admin` only. */
    readonly admin: string;
  };
  readonly projectId: string;
  readonly organizationId: string;
  /** Devices that exist, oldest first; deleted ones are gone. */
  devices(): DeviceSnapshot[];
  reservations(): Readonly<Reservation>[];
  /** The journal's entries after `seq`, oldest first, secrets masked. */
  requests(afterSeq?: number): readonly JournalEntry[];
  /** `change` is emitted after each change of state. */
  readonly events: EventEmitter<{ change: [Change] }>;
  /** Rules that cannot hold in a consistent world and are broken; empty is good. */
  violations(): string[];
  addFault(rule: FaultRule): Fault;
  faults(): readonly Fault[];
  /** Answers whether the fault existed. */
  removeFault(id: string): boolean;
  clearFaults(): void;
  /** A foreign device takes the reservation. @throws {Error} when it is unknown or not free. */
  snatch(reservationId: string): DeviceSnapshot;
  /** Puts a device into a state at once. @throws {Error} when the device is unknown. */
  setDeviceState(deviceId: string, state: DeviceState): void;
  /**
   * Moves the manual clock, everything due on the way happens in order, hooks included.
   * @throws {Error} when the clock is not `manual`.
   */
  advance(ms: number): Promise<void>;
  /** Resolves when no hook call is running or waiting. */
  settled(): Promise<void>;
  /** Ends all timers and sockets at once, then writes the state file a last time. Idempotent. */
  close(): Promise<void>;
}

/** Read-only view of a device for library users. */
export const snapshotOf = (device: Device): DeviceSnapshot => ({
  id: device.id,
  hostname: device.hostname,
  state: device.state,
  projectId: device.projectId,
  reservationId: device.reservationId,
  tags: [...device.tags],
  address: device.addresses.find((one) => one.public && one.family === 4)?.address ?? null,
  sshPort: device.machine.sshPort,
  createdAtMs: device.createdAtMs,
});

/** The address cannot be listened on. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}
