import type { RemoteShell } from '../adapters/ssh/port.ts';
import type { FleetProvider, Provider } from '../adapters/provider/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import type { Tags } from '../domain/provisioning/provider-tags.ts';
import type { HostKeyPolicy } from '../domain/policy.ts';

/** A configured provider that is put to the test. */
export interface Subject {
  /** Its name in the configuration. */
  readonly name: string;
  /** The driver's name. */
  readonly driver: string;
  /** Marks what the test makes; nothing with another mark is ever touched. */
  readonly setId: string;
  /** OpenSSH line of the tester's key. */
  readonly publicKey: string;
  /** Put on everything that is made, next to our own. */
  readonly sharedTags: Tags;
  /** What its section, or its driver, says of host keys; undefined: what counts for all. */
  readonly hostKeyPolicy: HostKeyPolicy | undefined;
  /** Its section of the configuration, as written. */
  readonly section: Readonly<Record<string, unknown>>;
  /** The mistakes that a section has. Makes no call. */
  mistakesOf(section: Readonly<Record<string, unknown>>): readonly Mistake[];
  /**
   * Keys of what the driver has on record of a machine or a slot: its claims.
   * @param names its slot, its witness, its id: what a claim has as its key or names.
   */
  claims(names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Meanwhile nothing can be put on record. */
  withoutRecords<T>(work: () => Promise<T>): Promise<T>;
  /** Opens the driver once more, bound to `setId`. `watch` is put between it and the core. */
  open(watch: (provider: Provider) => Provider): Promise<Opened>;
}

export interface Mistake {
  /** Keys from the section down. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** One instance of the driver: as it is, and in the core's hands. */
export interface Opened {
  readonly raw: Provider;
  readonly fleet: FleetProvider;
}

/** What the tester asked for. */
export interface Wishes {
  readonly plan: string | null;
  /** Slot to create on; id of the machine to look at where the driver makes none. */
  readonly reservation: string | null;
  /** Machines that an earlier test left behind are destroyed, instead of an error. */
  readonly destroyExisting: boolean;
  /** Power and reinstallation may be tried. */
  readonly allowDestructive: boolean;
  /** Run on the machine once it is up. */
  readonly command: string | null;
  /** Shown how to log in; the test goes on when it resolves. */
  readonly pause: ((line: string, signal: AbortSignal) => Promise<void>) | null;
}

/** How long things may take, milliseconds. */
export interface Patience {
  /** From a creation, or a reinstallation, to a machine that lets us in. */
  readonly bootMs: number;
  /** Between two looks at a machine, at most. */
  readonly probeMs: number;
  /** Between two listings, at most. */
  readonly syncMs: number;
  /** To see that a machine rebooted, or that its power changed. */
  readonly rebootMs: number;
  /** From a destruction to a slot that can be used again. */
  readonly destroyMs: number;
  readonly cleanUpMs: number;
  /** Of one call made past the core. */
  readonly callMs: number;
  readonly stopMs: number;
}

const MINUTE = 60_000;
export const PATIENCE: Patience = {
  bootMs: 45 * MINUTE,
  probeMs: 10_000,
  syncMs: MINUTE,
  rebootMs: 15 * MINUTE,
  destroyMs: 60 * MINUTE,
  cleanUpMs: 15 * MINUTE,
  callMs: 15 * MINUTE,
  stopMs: 10_000,
};

export interface ConformanceDeps {
  readonly subject: Subject;
  readonly wishes: Wishes;
  readonly patience: Patience;
  readonly shell: RemoteShell;
  readonly ssh: { readonly port: number; readonly policy: HostKeyPolicy };
  readonly clock: Clock;
  readonly random: Random;
}
