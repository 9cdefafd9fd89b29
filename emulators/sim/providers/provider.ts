import type { Log } from '../../../src/adapters/log/port.ts';
import type { ConfigInput } from '../../../src/config.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import type { ProviderRecord } from '../../../src/domain/provisioning/records.ts';
import type { JournalEntry } from '../../kit/journal.ts';
import type { Play } from '../../hosts/commands.ts';
import type { SimulatedHosts } from '../../hosts/options.ts';

export type ProviderInput = ConfigInput['providers'][string];

/** An emulator with machines behind it, and its part of a daemon's configuration. */
export interface SimProvider {
  /** Name of the driver and of the configured provider. */
  readonly name: string;
  readonly machines: number;
  /** Secrets of the configuration, by names in capital letters. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Its part of the configuration. @param refer returns the reference to one of the `secrets`. */
  section(refer: (secret: string) => string): ProviderInput;
  /** Present devices that were created for a fleet. @param records the driver's records. */
  devices(records: readonly ProviderRecord[]): readonly SimDevice[];
  /** Claims at the vendor or in the driver's records, with or without a device. */
  claims(records: readonly ProviderRecord[]): readonly SimDevice[];
  /** Number of installations of each machine behind the emulator, including its first. */
  installs(): readonly number[];
  /** Requests to the emulator, oldest first. */
  requests(): readonly JournalEntry[];
  /** Commands that only the emulator can play on a host; undefined: it cannot play this one. */
  play?(deviceId: string, argv: readonly string[]): Play | undefined;
  /** A simulated host's slot, as the fleet names it below its provider. */
  slotOf(deviceId: string): string;
  close(): Promise<void>;
}

/** A device that costs money or occupies a place while it exists, or a claim to a device. */
export interface SimDevice {
  /** The driver's name for it. */
  readonly id: string;
  /** Whether it carries this creation key. */
  isOf(witness: string): boolean;
}

/** A device with this creation key; by default without. */
export const deviceOf = (id: string, witness?: string): SimDevice => ({
  id,
  isOf: (other) => other === witness,
});

export interface SimProviderOptions {
  /** The fleet's directory. */
  readonly dir: string;
  /** Default: the previous number, otherwise `MACHINES`. */
  readonly machines?: number | undefined;
  /** Number of machines per location; default: the provider's. */
  readonly perLocation?: number | undefined;
  readonly hosts: SimulatedHosts;
  /** SSH port, where all machines share one. */
  readonly sshPort: number;
  /** The daemon's `authorized_keys` line. */
  readonly publicLine: string;
  readonly log: Log;
}

/** A kind of provider for simulated fleets. */
export interface SimKind<Provider extends SimProvider = SimProvider> {
  /** All machines share one SSH port, because the vendor gives addresses only. */
  readonly onePort: boolean;
  /** The emulator keeps its state, so that a fleet can continue with it. */
  readonly isKept: boolean;
  /** @throws {UsageError} the directory holds a different number of machines than requested. */
  start(options: SimProviderOptions): Promise<Provider>;
}

export const MACHINES = 12;
export const SIM_SET = 'simul-fleet-000000000000001';
export const LOOPBACK = { host: '127.0.0.1', port: 0 } as const;

export const holdsOthers = (dir: string, held: number, wanted: number): UsageError =>
  new UsageError(
    `${dir} holds ${held} machines, not ${wanted}; leave --machines out, or name another --data-dir`,
  );
