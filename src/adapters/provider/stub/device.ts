import type { ProviderStatus } from '../../../domain/machine.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';

/** A class of hardware, and how much of it there is. */
export interface StubPlan {
  readonly name: string;
  readonly location: string | null;
  readonly spot: boolean;
  /** Pieces of free capacity at start. */
  readonly reservations: number;
}

/** One piece of capacity, whether something is on it or not. */
export interface StubSlot {
  readonly id: string;
  readonly plan: StubPlan;
  /** Its last wipe went wrong: not usable any more. */
  readonly broken: boolean;
}

/** What an installation puts on a device. */
export interface Installation {
  /** Holds the secret: never logged. */
  readonly initCommand: string;
  readonly publicKey: string;
}

/** What an installation comes to. */
export type Fate = 'up' | 'stuck' | 'broken';

/** A device as the stub itself knows it; what is shown of it may differ. Never changed in place. */
export interface StubDevice {
  readonly id: string;
  /** In the order they were made, from 1. */
  readonly number: number;
  readonly reservationId: string;
  readonly hostname: string;
  readonly plan: StubPlan;
  readonly tags: Tags;
  /** Shown instead, for so many readings. */
  readonly stale: { readonly tags: Tags; readonly left: number } | null;
  readonly status: ProviderStatus;
  readonly failed: boolean;
  readonly power: 'on' | 'off';
  /** Of the installation, percent. */
  readonly progress: number;
  /** All lead to it; which of them is shown may change. Empty until known. */
  readonly addresses: readonly string[];
  readonly installation: Installation;
  readonly boots: number;
  readonly bootId: string;
  /** When the system that runs now came up first; null: not yet. */
  readonly upAtMs: number | null;
  /** Given back, but in so many listings more. */
  readonly leaving: { readonly listings: number } | null;
}

/** What it was taken for when it went down. */
export type DownCause = 'reboot' | 'off' | 'reinstall' | 'gone';

/** The machines behind the devices: told what happens to them. Every method but `close` is total. */
export interface StubMachines {
  /** A new system is on it: empty disk, new host key. */
  installed(device: StubDevice): void;
  /** It boots. Answers where it can be reached; several addresses lead to the same. */
  up(device: StubDevice): readonly string[] | Promise<readonly string[]>;
  down(device: StubDevice, cause: DownCause): void;
  /** Wire form of the host key it has now. */
  hostKeyOf(id: string): Buffer | null;
  /** Ends all of them. */
  close(): Promise<void>;
}

/** Nothing is behind the devices but names that never resolve. */
export const noMachines: StubMachines = {
  installed: () => undefined,
  up: ({ hostname }) => [`${hostname}.stub.invalid`],
  down: () => undefined,
  hostKeyOf: () => null,
  close: async () => undefined,
};
