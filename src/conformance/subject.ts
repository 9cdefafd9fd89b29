import type { RemoteShell } from '../adapters/ssh/port.ts';
import type { FleetProvider, Provider } from '../adapters/provider/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import type { Tags } from '../domain/provisioning/provider-tags.ts';
import type { HostKeyPolicy } from '../domain/policy.ts';

/** A configured provider under test. */
export interface Subject {
  /** Its name in the configuration. */
  readonly name: string;
  /** The driver's name. */
  readonly driver: string;
  /** Mark of the test's machines; nothing with another mark is touched. */
  readonly setId: string;
  /** OpenSSH line of the tester's key. */
  readonly publicKey: string;
  /** Tags added to all creations, besides our own. */
  readonly sharedTags: Tags;
  /** The host key policy of its section or driver; undefined: the common one. */
  readonly hostKeyPolicy: HostKeyPolicy | undefined;
  /** Its configuration section, as written. */
  readonly section: Readonly<Record<string, unknown>>;
  /** The mistakes of a section. Makes no call. */
  mistakesOf(section: Readonly<Record<string, unknown>>): readonly Mistake[];
  /**
   * Keys of the driver's records about a machine or slot: its claims.
   * @param names its slot, creation key and id: possible keys or names of a claim.
   */
  claims(names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** During the work, no record can be written. */
  withoutRecords<T>(work: () => Promise<T>): Promise<T>;
  /** Opens the driver again, bound to `setId`. `watch` wraps it below the core. */
  open(watch: (provider: Provider) => Provider): Promise<Opened>;
}

export interface Mistake {
  /** Keys from the section down. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** An instance of the driver: directly, and through the core. */
export interface Opened {
  readonly raw: Provider;
  readonly fleet: FleetProvider;
}

/** The tester's options. */
export interface Wishes {
  readonly plan: string | null;
  /** Slot to create on; for a driver without creations, the id of the machine to use. */
  readonly reservation: string | null;
  /** Destroys machines that an earlier test left, instead of an error. */
  readonly destroyExisting: boolean;
  /** Allows power and reinstallation tests. */
  readonly allowDestructive: boolean;
  /** Command to run on the machine once it is up. */
  readonly command: string | null;
  /** Shows how to log in; the test continues when it resolves. */
  readonly pause: ((line: string, signal: AbortSignal) => Promise<void>) | null;
}

/** Time limits, milliseconds. */
export interface Patience {
  /** From a creation or reinstallation to a successful login. */
  readonly bootMs: number;
  /** Longest interval between two looks at a machine. */
  readonly probeMs: number;
  /** Longest interval between two listings. */
  readonly syncMs: number;
  /** Until a reboot or a change of power is visible. */
  readonly rebootMs: number;
  /** From a destruction to a reusable slot. */
  readonly destroyMs: number;
  readonly cleanUpMs: number;
  /** Limit of one direct call. */
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
