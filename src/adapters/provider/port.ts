import type { z } from 'zod';
import type { ProviderName, Witness } from '../../domain/ids.ts';
import type {
  Availability,
  Controller,
  HeldSecret,
  ProviderMachine,
  ProviderStatus,
  UnreadableEntry,
} from '../../domain/machine.ts';
import type { HostKeyPolicy } from '../../domain/policy.ts';
import type { Tags } from '../../domain/provisioning/provider-tags.ts';
import type { Traits } from '../../domain/traits.ts';
import type { Surroundings } from '../../settings/secret.ts';
import type { DriverContext } from './driver-context.ts';
import type { VerifyHostKey } from './driver-shell.ts';

export type { DriverContext, RecordOptions, Records, TurnWait } from './driver-context.ts';
export type {
  CommandResult,
  DriverShell,
  DriverShellLimits,
  DriverShellSession,
  DriverShellTarget,
  HostKeyRule,
  HostKeySession,
  SeenHostKey,
  ShellCommand,
  ShellFile,
  ShellOptions,
} from './driver-shell.ts';

/**
 * A kind of hardware supply: one folder with a `driver.ts`, and one line in `drivers.ts`.
 * `docs/writing-a-provider.md` is the guide; `shepherd provider test` tells when the driver is
 * complete.
 */
export interface Driver<Settings = unknown> {
  /** Value of `driver:` in a configuration; `^[a-z][a-z0-9-]{0,30}$`, unique. */
  readonly name: string;
  /**
   * The driver's own keys of a configured provider, as a strict zod object of leaves
   * (`src/settings/leaves.ts`); the keys of all providers are added. Checked before anything is
   * opened.
   */
  settings(around: Surroundings): z.ZodObject;
  /** Creates a provider; makes no request. @throws {UsageError} settings contradict each other. */
  open(settings: Settings, context: DriverContext): Provider;
  /**
   * Checks settings against files, so that mistakes show before anything starts. Changes nothing,
   * and uses no network. Absent: no check.
   */
  check?(
    settings: Settings,
    around: { readonly hostKeyPolicy: HostKeyPolicy },
  ): Promise<readonly SettingComplaint[]>;
  /**
   * The key by which two providers of this driver would claim the same machines; null if they do
   * not. Such a configuration is refused. Absent: they never do.
   */
  overlaps?(one: Settings, other: Settings): string | null;
  /**
   * Default host key policy of its machines, if the provider's configuration has none. Absent: the
   * fleet's policy.
   */
  readonly hostKeyPolicy?: HostKeyPolicy;
  /** What a give-back does, as "the device …". Absent: the device is deleted, with its disks. */
  givingBack?(settings: Settings): string;
}

/** A setting that cannot work, or may be a mistake. */
export interface SettingComplaint {
  /** One of the driver's own settings. */
  readonly key: string;
  /** The fault, and what to do. */
  readonly message: string;
  readonly isWarning?: boolean;
}

/**
 * Hardware of one vendor (or one inventory): what a driver implements. Of the BMDB, it uses only
 * its records. The core calls it through `FleetProvider`, which adds limits of rate and
 * concurrency, deadlines, metrics, our tags, and validation of every returned entry.
 *
 * Every method rejects with a `ProviderError`. It ends when `signal` aborts (kind `aborted`), at
 * the latest at `deadline` (a wait for a turn extends it, see `DriverContext.waitsForTurn`). After
 * `stop` it rejects with kind `stopped`.
 */
export interface Provider {
  readonly capabilities: Capabilities;
  /**
   * Returns everything: machines (including booting and leaving ones) and free capacity. `filter`
   * is what the caller is interested in; drivers may ignore it.
   */
  listMachines(filter: Tags, options: CallOptions): Promise<DriverListing>;
  /** @throws {ProviderError} `not-found`: the machine does not exist (any more). */
  getMachine(id: string, options: CallOptions): Promise<DriverMachine>;
  /**
   * Creates a device on free capacity. Idempotent by `operationId`, which the tags carry as
   * `WITNESS_TAG`: a device that already carries it is the result.
   * @throws {ProviderError} `race-lost`: another owner's device is on the capacity. `invalid`:
   *   permanently refused. `outcome: 'unknown'`: the device may exist.
   */
  createMachine(request: CreateRequest, options: CallOptions): Promise<DriverMachine>;
  /**
   * Gives the machine back; resolves once that is accepted. An unknown id is a success; a driver
   * that `announces` throws `not-found`.
   */
  deprovisionMachine(id: string, options: CallOptions): Promise<void>;
  /** Resolves once accepted, which proves no effect. */
  rebootMachine(id: string, mode: 'graceful' | 'force', call: CallOptions): Promise<OperationRef>;
  /** Installs a new system under the same id. Resolves once accepted. */
  reinstallMachine(
    id: string,
    request: ReinstallRequest,
    options: CallOptions,
  ): Promise<OperationRef>;
  /** Resolves once accepted. */
  setPower?(id: string, want: 'on' | 'off', options: CallOptions): Promise<OperationRef>;
  /**
   * Resets the machine's controller (see `DriverMachine.controller`); the machine itself continues
   * to run. Resolves once accepted. A hanging controller answers nothing, so the core cannot check
   * before. So every driver, whether or not it `announces`, calls `requireOurs` with its knowledge
   * of the machine. Then it awaits `beforeSending`, just before it sends the request.
   * @throws {ProviderError} `conflict`: the controller does not hang, as far as the driver knows,
   *   or an installation is running behind it.
   */
  resetController?(id: string, options: CallOptions): Promise<OperationRef>;
  /**
   * Replaces all tags that begin with `TAG_PREFIX` and keeps all others.
   * @throws {ProviderError} `not-found`.
   */
  setTags(id: string, tags: Tags, options: CallOptions): Promise<void>;
  /**
   * Checks the machine's SSH host key by the provider's own means.
   * @throws {ProviderError} `not-implemented`: no such means. `conflict`: it is not the machine's
   *   key.
   */
  readonly verifyHostKey: VerifyHostKey<CallOptions>;
  /** Quota group of a plan; plans of one group run out together. */
  capacityGroup(plan: Plan): string;
  /**
   * Finds the device of a creation key without any cache. Absent: the core searches a listing.
   * @throws {ProviderError} `race-lost`: another owner's device is on the slot, so there is none.
   */
  findByWitness?(
    witness: Witness,
    slotId: string,
    options: CallOptions,
  ): Promise<DriverMachine | null>;
  /**
   * Whether the slot of a machine that was given back is free again, or no longer ours. Absent: a
   * listing shows it.
   */
  isReusable?(slotId: string, options: CallOptions): Promise<boolean>;
  /** Constant hostname of devices on this slot. Absent: the slot id. */
  hostnameFor?(slotId: string): string;
  /** Prepares what every creation needs, so that mistakes show at the start. Idempotent. */
  prepare?(options: CallOptions): Promise<void>;
  /** Removes our leftovers (keys, disks) of an hour or older; with `dryRun`, only reports. */
  sweep?(options: CallOptions & { readonly dryRun: boolean }): Promise<SweepReport>;
  /** Ends operations (`aborted`), timers and sockets within 10 s. Machines run on. Idempotent. */
  stop(): Promise<void>;
}

/** What the provider supports. It must refuse everything else with kind `not-implemented`. */
export interface Capabilities {
  /**
   * Machines can be created from free capacity. False: an inventory of existing machines, listed as
   * `PossiblyUsed`, which the core takes in and releases.
   */
  readonly create: boolean;
  readonly deprovision: boolean;
  readonly reboot: boolean;
  readonly reinstall: boolean;
  readonly power: boolean;
  /** `resetController` works. Absent: it does not. */
  readonly resetController?: boolean;
  /** `setTags` works. */
  readonly tags: boolean;
  /** `verifyHostKey` has its own means. */
  readonly hostKey: boolean;
  /**
   * The system on a machine was installed for us, so its agent may be told to reboot into an image
   * that it installed. Absent: the system is somebody's, and no agent ever reboots it.
   */
  readonly throwAway?: boolean;
  /** The first listing after a creation contains the machine. */
  readonly consistentList: boolean;
  /** Concurrent calls; 1: one after the other. The core enforces it. */
  readonly maxConcurrency: number;
  /** The same for adopted machines, which have no reservation, if it also creates some. */
  readonly adopted?: Omit<Capabilities, 'adopted'>;
  /**
   * The driver has its own queue, so it calls `requireOurs` and `beforeSending` itself. Absent: the
   * core does, just before it calls the driver.
   */
  readonly announces?: boolean;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Latest time at which `signal` aborts; for requests with a time limit. */
  readonly deadline: Date;
  /** Names the operation in logs; for a creation, its creation key, the same in each attempt. */
  readonly operationId: string;
  /**
   * Checks whether the change is still wanted. A driver that `announces` awaits it just before each
   * request that gives back, reboots, reinstalls or switches, after all waits. If it rejects,
   * nothing is sent, and the call rejects with the same error.
   */
  readonly beforeSending?: () => Promise<void>;
  /**
   * Checks whether the machine may be changed. A driver that `announces` calls it with the machine
   * as read in this call, as the last check before a change.
   * @throws {ProviderError} `conflict`: the machine is not ours.
   */
  readonly requireOurs: (machine: DriverMachine) => void;
}

/** A requestable class of hardware. */
export interface Plan {
  /** For example `m3.large.x86`. */
  readonly name: string;
  /** For example a metro; null: there is only one. */
  readonly location: string | null;
  readonly spot: boolean;
}

/** One machine, or one piece of free capacity; fields with a usual value may be absent. */
export interface DriverMachine
  extends Partial<Traits>, Pick<ProviderMachine, 'leavesAtMs' | 'conditions' | 'lacks'> {
  /** Opaque and stable: 1–128 printable characters, not `invalid`. Null only for free capacity. */
  readonly id: string | null;
  /** Name of the slot, if it is not the id. Free capacity must have it or an id. */
  readonly reservationId: string | null;
  /** `PossiblyUsed`: unknown; the BMDB decides. An entry without it is dropped, with an alarm. */
  readonly availability: Availability;
  readonly plan: string;
  readonly hostname?: string | null;
  /** `host`, `host:port` or `[v6]:port`; null until known. */
  readonly address?: string | null;
  /** `root` when absent. */
  readonly remoteUser?: string;
  /** The provider reports the device as broken. */
  readonly failed?: boolean;
  /** Absent: `Unknown` for a machine in use. */
  readonly status?: ProviderStatus | null;
  readonly power?: 'on' | 'off' | 'unknown';
  /** If `resetController` works: what it resets, and whether that is needed. */
  readonly controller?: Controller;
  readonly tags?: Tags;
  /** SSH host key in the inventory, base64 of the wire form. */
  readonly hostKey?: string;
  /** The user's password, for a machine that accepts none of our keys; needs `hostKey`. */
  readonly sshPassword?: HeldSecret;
  /** Priced by demand; the provider may take it away at any time. */
  readonly spot?: boolean;
}

export interface DriverListing {
  readonly machines: readonly DriverMachine[];
  /**
   * False: entries may be missing, so absence proves nothing. True proves little about a single
   * machine if listings change while being read: `getMachine` decides.
   */
  readonly complete: boolean;
  /**
   * Existing but unreadable entries; they do not invalidate others. One that shows neither id nor,
   * for free capacity, reservation makes the listing incomplete.
   */
  readonly unreadable?: readonly UnreadableEntry[];
}

export interface CreateRequest {
  /** An unused entry of this provider's listing. */
  readonly unused: ProviderMachine;
  readonly hostname: string;
  readonly plan: string;
  /** Operating system to install; null: the driver's default. */
  readonly image: string | null;
  /** All tags for the device: ours and the shared ones. */
  readonly tags: Tags;
  /** Shell lines to run as root at the first boot. Holds a secret: never logged. */
  readonly initCommand: string;
  readonly publicKey: string;
  /** An earlier attempt with this creation key may have succeeded: search first. */
  readonly resumed: boolean;
  /** Must be awaited before each request that may create a device. */
  onAttempt(progress: AttemptProgress): Promise<void>;
}
export interface AttemptProgress {
  /** Requests including the coming one; from 1. */
  readonly attempts: number;
  /** The outcome of an earlier request is unknown. */
  readonly ambiguous: boolean;
}

export interface ReinstallRequest {
  /** Null: the same as before. */
  readonly image: string | null;
  /** Tags for the device; keys that are not ours stay. */
  readonly tags: Tags;
  readonly initCommand: string;
  readonly publicKey: string;
}

/** The provider's name of an accepted operation, for people. */
export interface OperationRef {
  readonly operationRef: string;
  /** The machine's own system carries it out, unless it hangs. Absent: unknown. */
  readonly isGraceful?: boolean;
}

export interface SweepReport {
  /** What was removed, or would be. */
  readonly removed: readonly { readonly kind: string; readonly id: string }[];
}

/**
 * A provider as the fleet uses it: a driver's `Provider` wrapped by the core. Adds owner and time
 * to entries; adds our tags and first-boot commands.
 */
export interface FleetProvider {
  readonly name: ProviderName;
  /** The driver's name. */
  readonly type: string;
  /** Supported operations; machines of an inventory can also be created and given back. */
  readonly capabilities: Capabilities;
  /**
   * Present for an inventory: existing machines are taken in and released unchanged. Absent:
   * machines are created and deleted.
   */
  readonly inventory?: {
    /** Entry that this process saw last; null: none. */
    lastSeen(id: string): ProviderMachine | null;
  };
  /** The slot of a machine in use, whoever's it is, is not listed as free. */
  listMachines(options: FleetCall): Promise<Listing>;
  /** Any machine; the caller checks its owner. @throws {ProviderError} `not-found`. */
  getMachine(id: string, options: FleetCall): Promise<ProviderMachine>;
  createMachine(request: FleetCreateRequest, options: FleetCall): Promise<ProviderMachine>;
  findByWitness(
    witness: Witness,
    slotId: string,
    options: FleetCall,
  ): Promise<ProviderMachine | null>;
  /** The following change only our machines. @throws {ProviderError} `conflict`: it is not ours. */
  deprovisionMachine(id: string, options: FleetCall): Promise<void>;
  rebootMachine(id: string, mode: 'graceful' | 'force', options: FleetCall): Promise<OperationRef>;
  reinstallMachine(id: string, options: FleetCall): Promise<OperationRef>;
  setPower(id: string, want: 'on' | 'off', options: FleetCall): Promise<OperationRef>;
  resetController(id: string, options: FleetCall): Promise<OperationRef>;
  /** Adds or changes our tags on our machine. */
  setTags(id: string, tags: Tags, options: FleetCall): Promise<void>;
  /** Makes an untagged machine ours. @throws {ProviderError} `conflict`: it is another owner's. */
  assimilate(id: string, witness: Witness, options: FleetCall): Promise<ProviderMachine>;
  readonly verifyHostKey: VerifyHostKey<FleetCall>;
  capacityGroup(plan: Plan): string;
  isReusable(slotId: string, options: FleetCall): Promise<boolean>;
  hostnameFor(slotId: string): string;
  prepare(options: FleetCall): Promise<void>;
  sweep(options: FleetCall & { readonly dryRun: boolean }): Promise<SweepReport>;
  stop(): Promise<void>;
}

export interface FleetCall {
  readonly signal: AbortSignal;
  /** Absent: the operation's default limit. Waits for a turn do not count. */
  readonly timeoutMs?: number;
  /**
   * Called just before a request that changes something is sent, after its turn has come; again for
   * each repetition. If it rejects, the call rejects with the same error, unless an earlier request
   * may have succeeded. Not for creations (see `onAttempt`), nor for tags.
   */
  readonly beforeSending?: () => Promise<void>;
  /**
   * Reservation of the machine when last seen. If the reservation is listed as free, the machine
   * counts as gone even if the listing has gaps.
   */
  readonly reservationId?: string | null;
}

export interface Listing {
  readonly machines: readonly ProviderMachine[];
  /** False: entries may be missing that are not among `unreadable` either. */
  readonly complete: boolean;
  /** Existing but unreadable entries: neither absent nor usable. */
  readonly unreadable?: readonly UnreadableEntry[];
}

export interface FleetCreateRequest {
  readonly unused: ProviderMachine;
  readonly hostname: string;
  readonly witness: Witness;
  readonly resumed?: boolean;
  onAttempt?(progress: AttemptProgress): Promise<void>;
}
