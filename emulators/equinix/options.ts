import type { EventEmitter } from 'node:events';
import type { EmulatorLog } from '../kit/log.ts';
import type { MachineHooks } from '../kit/hooks.ts';
import type { ListenAt } from '../kit/listen.ts';
import type { EmulatorClock } from '../kit/clock.ts';
import type { Fault, FaultRule } from './fault-rules.ts';
import type { JournalEntry } from '../kit/journal.ts';
import type { Device, DeviceState, Reservation } from './state/state.ts';
import type { Knobs } from './state/knobs.ts';
import type { Timings } from './time/timings.ts';
import type { World } from './world.ts';

export interface EquinixEmulatorOptions {
  /** Loopback only is the caller's business; port 0 takes a free one. */
  readonly listen: ListenAt;
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
  /** Default 1. Same seed, clock and requests: same ids and same faults. Tokens are random always. */
  readonly seed?: number;
  /** Default `/metal/v1`. */
  readonly basePath?: string;
  /** Default `real`. `manual` stands still until {@link EquinixEmulator.advance}. */
  readonly clock?: 'real' | 'manual' | EmulatorClock;
  readonly hooks?: MachineHooks;
  /** They win over those of a world or a state file. */
  readonly knobs?: Partial<Knobs>;
  /** Milliseconds, taken as they are whatever the profile. */
  readonly timings?: Partial<Timings>;
  readonly log?: EmulatorLog;
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

export interface EquinixEmulator {
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
  /**
   * `stuck` and `failProvisioning` strike a device that is named and being provisioned at once, all
   * others when a request fits. @throws {ZodError} for a rule that cannot be understood.
   */
  addFault(rule: FaultRule): Fault;
  faults(): readonly Fault[];
  /** Answers whether the fault existed. */
  removeFault(id: string): boolean;
  clearFaults(): void;
  /** A foreign device takes the reservation. @throws {Error} when it is unknown or not free. */
  snatch(reservationId: string): DeviceSnapshot;
  /**
   * Puts a device into a state at once, also one that the service does not know.
   * @throws {Error} when the device is unknown.
   */
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

export { ListenError } from '../kit/listen.ts';

/** What the state file holds cannot be continued. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError';
}
