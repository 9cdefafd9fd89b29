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
 * `docs/writing-a-provider.md` walks through it; `shepherd provider test` tells when it is done.
 */
export interface Driver<Settings = unknown> {
  /** What a configuration names in `driver:`; `^[a-z][a-z0-9-]{0,30}$`, unique. */
  readonly name: string;
  /**
   * The driver's own keys of a configured provider, as a strict zod object of leaves
   * (`src/settings/leaves.ts`); what all providers have is added to it. Checked before anything is
   * opened.
   */
  settings(around: Surroundings): z.ZodObject;
  /** Makes a provider. Makes no call yet. @throws {UsageError} settings that contradict each other. */
  open(settings: Settings, context: DriverContext): Provider;
  /**
   * What of its settings cannot work, as far as files tell, so that a mistake is told before anything
   * is started. Touches nothing, and asks nobody over a network. When absent: nothing is looked at.
   */
  check?(
    settings: Settings,
    around: { readonly hostKeyPolicy: HostKeyPolicy },
  ): Promise<readonly SettingComplaint[]>;
  /**
   * The key by which two providers of this driver would claim the same machines; null: they do not.
   * Such a configuration is refused. When absent: they never do.
   */
  overlaps?(one: Settings, other: Settings): string | null;
  /**
   * What counts for the host keys of its machines where the configuration of a provider says nothing.
   * When absent: what counts for the whole fleet.
   */
  readonly hostKeyPolicy?: HostKeyPolicy;
  /**
   * What becomes of a machine that is given back, for whoever has to agree to it: "the device …".
   * When absent: the device is deleted, with everything on its disks.
   */
  readonly givingBack?: string;
}

/** What cannot work, or may be meant though it looks like a mistake. */
export interface SettingComplaint {
  /** Of the driver's own settings. */
  readonly key: string;
  /** What is wrong, and what to do. */
  readonly message: string;
  readonly isWarning?: boolean;
}

/**
 * Hardware as one vendor (or one inventory) shows it: what a driver implements. Of the BMDB it has its records and nothing
 * else. The core calls it through `FleetProvider`, which adds what all drivers need: limits of rate and concurrency,
 * deadlines, metrics, tags of ours, and a look at every entry that comes back.
 *
 * Every method rejects with a `ProviderError`; ends when `signal` aborts (kind `aborted`), which at the latest it does at
 * `deadline` (a wait for a turn puts it off, see `DriverContext.waitsForTurn`); and after `stop` rejects with kind `stopped`.
 */
export interface Provider {
  readonly capabilities: Capabilities;
  /**
   * Everything there is: machines (booting and going away too) and free capacity. `filter` is what
   * the caller is interested in; it may be ignored.
   */
  listMachines(filter: Tags, options: CallOptions): Promise<DriverListing>;
  /** @throws {ProviderError} `not-found`: there is no such machine (any more). */
  getMachine(id: string, options: CallOptions): Promise<DriverMachine>;
  /**
   * Binds a device to free capacity. Retry-safe by `operationId`, which the tags carry as
   * `WITNESS_TAG`: a device that already carries it is the answer, not a reason for a second one.
   * @throws {ProviderError} `race-lost`: somebody else's device is on the capacity. `invalid`:
   *   refused for good. `outcome: 'unknown'`: the device may exist.
   */
  createMachine(request: CreateRequest, options: CallOptions): Promise<DriverMachine>;
  /**
   * Gives the machine back; resolves once that is accepted. An unknown id has succeeded already; a
   * driver that `announces` says `not-found`.
   */
  deprovisionMachine(id: string, options: CallOptions): Promise<void>;
  /** Resolves once accepted, which is no evidence that anything happened. */
  rebootMachine(id: string, mode: 'graceful' | 'force', call: CallOptions): Promise<OperationRef>;
  /** A new system on the same id. Resolves once accepted. */
  reinstallMachine(
    id: string,
    request: ReinstallRequest,
    options: CallOptions,
  ): Promise<OperationRef>;
  /** Resolves once accepted. */
  setPower?(id: string, want: 'on' | 'off', options: CallOptions): Promise<OperationRef>;
  /**
   * Restarts what switches the machine (see `DriverMachine.controller`); the machine itself runs on. Resolves once
   * accepted. The controller answers nothing else, so the core cannot look before: every driver, whether it `announces` or
   * not, calls `requireOurs` with the machine as far as it knows it without its controller, and awaits `beforeSending`,
   * just before it sends the request.
   * @throws {ProviderError} `conflict`: it does not hang, as far as the driver knows, or something is
   *   being installed behind it.
   */
  resetController?(id: string, options: CallOptions): Promise<OperationRef>;
  /**
   * Replaces all tags that begin with `TAG_PREFIX`; leaves every other one as it is.
   * @throws {ProviderError} `not-found`.
   */
  setTags(id: string, tags: Tags, options: CallOptions): Promise<void>;
  /**
   * Says whether this is the machine's SSH host key, by means of the provider's own.
   * @throws {ProviderError} `not-implemented`: no such means. `conflict`: it is not.
   */
  readonly verifyHostKey: VerifyHostKey<CallOptions>;
  /** Quota group of a plan; plans that share one run out together. */
  capacityGroup(plan: Plan): string;
  /**
   * Finds the device of a witness past all caches. When absent, a listing is searched.
   * @throws {ProviderError} `race-lost`: somebody else's device is on the slot, so there is none.
   */
  findByWitness?(
    witness: Witness,
    slotId: string,
    options: CallOptions,
  ): Promise<DriverMachine | null>;
  /** Whether the slot of a machine that was given back can be used again, or is out of our hands. Absent: a listing shows it. */
  isReusable?(slotId: string, options: CallOptions): Promise<boolean>;
  /** Host name that a device on this slot gets; always the same. When absent: the slot id. */
  hostnameFor?(slotId: string): string;
  /** Puts in place what every creation needs, so that a mistake shows at start. Idempotent. */
  prepare?(options: CallOptions): Promise<void>;
  /** Removes leftovers of ours (keys, disks) of an hour or older; only looks when `dryRun`. */
  sweep?(options: CallOptions & { readonly dryRun: boolean }): Promise<SweepReport>;
  /**
   * Ends what is under way (`aborted`), timers and sockets within 10 s; machines are left running.
   * Idempotent.
   */
  stop(): Promise<void>;
}

/** What the provider can do. What it cannot, it must refuse with kind `not-implemented`. */
export interface Capabilities {
  /**
   * Machines can be made of free capacity. False: it is an inventory of machines that are there
   * anyway, listed as `PossiblyUsed`; the core takes them in and lets them go.
   */
  readonly create: boolean;
  readonly deprovision: boolean;
  readonly reboot: boolean;
  readonly reinstall: boolean;
  readonly power: boolean;
  /** `resetController` works. When absent: it does not. */
  readonly resetController?: boolean;
  /** `setTags` works. */
  readonly tags: boolean;
  /** `verifyHostKey` has means of its own. */
  readonly hostKey: boolean;
  /**
   * What runs on a machine was put there for us, so its agent may be told to reboot it into an image
   * that it installed. Absent: it is somebody's system, and no agent ever reboots it.
   */
  readonly throwAway?: boolean;
  /** A machine is in the first listing after its creation. */
  readonly consistentList: boolean;
  /** Calls at once; 1: one after the other. The core keeps to it. */
  readonly maxConcurrency: number;
  /**
   * The driver has a queue of its own, so it calls `requireOurs` and `beforeSending` itself. When
   * absent the core looks and calls, just before it asks the driver.
   */
  readonly announces?: boolean;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** `signal` aborts at this time at the latest; for requests that carry a time limit. */
  readonly deadline: Date;
  /** Names the operation in logs; of a creation it is the witness, the same at each attempt. */
  readonly operationId: string;
  /**
   * Checks whether the change is still wanted. A driver that `announces` awaits it just before each
   * request that gives back, reboots, installs anew or switches, after all waits. If it rejects,
   * nothing is sent, and the call is rejected with the same.
   */
  readonly beforeSending?: () => Promise<void>;
  /**
   * Whether the machine may be changed. A driver that `announces` calls it with the machine as it read
   * it in this very call, as the last thing that it asks before it sends a change.
   * @throws {ProviderError} `conflict`: it is not ours.
   */
  readonly requireOurs: (machine: DriverMachine) => void;
}

/** A class of hardware that can be asked for. */
export interface Plan {
  /** Such as `m3.large.x86`. */
  readonly name: string;
  /** Such as a metro; null: there is but one. */
  readonly location: string | null;
  readonly spot: boolean;
}

/** One machine, or one piece of free capacity; only what differs from the usual must be said. */
export interface DriverMachine extends Partial<Traits>, Pick<ProviderMachine, 'leavesAtMs'> {
  /** Opaque and stable: 1–128 printable characters, not `invalid`. Null only for free capacity. */
  readonly id: string | null;
  /** What names the slot, where that is not the id. Free capacity must have it or an id. */
  readonly reservationId: string | null;
  /** `PossiblyUsed`: cannot tell; the BMDB decides. An entry without one is dropped, with an alarm. */
  readonly availability: Availability;
  readonly plan: string;
  readonly hostname?: string | null;
  /** `host`, `host:port` or `[v6]:port`; null until known. */
  readonly address?: string | null;
  /** `root` when absent. */
  readonly remoteUser?: string;
  /** The provider says that the device is broken. */
  readonly failed?: boolean;
  /** `Unknown` for a machine in use when absent. */
  readonly status?: ProviderStatus | null;
  readonly power?: 'on' | 'off' | 'unknown';
  /** Where `resetController` works: what it is about, and whether it is needed. */
  readonly controller?: Controller;
  readonly tags?: Tags;
  /** SSH host key that the inventory knows, base64 of the wire form. */
  readonly hostKey?: string;
  /** Password of the user, for a machine that lets in none of our keys; needs `hostKey`. */
  readonly sshPassword?: HeldSecret;
  /** Paid by demand and taken away at will. */
  readonly spot?: boolean;
}

export interface DriverListing {
  readonly machines: readonly DriverMachine[];
  /**
   * False: something may be missing from it. Nothing is then concluded from absence. True proves
   * little of a single machine where lists shift while they are read: `getMachine` has the last word.
   */
  readonly complete: boolean;
  /**
   * What is there and cannot be read, each by itself: it spoils no other entry. One that shows
   * neither id nor, if it is free capacity, reservation makes the listing incomplete.
   */
  readonly unreadable?: readonly UnreadableEntry[];
}

export interface CreateRequest {
  /** An entry of this provider's listing that is not in use. */
  readonly unused: ProviderMachine;
  readonly hostname: string;
  readonly plan: string;
  /** Operating system to install; null: the driver's usual. */
  readonly image: string | null;
  /** To put on the device whole: ours and the shared ones. */
  readonly tags: Tags;
  /** Shell lines to run as root at the first boot. Holds a secret: never logged. */
  readonly initCommand: string;
  readonly publicKey: string;
  /** An earlier attempt with this witness may have reached the provider: look before asking. */
  readonly resumed: boolean;
  /** To be called, and awaited, before each request that may create a device. */
  onAttempt(progress: AttemptProgress): Promise<void>;
}
export interface AttemptProgress {
  /** Requests so far, with the coming one; from 1. */
  readonly attempts: number;
  /** The outcome of an earlier one is not known. */
  readonly ambiguous: boolean;
}

export interface ReinstallRequest {
  /** Null: the same as before. */
  readonly image: string | null;
  /** To put on the device; keys that are not ours stay. */
  readonly tags: Tags;
  readonly initCommand: string;
  readonly publicKey: string;
}

/** How the provider names an accepted operation, for people. */
export interface OperationRef {
  readonly operationRef: string;
  /** The machine's own system is to carry it out, which one that hangs does not. Absent: not known. */
  readonly isGraceful?: boolean;
}

export interface SweepReport {
  /** What was removed, or would be. */
  readonly removed: readonly { readonly kind: string; readonly id: string }[];
}

/**
 * A provider as the fleet uses it: a driver's `Provider` in the core's hands. Entries carry whose
 * they are and when they were seen; tags of ours are put on and init commands made here.
 */
export interface FleetProvider {
  readonly name: ProviderName;
  /** The driver's name. */
  readonly type: string;
  /** What can be asked here; the machines of an inventory can be created and given back too. */
  readonly capabilities: Capabilities;
  /**
   * Present where the machines are there anyway: they are taken in as they are, and left as they are
   * when they are given back. Absent: machines are made, and deleted.
   */
  readonly inventory?: {
    /** What it showed of a machine last, to this process; null: nothing. */
    lastSeen(id: string): ProviderMachine | null;
  };
  /** The slot under a machine in use, whosever, is not listed as free. */
  listMachines(options: FleetCall): Promise<Listing>;
  /** A machine, whosever; the caller looks whose it is. @throws {ProviderError} `not-found`. */
  getMachine(id: string, options: FleetCall): Promise<ProviderMachine>;
  createMachine(request: FleetCreateRequest, options: FleetCall): Promise<ProviderMachine>;
  findByWitness(
    witness: Witness,
    slotId: string,
    options: FleetCall,
  ): Promise<ProviderMachine | null>;
  /** The following act on machines of ours only. @throws {ProviderError} `conflict`: it is not ours. */
  deprovisionMachine(id: string, options: FleetCall): Promise<void>;
  rebootMachine(id: string, mode: 'graceful' | 'force', options: FleetCall): Promise<OperationRef>;
  reinstallMachine(id: string, options: FleetCall): Promise<OperationRef>;
  setPower(id: string, want: 'on' | 'off', options: FleetCall): Promise<OperationRef>;
  resetController(id: string, options: FleetCall): Promise<OperationRef>;
  /** Adds to (or changes) the tags of ours on a machine that is ours. */
  setTags(id: string, tags: Tags, options: FleetCall): Promise<void>;
  /** Makes an untagged machine ours, for good. @throws {ProviderError} `conflict`: it is another's. */
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
  /** The operation's usual limit when absent. Waits for a turn do not count. */
  readonly timeoutMs?: number;
  /**
   * Called just before a request that changes something is sent, when its turn has come; again if it
   * is sent again. What it rejects with is what the call is rejected with, unless an earlier request
   * may have been carried out. Not for creations (see `onAttempt`), nor for tags.
   */
  readonly beforeSending?: () => Promise<void>;
  /**
   * Of the machine that the call is about, the reservation under it when it was seen last. That it is
   * gone is believed when that is listed as free, too, even where a listing has gaps.
   */
  readonly reservationId?: string | null;
}

export interface Listing {
  readonly machines: readonly ProviderMachine[];
  /** False: something may be missing from it that is not among `unreadable` either. */
  readonly complete: boolean;
  /** What is there and cannot be read: neither absent nor to be used. */
  readonly unreadable?: readonly UnreadableEntry[];
}

export interface FleetCreateRequest {
  readonly unused: ProviderMachine;
  readonly hostname: string;
  readonly witness: Witness;
  readonly resumed?: boolean;
  onAttempt?(progress: AttemptProgress): Promise<void>;
}
