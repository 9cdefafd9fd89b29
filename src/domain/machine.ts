import type { MemberRow } from './balancing/members.ts';
import type { ConditionRow, ReportedConditions } from './conditions.ts';
import type { MachineId, ProviderName, SessionId, Slot, Witness } from './ids.ts';
import type { StandingRung } from './recovery/rungs.ts';
import type { Controller, HeldSecret, LackedMeans } from './listed.ts';
import { forTraits, TRAITS, type Traits } from './traits.ts';
import type { DrainMode, HoldKind, OrderVerb, ProviderHoldKind, Verb } from './verbs.ts';

export { DRAIN_MODES, HOLD_KINDS, PROVIDER_HOLD_KINDS } from './verbs.ts';
export type { DrainMode, HoldKind, ProviderHoldKind } from './verbs.ts';
export type { Controller, HeldSecret, UnreadableEntry } from './listed.ts';
export { FREEZE_KINDS } from './recovery/guard-row.ts';
export type { FreezeKind, GuardRow } from './recovery/guard-row.ts';

/**
 * The known facts about a machine, as plain data. Times are epoch milliseconds of the database
 * clock (`…AtMs`), so that they are comparable wherever they were read.
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
/** A kind of long work on a machine. All `Shepherd…` processes exclude each other. */
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

/** What a listing knows: free capacity, a deployed machine, or "ask the BMDB". */
export type Availability = 'PossiblyUsed' | 'KnownUnused' | 'KnownUsed';

/**
 * Owner of a device by its tags: only us, (also) another owner, or nobody. The name alone gives no
 * right: devices that are not `ours` are shown and never changed.
 */
export const OWNERSHIPS = ['ours', 'foreign', 'untagged'] as const;
export type Ownership = (typeof OWNERSHIPS)[number];

export const QUARANTINE_KINDS = ['needsHuman', 'conflict', 'byOperator'] as const;
export type QuarantineKind = (typeof QUARANTINE_KINDS)[number];
/** Why only a person ends a quarantine. */
export const QUARANTINE_CAUSES = ['chronic', 'retired'] as const;
export type QuarantineCause = (typeof QUARANTINE_CAUSES)[number];

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

/** An operator's request that no daemon has applied yet. */
export interface RequestRow {
  readonly key: string;
  readonly verb: Verb;
  /** Null: the request concerns the fleet. */
  readonly provider: ProviderName | null;
  /** Null: the request concerns the whole provider, or the fleet. */
  readonly slotId: string | null;
  /** The machine on the slot at the time of the request; null: none. */
  readonly machineId: MachineId | null;
  readonly by: string;
  readonly reason: string;
  readonly createdAtMs: number;
  /** From this time on, the request is refused, epoch ms. */
  readonly expiresAtMs: number;
  /** For pool verbs only: the pool and its balancer (null: all of its balancers). */
  readonly pool?: { readonly pool: string; readonly balancer: string | null };
}

/** The TypeScript type of each kind of database value. */
interface Kinds {
  text: string;
  ms: number;
  int: number;
  bool: boolean;
  bigint: bigint;
  numbers: readonly number[];
  provider: ProviderName;
  status: ProviderStatus;
  result: InstallationResult;
  quarantine: QuarantineKind;
  rung: StandingRung;
  verb: OrderVerb;
  drain: DrainMode;
}
type FieldKind = keyof Kinds | `${keyof Kinds}?`;
/** A kind with `?` may be null. `machine-row.ts` maps each letter in `sql` to its table. */
export type Field = readonly [kind: FieldKind, sql: string, note?: string];

/** An aggregate over the slot's counted recoveries; nothing is looked up while there are none. */
const ofEpisodes = (aggregate: string, otherwise = 'NULL') =>
  `CASE WHEN (SELECT EXISTS (SELECT 1 FROM recovery_episodes)) THEN (
    SELECT coalesce(${aggregate}, ${otherwise}) FROM recovery_episodes z WHERE z.provider = p.provider
      AND z.slot_id = coalesce(p.provider_reservation_id, p.provider_id)
      AND z.counted AND z.attempts > 0 AND z.began_at > now() - interval '30 days')
    ELSE ${otherwise} END`;

/**
 * The columns of a machine's row, each described once. The types of the parts, their reading from
 * the database, and their API schemas derive from this table. A part is null when its first field
 * is null, except the parts in `ALWAYS`.
 */
export const MACHINE_PARTS = {
  /** The machine's hardware. */
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
    episodes: [
      'numbers',
      ofEpisodes(
        'array_agg(round(extract(epoch FROM z.began_at) * 1000)::int8 ORDER BY z.began_at DESC)',
      ),
      'When its counted recoveries of the last 30 days began, newest first.',
    ],
    healedBy: [
      'text?',
      ofEpisodes(
        '(array_agg(z.rung ORDER BY z.began_at DESC) FILTER (WHERE z.healed_at IS NOT NULL))[1]',
      ),
      'The rung that last brought it back, in these recoveries. Null: none did.',
    ],
    isRecovering: [
      'bool',
      ofEpisodes('bool_or(z.ended_at IS NULL)', 'false'),
      'The newest of them lasts.',
    ],
  },
  /** Consecutive complete listings without the device; null: the last listing had it. */
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
  /** Failed agent starts. */
  startAttempt: {
    count: ['int', 't.count', 'Failed starts in a row.'],
    unreached: ['int', 't.unreached', 'Number of failed starts that never reached the machine.'],
    atMs: ['ms?', 't.attempted_at', 'Time just before the agent was executed; null: never.'],
  },
  /** The ladder's state in one episode, and the last request to the machine. */
  recovery: {
    rung: ['rung', 'l.rung', 'Current rung of the ladder; an order does not move it.'],
    attempts: ['int', 'l.attempts', 'Attempts on this rung; 0: none yet.'],
    nextAtMs: ['ms?', 'l.next_at', 'End of the cooldown. Null: no cooldown.'],
    askedAtMs: ['ms?', 'l.asked_at', 'Time of the pending request. Null: none.'],
    askedRung: [
      'rung?',
      'l.asked_rung',
      'The requested rung; null exactly when `askedAtMs` is null.',
    ],
    operationRef: ['text?', 'l.operation_ref', "The provider's name of the accepted operation."],
    orderKey: ['text?', 'l.order_key', "Key of the operator's order. Null: none."],
    bootIdBefore: ['text?', 'l.boot_id_before', 'Boot id before the request. Null: unknown.'],
    hostKeyBefore: ['text?', 'l.host_key_before', 'The pinned SSH host key before the request.'],
    offSeenAtMs: ['ms?', 'l.off_seen_at', 'When the power was first seen off. Null: not yet.'],
    /** Time of the last accepted power-off request; null: power-on was accepted since. */
    powerOffAskedAtMs: ['ms?', 'l.power_off_asked_at'],
  },
  /** Durations from a request to its proof: at most `BOOT_TIMES_KEPT`, newest first. */
  bootTimes: {
    reboot: ['numbers', 'c.reboot_seconds'],
    reinstall: ['numbers', 'c.reinstall_seconds'],
  },
  /** Work ordered by an operator; at most one order is open. Leaves out expired orders. */
  order: {
    key: ['text', 'y.idempotency_key'],
    verb: ['verb', 'y.verb'],
    by: ['text', 'y.actor'],
    reason: ['text', 'y.reason'],
    force: ['bool', `y.parameters @> '{"force": true}'`, 'Without asking the system first.'],
    drain: [
      'drain?',
      "y.parameters ->> 'drain'",
      'Null: the machine waits for its load balancers.',
    ],
    expiresAtMs: ['ms', 'y.expires_at'],
  },
  quarantine: {
    kind: ['quarantine', 'q.kind'],
    reason: ['text', 'q.reason'],
    untilMs: ['ms?', 'q.until'],
    cause: ['text?', 'q.cause', 'Heartbeats end no quarantine with a cause: `chronic`, `retired`.'],
  },
  /** See `acceptance.ts`. */
  acceptance: {
    state: ['text', 'x.state', '`waiting`, `due`, `passed` or `failed`.'],
    cause: ['text', 'x.cause', '`first`, `reinstalled`, `unretired`, `repaired` or `asked`.'],
    held: ['bool', 'x.held', 'While it is due, the machine stays out of pools if it is required.'],
    askedAtMs: ['ms', 'x.asked_at'],
    handedOutAtMs: ['ms?', 'x.handed_out_at', 'When its agent got the request; null: not yet.'],
    endedAtMs: ['ms?', 'x.ended_at'],
    reason: ['text', 'x.reason', 'Why it failed; else empty.'],
  },
  /** A request to give the machine back to its provider. */
  deprovision: {
    requestedAtMs: ['ms', 'd.requested_at'],
    requestedBy: ['text', 'd.requested_by'],
    reason: ['text', 'd.reason'],
    drain: ['drain?', 'd.drain', 'Null: the machine waits for its load balancers.'],
    /** The slot gets the next machine at once. Otherwise a `no-allocate` hold keeps it free. */
    returnToPool: ['bool', 'd.return_to_pool'],
    attempts: ['int', 'd.attempts', 'Calls made to the provider.'],
    askedAtMs: ['ms?', 'd.asked_at'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

type MachinePartsTable = typeof MACHINE_PARTS;
export type PartName = keyof MachinePartsTable;
type FieldValue<Kind> = Kind extends `${infer Known extends keyof Kinds}?`
  ? Kinds[Known] | null
  : Kind extends keyof Kinds
    ? Kinds[Kind]
    : never;
export type PartOf<Name extends PartName> = {
  readonly [Key in keyof MachinePartsTable[Name]]: MachinePartsTable[Name][Key] extends readonly [
    infer Kind,
    ...unknown[],
  ]
    ? FieldValue<Kind>
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
/** All rows of one machine, joined. Work of dead sessions is left out. */
export interface MachineRow extends MachineParts {
  readonly machineId: MachineId;
  readonly createdAtMs: number;
  /**
   * The rung of the ladder, or of its last request, if this program does not know that rung. A
   * newer program handles the machine, so `recovery` means nothing, and the ladder stays untouched.
   */
  readonly unknownRung?: string;
  /** The machine holds a recovery permit of the fleet guard. */
  readonly permit: boolean;
  /** Pinned SSH host key, base64 of the wire blob. */
  readonly hostKey: string | null;
  readonly members: readonly MemberRow[];
  readonly work: readonly LiveWork[];
  readonly backoffs: readonly BackoffRow[];
  /**
   * Set when a row holds a value that this program does not know, because a newer program wrote it:
   * the value and its place. Unreadable values are left out of the other fields, and nothing may be
   * done.
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
  /** Since when listings and searches have not found its device; null: no search yet. */
  readonly emptySinceMs: number | null;
  readonly lastError: string | null;
}

export interface HoldRow {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly kind: HoldKind;
  readonly setBy: string;
  readonly reason: string;
  /** When it begins; null or absent: at once. */
  readonly fromMs?: number | null;
  readonly untilMs: number | null;
  /** Of `no-serve`: drain even below the pool's least number of active members. Absent: no. */
  readonly force?: boolean;
}

/** A slot that is left alone after a failed creation. */
export interface PenaltyRow {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly untilMs: number;
  readonly cause: string;
}

/** Kept after its end until a success clears it, so that the next hold of its kind lasts longer. */
export interface ProviderHoldRow {
  readonly provider: ProviderName;
  readonly kind: ProviderHoldKind;
  readonly key: string;
  readonly untilMs: number;
  /** How often in a row it was imposed, from 1. */
  readonly level: number;
  readonly amount: number | null;
  readonly cause: string;
}

/** One entry of a provider's listing: an immutable snapshot. `id` is null for free capacity. */
export interface ProviderMachine extends Traits, ReportedConditions, LackedMeans {
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
  /** Absent: there is none, or nothing is known about it. */
  readonly controller?: Controller;
  readonly tags: Readonly<Record<string, string>>;
  /** Free capacity is `ours`, as are all entries of an inventory that marks ownership itself. */
  readonly ownership: Ownership;
  /** SSH host key from the inventory, base64 of the wire form. */
  readonly hostKey?: string;
  /** Password of the user; sent only to a machine that proves `hostKey`. */
  readonly sshPassword?: HeldSecret;
  /** Billed on demand and revocable at any time; its capacity is counted apart. */
  readonly spot?: boolean;
  /** When the provider takes the machine away after it was given back, epoch ms. */
  readonly leavesAtMs?: number;
  readonly observedAtMs: number;
}

/** All known facts about one slot; they determine its state. */
export interface SlotFacts {
  readonly slot: Slot;
  readonly provider: ProviderName;
  /** The entry in the provider's latest listing, if there is one. */
  readonly listed: ProviderMachine | null;
  /** A complete listing was seen since start. Before, absence proves nothing. */
  readonly listingComplete: boolean;
  readonly row: MachineRow | null;
  readonly intent: IntentRow | null;
  readonly holds: readonly HoldRow[];
  readonly penalty: PenaltyRow | null;
  /** What is known to be wrong with the machine. `holds` includes the holds that follow. */
  readonly conditions: readonly ConditionRow[];
  /** Operators' requests about this slot that are not applied yet, oldest first. */
  readonly requests: readonly RequestRow[];
  /** Why the slot has a conflict (several rows or devices, or a device not ours); else null. */
  readonly conflict: string | null;
}
