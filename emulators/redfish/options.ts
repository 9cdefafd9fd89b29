import type { EmulatorClock } from '../kit/clock.ts';
import type { Emulator, EmulatorOptions, Profile } from '../kit/emulator.ts';
import type { JournalEntry } from '../kit/journal.ts';
import type { Credentials } from './core.ts';
import type { RedfishFault, RedfishFaultRule } from './faults.ts';
import type { Boot, PowerTimings } from './power.ts';
import type { VendorName, ResetType } from './vendors.ts';
import type { Override, PowerState } from './world.ts';

/**
 * Is told what happens to the machines behind the BMCs. Calls for one system come one after another;
 * an error is logged and changes nothing. Without hooks a system is paper only.
 */
export interface SystemHooks {
  /** The emulator starts, and this system is one of its own. Before everything else. */
  assign?(system: SystemIdentity): Promise<void>;
  /** Power is gone, or the machine was reset: everything that ran on it is dead. */
  down(system: string): Promise<void>;
  /** POST has ended and this is booted. Resolves when it runs, or with `nothing`: there is nothing to boot. */
  boot(system: string, boot: Boot, machine: BootedMachine): Promise<'nothing' | undefined>;
  /** Whether what runs heeds a graceful shutdown or restart. When absent: always. */
  heeds?(system: string): boolean;
  /** Resolves when nothing goes on by itself, but for what waits for the emulator's time. */
  settled?(): Promise<void>;
  /** The emulator ends. */
  close?(): void;
}

/** What software that was booted can do with its machine. */
export interface BootedMachine {
  /** Resets the machine, as a reboot does. Without effect once it is off or was reset. */
  restart(): void;
  /** The emulator's time. */
  readonly clock: EmulatorClock;
  /** How long an installation takes. */
  readonly installMs: number;
}

/** By what a system is known. */
export interface SystemIdentity {
  /** Unique among all BMCs, such as `system-1`. */
  readonly name: string;
  readonly serial: string;
  readonly uuid: string;
  readonly mac: string;
}

/** The others of several BMCs have the next ports, and the admin routes the one after these. */
export interface RedfishEmulatorOptions extends EmulatorOptions<RedfishFaultRule> {
  readonly vendor?: VendorName;
  /** Default 1. */
  readonly systems?: number;
  /** Default: one for each system. */
  readonly bmcs?: number;
  readonly profile?: Profile;
  readonly timings?: Partial<PowerTimings>;
  readonly hooks?: SystemHooks;
  /** Systems are on, and have booted their disks, when the emulator has started. Default false. */
  readonly startsOn?: boolean;
}

/** What a test wants to know of a system. */
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
  /** The most at any time. */
  readonly sessionsMost: number;
  /** The most requests at the same time. */
  readonly requestsMost: number;
  readonly systems: readonly SystemSnapshot[];
}

export interface RedfishEntry extends JournalEntry {
  readonly bmc: string;
  /** How the request showed who it is. */
  readonly auth: 'none' | 'basic' | 'session';
}

export interface RedfishEmulator extends Omit<
  Emulator<RedfishFaultRule, RedfishFault, RedfishEntry>,
  'url'
> {
  readonly credentials: Credentials;
  bmcs(): readonly BmcSnapshot[];
  /** What the host, or somebody at its button, does; no request is made. @throws {Error} unknown. */
  reset(system: string, type: ResetType): void;
}
