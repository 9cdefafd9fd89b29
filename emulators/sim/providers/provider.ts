import type { Log } from '../../../src/adapters/log/port.ts';
import type { ConfigInput } from '../../../src/config.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import type { ProviderRecord } from '../../../src/domain/provisioning/records.ts';
import type { JournalEntry } from '../../kit/journal.ts';
import type { Play } from '../../hosts/commands.ts';
import type { SimulatedHosts } from '../../hosts/options.ts';

export type ProviderInput = ConfigInput['providers'][string];

/** An emulator with machines behind it, and how a daemon is told of it. */
export interface SimProvider {
  /** Of the driver, and of the configured provider. */
  readonly name: string;
  readonly machines: number;
  /** What the configuration refers to, by names of capital letters. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Its part of the configuration. @param refer how one of the `secrets` is referred to. */
  section(refer: (secret: string) => string): ProviderInput;
  /** What was made for a fleet, and stands at the vendor now. @param records of the driver. */
  devices(records: readonly ProviderRecord[]): readonly SimDevice[];
  /** What was claimed at the vendor or in the records of the driver, whether something stands there or not. */
  claims(records: readonly ProviderRecord[]): readonly SimDevice[];
  /** Installations that each machine behind the emulator has seen, its first one with them. */
  installs(): readonly number[];
  /** What was asked of the emulator, oldest first. */
  requests(): readonly JournalEntry[];
  /** Commands that only the emulator can play on a host; undefined: it cannot play this one. */
  play?(deviceId: string, argv: readonly string[]): Play | undefined;
  /** Where a simulated host stands, as the fleet names it below its provider. */
  slotOf(deviceId: string): string;
  close(): Promise<void>;
}

/** Something that costs money, or keeps a place, for as long as it stands; or the claim to one. */
export interface SimDevice {
  /** As the driver names it. */
  readonly id: string;
  /** Whether it bears the witness of this creation. */
  isOf(witness: string): boolean;
}

/** Something that bears this witness; none when absent. */
export const deviceOf = (id: string, witness?: string): SimDevice => ({
  id,
  isOf: (other) => other === witness,
});

export interface SimProviderOptions {
  /** The fleet's own. */
  readonly dir: string;
  /** Without it, as many as there were before, else `MACHINES`. */
  readonly machines?: number | undefined;
  /** The machines stand in locations of this many each; without it, as the provider's default is. */
  readonly perLocation?: number | undefined;
  readonly hosts: SimulatedHosts;
  /** Of SSH, where all machines have the same. */
  readonly sshPort: number;
  /** `authorized_keys` line of the daemon. */
  readonly publicLine: string;
  readonly log: Log;
}

/** One kind of provider that a fleet can be raised on. */
export interface SimKind<Provider extends SimProvider = SimProvider> {
  /** All machines have one port of SSH: the vendor tells addresses alone. */
  readonly onePort: boolean;
  /** The emulator remembers what it holds, so that a fleet can go on with it. */
  readonly isKept: boolean;
  /** @throws {UsageError} the directory holds another number of machines than was asked for. */
  start(options: SimProviderOptions): Promise<Provider>;
}

export const MACHINES = 12;
export const SIM_SET = 'simul-fleet-000000000000001';
export const LOOPBACK = { host: '127.0.0.1', port: 0 } as const;

export const holdsOthers = (dir: string, held: number, wanted: number): UsageError =>
  new UsageError(
    `${dir} holds ${held} machines, not ${wanted}; leave --machines out, or name another --data-dir`,
  );
