import type { EmulatorClock } from '../kit/clock.ts';
import type { Emulator, EmulatorOptions, Profile } from '../kit/emulator.ts';
import type { JournalEntry } from '../kit/journal.ts';
import type { Credentials } from './core.ts';
import type { RedfishFault, RedfishFaultRule } from './faults.ts';
import type { Boot, PowerTimings } from './power.ts';
import type { VendorName, ResetType } from './vendors.ts';
import type { Health, Override, PowerState } from './world.ts';

/**
 * Receives the events of the machines behind the BMCs. Calls for one system run one after another;
 * an error is logged and changes nothing. Without hooks systems exist on paper only.
 */
export interface SystemHooks {
  /** Called first, for each system of a starting emulator. */
  assign?(system: SystemIdentity): Promise<void>;
  /** Power loss or reset: all programs of the machine are dead. */
  down(system: string): Promise<void>;
  /** POST has ended and the system boots this. Resolves when it runs, or with `nothing` to boot. */
  boot(system: string, boot: Boot, machine: BootedMachine): Promise<'nothing' | undefined>;
  /**
   * Whether the running system obeys a graceful shutdown or restart. A promise resolves when it has
   * ended, or with false; it never rejects. Default: always.
   */
  heeds?(system: string): boolean | Promise<boolean>;
  /** Resolves when only waits for the emulator's time are left. */
  settled?(): Promise<void>;
  /** The emulator ends. */
  close?(): void;
}

/** How booted software controls its machine. */
export interface BootedMachine {
  /** Resets the machine, as a reboot does. No effect once it is off or was reset. */
  restart(): void;
  /** The emulator's time. */
  readonly clock: EmulatorClock;
  /** Duration of an installation. */
  readonly installMs: number;
}

/** A system's identity. */
export interface SystemIdentity {
  /** Unique among all BMCs, such as `system-1`. */
  readonly name: string;
  readonly serial: string;
  readonly uuid: string;
  readonly mac: string;
}

/** Further BMCs have the next ports, and the admin routes have the port after them. */
export interface RedfishEmulatorOptions extends EmulatorOptions<RedfishFaultRule> {
  readonly vendor?: VendorName;
  /** Default 1. */
  readonly systems?: number;
  /** Default: one per system. */
  readonly bmcs?: number;
  readonly profile?: Profile;
  readonly timings?: Partial<PowerTimings>;
  readonly hooks?: SystemHooks;
  /** Whether systems are on, with booted disks, at the emulator's start. Default false. */
  readonly startsOn?: boolean;
}

/** A system as tests see it. */
export interface SystemSnapshot extends SystemIdentity {
  readonly path: string;
  readonly power: PowerState;
  readonly progress: string;
  readonly assetTag: string;
  readonly boot: Override;
  readonly media: readonly { readonly id: string; readonly image: string | null }[];
}

export interface BmcSnapshot {
  readonly name: string;
  readonly url: string;
  readonly certSha256: string;
  readonly sessions: number;
  /** Maximum number at any time. */
  readonly sessionsMost: number;
  /** Maximum number of simultaneous requests. */
  readonly requestsMost: number;
  readonly systems: readonly SystemSnapshot[];
}

export interface RedfishEntry extends JournalEntry {
  readonly bmc: string;
  /** The request's login scheme. */
  readonly auth: 'none' | 'basic' | 'session';
}

export interface RedfishEmulator extends Omit<
  Emulator<RedfishFaultRule, RedfishFault, RedfishEntry>,
  'url'
> {
  readonly credentials: Credentials;
  bmcs(): readonly BmcSnapshot[];
  /** A reset by the host or by its button, without a request. @throws {Error} unknown. */
  reset(system: string, type: ResetType): void;
  /** Sets its health and, with a message, writes an entry of this severity. @throws {Error} unknown. */
  setHealth(system: string, health: Health, message?: string): void;
}
