import type { MemberRow } from './balancing/members.ts';
import type { MachineId, ProviderName, SessionId, Slot, Witness } from './ids.ts';
import type { StandingRung } from './recovery/rung-names.ts';
import type { Traits } from './traits.ts';
import type { DrainMode, HoldKind, OrderVerb, ProviderHoldKind, Verb } from './verbs.ts';

export { DRAIN_MODES, HOLD_KINDS, PROVIDER_HOLD_KINDS } from './verbs.ts';
export type { DrainMode, HoldKind, ProviderHoldKind } from './verbs.ts';

/**
 * What is known of a machine, as plain data. Times are epoch milliseconds of the database clock
 * (`…AtMs`), so that they can be compared without knowing where they were read.
 */

export const PROCESSES = [
  'UnitTest1',
  'UnitTest2',
  'ShepherdAccess',
  'ShepherdAgentStart',
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
] as const;
/** A kind of long task on a machine. All `Shepherd…` ones exclude each other on one machine. */
export type Process = (typeof PROCESSES)[number];

export const PROVIDER_STATUSES = [
  'Missing',
  'Provisioning',
  'ProvisioningFailedPermanent',
  'Running',
  'Stopped',
  'Unknown',
] as const;
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

/** How much a listing knows: free capacity, a deployed machine, or "ask the BMDB". */
export type Availability = 'PossiblyUsed' | 'KnownUnused' | 'KnownUsed';

/**
 * Whose tag a device carries: ours and nobody else's, (also) another owner's, or none. The name
 * alone gives no right to anything: whatever is not `ours` is shown and never acted on.
 */
export const OWNERSHIPS = ['ours', 'foreign', 'untagged'] as const;
export type Ownership = (typeof OWNERSHIPS)[number];

export const QUARANTINE_KINDS = ['needsHuman', 'conflict', 'byOperator'] as const;
export type QuarantineKind = (typeof QUARANTINE_KINDS)[number];

export const INSTALLATION_RESULTS = ['Success', 'Error'] as const;
export type InstallationResult = (typeof INSTALLATION_RESULTS)[number];

/** The Provided tag: which hardware the machine is. */
export interface Provided extends Traits {
  readonly provider: ProviderName;
  readonly providerId: string;
  readonly reservationId: string | null;
  /** `host` or `host:port`. */
  readonly address: string | null;
  readonly status: ProviderStatus | null;
}

export interface LiveWork {
  readonly process: Process;
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly startedAtMs: number;
}

export interface BackoffRow {
  readonly process: Process;
  readonly untilMs: number;
  readonly cause: string;
  readonly lastIntervalSeconds: number | null;
}

/** The ladder's memory of one episode, and of what was asked of the machine last. */
export interface LadderRow {
  /** Where the ladder stands; what an operator asked for does not move it. */
  readonly rung: StandingRung;
  /** Attempts on this rung; 0: none yet. */
  readonly attempts: number;
  /** No rung starts before; null: at once. */
  readonly nextAtMs: number | null;
  /** When the last thing was about to be asked for, and not known to be refused or proved since. */
  readonly askedAtMs: number | null;
  /** What that is; null exactly when `askedAtMs` is. */
  readonly askedRung: StandingRung | null;
  /** The order it was for; null: the ladder's own. */
  readonly orderKey: string | null;
  /** The provider's name of the accepted operation. */
  readonly operationRef: string | null;
  /** Before it was asked for; null: not known. */
  readonly bootIdBefore: string | null;
  /** The pinned SSH host key before it was asked for. */
  readonly hostKeyBefore: string | null;
  /** Power cycling: when the power was seen off since; null: not yet. */
  readonly offSeenAtMs: number | null;
  /** When its power was asked off; null: it was accepted since that it is switched on again. */
  readonly powerOffAskedAtMs: number | null;
}

/** Seconds from a request to its proof: the latest ones, at most `BOOT_TIMES_KEPT`, newest first. */
export interface BootTimes {
  readonly reboot: readonly number[];
  readonly reinstall: readonly number[];
}

/** Work that an operator asked for on one machine. */
export interface OrderRow {
  readonly key: string;
  readonly verb: OrderVerb;
  readonly by: string;
  readonly reason: string;
  /** A reboot that does not ask the system first. */
  readonly force: boolean;
  /** Null: it waits until the machine's balancers let it go. */
  readonly drain: DrainMode | null;
  readonly expiresAtMs: number;
}

/** What an operator asked for and no daemon has settled yet. */
export interface RequestRow {
  readonly key: string;
  readonly verb: Verb;
  /** Null: it is about the fleet. */
  readonly provider: ProviderName | null;
  /** Null: it is about the whole provider, or the fleet. */
  readonly slotId: string | null;
  /** The machine that was on the slot when it was asked; null: none. */
  readonly machineId: MachineId | null;
  readonly by: string;
  readonly reason: string;
  readonly createdAtMs: number;
  /** From this time on it is refused, epoch ms. */
  readonly expiresAtMs: number;
  /** Of a verb that is about a pool: which, and at which balancer (null: all of its); else absent. */
  readonly pool?: { readonly pool: string; readonly balancer: string | null };
}

/** What the guard has decided for the fleet or one provider. */
export interface GuardRow {
  /** `fleet`, or a provider. */
  readonly scope: string;
  /** Recovery is frozen; null: it is not. */
  readonly frozen: {
    readonly atMs: number;
    readonly by: string;
    /** `silence` and `probes` end by themselves, `manual` only by an operator. */
    readonly kind: FreezeKind;
    readonly reason: string;
  } | null;
  /** While frozen: since when few enough are silent; null: too many are. */
  readonly calmSinceMs: number | null;
  /** An operator has seen the machines that were silent before then: they freeze nothing any more. */
  readonly thawedAtMs: number | null;
  /** Fleet only: heartbeats have been taken in without a break since; null: not now. */
  readonly ingestUpSinceMs: number | null;
}
export const FREEZE_KINDS = ['manual', 'silence', 'probes'] as const;
export type FreezeKind = (typeof FREEZE_KINDS)[number];

/** All rows of one machine, joined. Work of dead sessions is already left out. */
export interface MachineRow {
  readonly machineId: MachineId;
  readonly createdAtMs: number;
  readonly provided: Provided | null;
  readonly agentStarted: {
    readonly atMs: number;
    /** Raw Ed25519 public key, 64 hex digits. */
    readonly publicKey: string;
    readonly bootId: string | null;
  } | null;
  readonly heartbeat: { readonly atMs: number; readonly bootId: string | null } | null;
  readonly installation: {
    readonly requestGeneration: bigint | null;
    readonly handedOutAtMs: number | null;
    readonly reportGeneration: bigint | null;
    readonly reportResult: InstallationResult | null;
  };
  /**
   * When the agent was last about to be executed, which perhaps was never recorded (null: it never
   * was), failures in a row, and how many of them never reached the machine (absent: none).
   */
  readonly startAttempt: {
    readonly atMs: number | null;
    readonly count: number;
    readonly unreached?: number;
  } | null;
  readonly recovery: LadderRow | null;
  /**
   * Set when the ladder stands on, or asked for, a rung that this program does not know: which. A
   * newer one is at it, so `recovery` tells nothing, and the ladder is left as it is.
   */
  readonly unknownRung?: string;
  /** How long it took to boot, the latest ones first; none: not measured yet. */
  readonly bootTimes: BootTimes;
  /** What an operator asked to be done to it; at most one is open. Expired ones are left out. */
  readonly order: OrderRow | null;
  /** A permit of the fleet guard to be recovered is held. */
  readonly permit: boolean;
  readonly quarantine: {
    readonly kind: QuarantineKind;
    readonly reason: string;
    readonly untilMs: number | null;
  } | null;
  /** Somebody asked to give the machine back to its provider. */
  readonly deprovision: {
    readonly requestedAtMs: number;
    readonly requestedBy: string;
    readonly reason: string;
    /** Null: it waits until the machine's balancers let it go. */
    readonly drain: DrainMode | null;
    /** Its slot gets the next machine at once. Otherwise a hold `no-allocate` keeps the slot free. */
    readonly returnToPool: boolean;
    /** Calls made to the provider. */
    readonly attempts: number;
    readonly askedAtMs: number | null;
  } | null;
  /** The unbroken run of complete listings that do not know the device; null: it was seen last. */
  readonly missing: { readonly sinceMs: number; readonly seen: number } | null;
  /** Pinned SSH host key, base64 of the wire blob. */
  readonly hostKey: string | null;
  /** What it is to load balancers; none: no traffic comes to it by one. */
  readonly members: readonly MemberRow[];
  readonly work: readonly LiveWork[];
  readonly backoffs: readonly BackoffRow[];
  /**
   * Set when a row holds a value that this program does not know (a newer program wrote it): what
   * and where. What cannot be read is left out of the other fields, and nothing may be done.
   */
  readonly unreadable?: string;
}

/** A creation that was begun and is not resolved yet. */
export interface IntentRow {
  readonly witness: Witness;
  readonly machineId: MachineId;
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly hostname: string;
  readonly state: 'open' | 'unresolved';
  readonly ambiguous: boolean;
  readonly attempts: number;
  readonly sessionId: SessionId;
  /** The session that opened it is still alive. */
  readonly sessionAlive: boolean;
  readonly createdAtMs: number;
  /** Since when listings and searches have not found its device; null: nobody searched yet. */
  readonly emptySinceMs: number | null;
  readonly lastError: string | null;
}

export interface HoldRow {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly kind: HoldKind;
  readonly setBy: string;
  readonly reason: string;
  readonly untilMs: number | null;
  /** Of `no-serve`: though fewer members stay active than a pool is to have. Absent: no. */
  readonly force?: boolean;
}

/** A slot that rests after a failed creation. */
export interface PenaltyRow {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly untilMs: number;
  readonly cause: string;
}

/** Kept beyond its end, until a success clears it, so that the next one of its kind lasts longer. */
export interface ProviderHoldRow {
  readonly provider: ProviderName;
  readonly kind: ProviderHoldKind;
  readonly key: string;
  readonly untilMs: number;
  /** How many times in a row it was imposed, from 1. */
  readonly level: number;
  readonly amount: number | null;
  readonly cause: string;
}

/** A job that one daemon does at a time. */
export interface LeaseRow {
  readonly name: string;
  readonly sessionId: SessionId;
  /** Its session is alive: nobody else may take it. */
  readonly held: boolean;
}

/** What a provider lists and nobody can read: it is there, and that is all that is known. */
export interface UnreadableEntry {
  /** Null: it is free capacity, or not even the id can be read. */
  readonly id: string | null;
  readonly reservationId: string | null;
  /** What is wrong with it, for people. */
  readonly fault: string;
}

/** A secret that is looked up when it is used, and shows itself nowhere. */
export interface HeldSecret {
  read(): string;
}

/** What switches a machine, where that is a computer of its own. Several machines may share one. */
export interface Controller {
  /** The provider's name of it, 1–128 printable characters. */
  readonly id: string;
  /** It lets itself be reached and does not answer, for so long that it will not by itself. */
  readonly hangs: boolean;
}

/** One entry of a provider's listing: an immutable snapshot. */
export interface ProviderMachine extends Traits {
  /** Vendor's device id; null for free capacity. */
  readonly id: string | null;
  readonly reservationId: string | null;
  readonly hostname: string | null;
  readonly plan: string;
  /** `host` or `host:port`; null until known. */
  readonly address: string | null;
  readonly remoteUser: string;
  readonly availability: Availability;
  /** The provider says the device is broken. */
  readonly failed: boolean;
  readonly status: ProviderStatus | null;
  readonly power: 'on' | 'off' | 'unknown';
  /** Absent: there is none, or nothing is known of it. */
  readonly controller?: Controller;
  readonly tags: Readonly<Record<string, string>>;
  /** Free capacity, and all of an inventory that is itself the mark, is `ours`. */
  readonly ownership: Ownership;
  /** SSH host key that the inventory knows, base64 of the wire form. */
  readonly hostKey?: string;
  /** Password of the user; told only to a machine that shows `hostKey`. */
  readonly sshPassword?: HeldSecret;
  /** Paid by demand and taken away at will; its capacity is counted apart. */
  readonly spot?: boolean;
  /** Epoch milliseconds: it was given back, and the provider takes it away then. */
  readonly leavesAtMs?: number;
  readonly observedAtMs: number;
}

/** Everything known of one slot, from which its state is computed. */
export interface SlotFacts {
  readonly slot: Slot;
  readonly provider: ProviderName;
  /** The provider's entry, if its latest listing has one. */
  readonly listed: ProviderMachine | null;
  /** A complete listing was seen since start. Until then absence means nothing. */
  readonly listingComplete: boolean;
  readonly row: MachineRow | null;
  readonly intent: IntentRow | null;
  readonly holds: readonly HoldRow[];
  readonly penalty: PenaltyRow | null;
  /** What operators asked about this slot and nobody has settled yet, oldest first. */
  readonly requests: readonly RequestRow[];
  /** More than one row or device claims the slot, or its machine's device is not ours; why. */
  readonly conflict: string | null;
}
