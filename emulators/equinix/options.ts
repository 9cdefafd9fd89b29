import type { EventEmitter } from 'node:events';
import type { Emulator, EmulatorOptions, Profile } from '../kit/emulator.ts';
import type { MachineHooks } from '../kit/hooks.ts';
import type { EquinixFault, EquinixFaultRule } from './fault-rules.ts';
import type { EquinixTimings } from './life/timings.ts';
import type { EquinixDevice, DeviceState, Reservation } from './state/state.ts';
import type { WorldDescription } from './world.ts';

export interface EquinixEmulatorOptions extends EmulatorOptions<EquinixFaultRule> {
  /** `fast`: every duration of the lifecycle divided by 100. */
  readonly profile: Profile;
  /** Number of free reservations in a world without its own. Default 0. */
  readonly reservations?: number;
  readonly world?: WorldDescription;
  /**
   * The state file. A later start with the same file continues where this one ended, and ignores
   * `world` and `reservations`. Only one process may use a file.
   */
  readonly stateFile?: string;
  /** Default `/metal/v1`. */
  readonly basePath?: string;
  readonly hooks?: MachineHooks;
  /** Milliseconds, regardless of the profile. */
  readonly timings?: Partial<EquinixTimings>;
}

/** One step in the life of a device or reservation. */
export interface StateChange {
  readonly atMs: number;
  readonly kind: 'device' | 'reservation';
  readonly id: string;
  readonly from: string | null;
  readonly to: string;
}

/** A device as tests and simulations see it. */
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

export interface EquinixEmulator extends Emulator<EquinixFaultRule, EquinixFault> {
  readonly tokens: {
    /** Opens all projects. */
    readonly user: string;
    /** Opens the first project alone. */
    readonly project: string;
  };
  /** Of the first project. */
  readonly projectId: string;
  readonly organizationId: string;
  /** Devices that exist, oldest first; deleted ones are gone. */
  devices(): DeviceSnapshot[];
  reservations(): Readonly<Reservation>[];
  /** `change` is emitted after each change of state. */
  readonly events: EventEmitter<{ change: [StateChange] }>;
  /** Contradictions in the world; empty is good. */
  violations(): string[];
  /** A foreign device takes the reservation. @throws {Error} it is unknown or not free. */
  snatch(reservationId: string): DeviceSnapshot;
  /**
   * Sets a device's state at once, even a state unknown to the service.
   * @throws {Error} the device is unknown.
   */
  setDeviceState(deviceId: string, state: DeviceState): void;
  /** Resolves when no hook call is running or waiting. */
  settled(): Promise<void>;
}

/** Read-only view of a device for library users. */
export const snapshotOf = (device: EquinixDevice): DeviceSnapshot => ({
  id: device.id,
  hostname: device.fields.hostname,
  state: device.state,
  projectId: device.projectId,
  reservationId: device.reservationId,
  tags: [...device.fields.tags],
  address: device.addresses.find((one) => one.public && one.family === 4)?.address ?? null,
  sshPort: device.machine.sshPort,
  createdAtMs: device.createdAtMs,
});
