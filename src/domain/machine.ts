import type { MemberRow } from './balancing/members.ts';
import type { MachineId, ProviderName, SessionId, Slot, Witness } from './ids.ts';
import type { StandingRung } from './recovery/rungs.ts';
import { forTraits, TRAITS, type Traits } from './traits.ts';
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
    /** `silence` and `probes` end by themselves, `manual` at its end or by an operator. */
    readonly kind: FreezeKind;
    readonly reason: string;
    /** When a freeze by an operator ends by itself; null: it has no end. */
    readonly untilMs: number | null;
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

/** What a value of the database is here. */
interface Kinds {
  text: string;
  ms: number;
  int: number;
  bool: boolean;
  bigint: bigint;
  seconds: readonly number[];
  provider: ProviderName;
  status: ProviderStatus;
  result: InstallationResult;
  quarantine: QuarantineKind;
  rung: StandingRung;
  verb: OrderVerb;
  drain: DrainMode;
}
type FieldKind = keyof Kinds | `${keyof Kinds}?`;
/** With `?` it may be null. `machine-row.ts` says which table each letter of `sql` is. */
export type Field = readonly [kind: FieldKind, sql: string, note?: string];

/**
 * The columns of a machine's row, each described once. The types of the parts, how they are read from
 * the database, and their schemas in the API derive from this table. A part is null when its first
 * field is, but those of `ALWAYS`.
 */
export const MACHINE_PARTS = {
  /** Which hardware the machine is. */
  provided: {
    provider: ['provider', 'p.provider'],
    providerId: ['text', 'p.provider_id'],
    reservationId: ['text?', 'p.provider_reservation_id'],
    address: ['text?', 'p.provider_ip_address', '`host` or `host:port`.'],
    ...forTraits((name) => ['text?', `p.${TRAITS[name].column}`] as const),
    status: ['status?', 'p.provider_status'],
  },
  slot: {
    /** See `Labels`. */
    labels: [
      'text?',
      `(SELECT string_agg(l.key || '=' || l.value, ',' ORDER BY l.key COLLATE "C")
        FROM slot_labels x, jsonb_each_text(x.labels) l WHERE x.provider = p.provider
          AND x.slot_id = coalesce(p.provider_reservation_id, p.provider_id))`,
    ],
  },
  /** The unbroken run of complete listings that do not know the device; null: it was seen last. */
  missing: {
    sinceMs: ['ms', 'p.provider_missing_since'],
    seen: ['int', 'p.provider_missing_seen'],
  },
  agentStarted: {
    atMs: ['ms', 'a.agent_started_at'],
    publicKey: ['text', "encode(a.agent_public_key, 'hex')", 'Raw Ed25519, 64 hex digits.'],
    bootId: ['text?', 'a.boot_id'],
  },
  heartbeat: { atMs: ['ms', 'h.agent_heartbeat_at'], bootId: ['text?', 'h.boot_id'] },
  installation: {
    requestGeneration: ['bigint?', 'r.generation'],
    handedOutAtMs: ['ms?', 'r.handed_out_at'],
    reportGeneration: ['bigint?', 'o.generation'],
    reportResult: ['result?', 'o.os_installation_result'],
  },
  /** Starts of the agent that failed. */
  startAttempt: {
    count: ['int', 't.count', 'In a row.'],
    unreached: ['int', 't.unreached', 'How many of them never reached the machine.'],
    atMs: ['ms?', 't.attempted_at', 'The agent was about to be executed then; null: never.'],
  },
  /** The ladder's memory of one episode, and of what was asked of the machine last. */
  recovery: {
    rung: ['rung', 'l.rung', 'Where the ladder stands; what an operator orders does not move it.'],
    attempts: ['int', 'l.attempts', 'On this rung; 0: none yet.'],
    nextAtMs: ['ms?', 'l.next_at', 'No rung starts before; null: at once.'],
    askedAtMs: ['ms?', 'l.asked_at', 'A rung is asked for, and neither refused nor proved yet.'],
    askedRung: ['rung?', 'l.asked_rung', 'What that is; null exactly when `askedAtMs` is.'],
    operationRef: ['text?', 'l.operation_ref', "The provider's name of the accepted operation."],
    orderKey: ['text?', 'l.order_key', "The order it was for; null: the ladder's own."],
    bootIdBefore: ['text?', 'l.boot_id_before', 'Before it was asked for; null: not known.'],
    hostKeyBefore: ['text?', 'l.host_key_before', 'The pinned SSH host key before it.'],
    offSeenAtMs: ['ms?', 'l.off_seen_at', 'The power is seen off since then; null: not yet.'],
    /** Time of the last accepted power-off request; null: power-on was accepted since. */
    powerOffAskedAtMs: ['ms?', 'l.power_off_asked_at'],
  },
  /** From a request to its proof: the latest ones, at most `BOOT_TIMES_KEPT`, newest first. */
  bootTimes: {
    reboot: ['seconds', 'c.reboot_seconds'],
    reinstall: ['seconds', 'c.reinstall_seconds'],
  },
  /** Work that an operator asked for; at most one is open. Expired ones are left out. */
  order: {
    key: ['text', 'y.idempotency_key'],
    verb: ['verb', 'y.verb'],
    by: ['text', 'y.actor'],
    reason: ['text', 'y.reason'],
    force: ['bool', `y.parameters @> '{"force": true}'`, 'A reboot does not ask the system first.'],
    drain: ['drain?', "y.parameters ->> 'drain'", 'Null: it waits for its load balancers.'],
    expiresAtMs: ['ms', 'y.expires_at'],
  },
  quarantine: {
    kind: ['quarantine', 'q.kind'],
    reason: ['text', 'q.reason'],
    untilMs: ['ms?', 'q.until'],
  },
  /** Somebody asked to give the machine back to its provider. */
  deprovision: {
    requestedAtMs: ['ms', 'd.requested_at'],
    requestedBy: ['text', 'd.requested_by'],
    reason: ['text', 'd.reason'],
    drain: ['drain?', 'd.drain', 'Null: it waits for its load balancers.'],
    /** Its slot gets the next machine at once. Otherwise a hold `no-allocate` keeps the slot free. */
    returnToPool: ['bool', 'd.return_to_pool'],
    attempts: ['int', 'd.attempts', 'Calls made to the provider.'],
    askedAtMs: ['ms?', 'd.asked_at'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

type Parts = typeof MACHINE_PARTS;
export type PartName = keyof Parts;
type ValueOf<Kind> = Kind extends `${infer Known extends keyof Kinds}?`
  ? Kinds[Known] | null
  : Kind extends keyof Kinds
    ? Kinds[Kind]
    : never;
export type PartOf<Name extends PartName> = {
  readonly [Key in keyof Parts[Name]]: Parts[Name][Key] extends readonly [infer Kind, ...unknown[]]
    ? ValueOf<Kind>
    : never;
};
export const ALWAYS = ['slot', 'installation', 'bootTimes'] as const satisfies readonly PartName[];
type AlwaysThere = (typeof ALWAYS)[number];
export interface Provided extends PartOf<'provided'> {}
export interface LadderRow extends PartOf<'recovery'> {}
export interface OrderRow extends PartOf<'order'> {}
export interface BootTimes extends PartOf<'bootTimes'> {}
type MachineParts = {
  readonly [Name in PartName]: Name extends AlwaysThere ? PartOf<Name> : PartOf<Name> | null;
};
/** All rows of one machine, joined. Work of dead sessions is already left out. */
export interface MachineRow extends MachineParts {
  readonly machineId: MachineId;
  readonly createdAtMs: number;
  /**
   * Set when the ladder stands on, or asked for, a rung that this program does not know: which. A
   * newer one is at it, so `recovery` tells nothing, and the ladder is left as it is.
   */
  readonly unknownRung?: string;
  /** A permit of the fleet guard to be recovered is held. */
  readonly permit: boolean;
  /** Pinned SSH host key, base64 of the wire blob. */
  readonly hostKey: string | null;
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

/** One entry of a provider's listing: an immutable snapshot. `id` is null for free capacity. */
export interface ProviderMachine extends Traits {
  readonly id: string | null;
  readonly reservationId: string | null;
  readonly hostname: string | null;
  readonly plan: string;
  readonly address: string | null;
  readonly remoteUser: string;
  readonly availability: Availability;
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
