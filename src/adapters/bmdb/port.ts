import type { Observable } from 'rxjs';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import type { HeartbeatStore } from '../../domain/heartbeat.ts';
import type { Cursor, MachineId, ProviderName, SessionId, Witness } from '../../domain/ids.ts';
import type {
  GuardRow,
  HoldRow,
  IntentRow,
  MachineRow,
  PenaltyRow,
  Process,
  Provided,
  ProviderHoldKind,
  ProviderHoldRow,
  ProviderStatus,
  RequestRow,
} from '../../domain/machine.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { Json, ProviderRecord, RecordName } from '../../domain/provisioning/records.ts';
import type { GuardChange, GuardCounts } from '../../domain/recovery/guard-judgement.ts';
import type { Traits } from '../../domain/traits.ts';
import type { AccessBook } from './access-port.ts';
import type { BalancingBook } from './balancing-port.ts';
import type { EventBook, WebhookBook, WebhookDesk } from './events-port.ts';
import type { RequestBook, RequestState } from './requests-port.ts';
import type { Work } from './work-port.ts';
import type { BmdbInspection, DaemonAbout } from './inspection-port.ts';

export type * from './access-port.ts';
export type * from './balancing-port.ts';
export { BEFORE_ALL, EVENTS_MAX } from './events-port.ts';
export type * from './events-port.ts';
export type * from './inspection-port.ts';
export { BATCH_MAX } from './requests-port.ts';
export type * from './requests-port.ts';
export type * from './work-port.ts';

/**
 * The bare metal database: the only memory of the fleet. Every implementation passes
 * `test/contracts/bmdb.ts`. All methods throw `Unreachable` when the database does not answer.
 */
export interface Bmdb {
  /** Inserts a session. Its signal is not yet watched by anybody: the caller must poke it. */
  openSession(options: SessionOptions): Promise<BmdbSession>;
  /**
   * All rows, read in one snapshot.
   * @param keep given each row as it is read, answers the one to keep: whoever has an equal one
   *   already spares the memory of another. Must be quick, and may be asked twice.
   */
  scan(signal: AbortSignal, keep?: KeepRow): Promise<BmdbSnapshot>;
  /**
   * What changed since a scan or the last such call. Heartbeats, and work that ended because its
   * session died, are no changes: compare `sessions`.
   * @returns null when the database cannot tell (any more): scan instead.
   */
  changesSince(cursor: Cursor, signal: AbortSignal): Promise<BmdbChanges | null>;
  /**
   * Fresh rows of one machine; `row` is null when it does not exist. What has been begun is not
   * stopped by the signal.
   */
  readMachine(id: MachineId, signal: AbortSignal): Promise<MachineReading>;
  /**
   * Fires (without content) when rows may have changed. Only a hint: a wake may be lost, so a
   * periodic `scan` is the correctness path. Never errors; reconnects by itself. A database that is
   * not to be listened to never fires: ask for changes by period.
   */
  readonly wakes$: Observable<Wake>;
  readonly heartbeats: HeartbeatStore;
  /** What must not be asked of providers, for every daemon to honour. */
  readonly providerHolds: ProviderHoldBook;
  /** Which providers cannot be listed. */
  readonly listings: ListingBook;
  /** What drivers keep at vendors that have no tags. */
  readonly records: RecordShelf;
  /** What operators ask for. */
  readonly requests: RequestBook;
  /** Who may be recovered at all, over all daemons. */
  readonly guard: GuardBook;
  /**
   * Housekeeping, for every daemon to call about every 10 s: removes at most 100 sessions that are
   * long dead (their work is cancelled, with history) and permits of machines that no longer need
   * one. Nothing depends on it but the size of the tables and of the budget.
   */
  sweep(): Promise<Swept>;
  /** What happened, in one order. */
  readonly events: EventBook;
  /** Who is told of it over HTTP. */
  readonly webhooks: WebhookBook;
  /** Who may use console and API. */
  readonly access: AccessBook;
  /** For people: never on the path of a machine. */
  readonly inspection: BmdbInspection;
  close(): Promise<void>;
}

export type KeepRow = (row: MachineRow) => MachineRow;

/** `reconnected`: wakes were lost meanwhile, and perhaps a database came back: scan. */
export type Wake = 'changed' | 'reconnected';

/** How many rows of each kind `sweep` removed. */
export interface Swept {
  readonly sessions: number;
  readonly work: number;
  readonly permits: number;
  /** Lines of work history beyond what is kept. */
  readonly history: number;
}

export interface SessionOptions {
  /** `shepherd` for a daemon that runs the loops. */
  readonly component: string;
  /** Such as `host rack7`. */
  readonly runtimeInfo: string;
  /** What people are told of the daemon; absent: nothing. */
  readonly about?: DaemonAbout;
  /** A session dies this long after its last successful poke. */
  readonly intervalMs: number;
}

/** When something was read. */
export interface ReadingMoment {
  /** Database clock, somewhat before the rows were read: good for ages, not for an order of reads. */
  readonly nowMs: number;
  /**
   * Orders reads by what they saw: of two, the one that saw a commit that the other did not has the
   * greater number; equal ones saw the same commits. Means nothing across a restart, failover or
   * restore of the database, so compare only reads that overlap; else the one begun later is newer.
   */
  readonly version: number;
}

/** What is small enough to be read whole each time. */
export interface BmdbSurroundings extends ReadingMoment {
  /** Where `changesSince` goes on from; null: it cannot, so only scans tell what changed. */
  readonly cursor: Cursor | null;
  /** Open and unresolved ones. */
  readonly intents: readonly IntentRow[];
  /** Not yet expired ones. */
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  /** Ended ones too, as long as they are kept. */
  readonly providerHolds: readonly ProviderHoldRow[];
  readonly leases: readonly LeaseRow[];
  /** Open ones, of orders too. */
  readonly requests: readonly RequestRow[];
  /** Of the fleet and of each provider that was ever frozen. */
  readonly guard: readonly GuardRow[];
  /** How pools stand at their balancers, by pool and balancer. */
  readonly pools: readonly PoolRow[];
  /** Live sessions, with their component, for the ranking between daemons. */
  readonly sessions: readonly { readonly sessionId: SessionId; readonly component: string }[];
}
export interface BmdbSnapshot extends BmdbSurroundings {
  readonly machines: readonly MachineRow[];
}
/** What plans are made of. */
export type FleetRows = Pick<
  BmdbSnapshot,
  'nowMs' | 'machines' | 'intents' | 'holds' | 'penalties'
>;
export interface BmdbChanges extends BmdbSurroundings {
  /** Rows of the machines that changed, as they are now. */
  readonly machines: readonly MachineRow[];
  /** Machines that are no longer there. */
  readonly gone: readonly MachineId[];
}
export interface MachineReading extends ReadingMoment {
  readonly row: MachineRow | null;
}

/** Liveness of this daemon, and everything that only a live daemon may write. */
export interface BmdbSession {
  readonly sessionId: SessionId;
  /**
   * Aborts (with `SessionExpired`) when the session is known or assumed to be dead: at the local
   * deadline, `intervalMs` after the *start* of the last successful poke on the monotonic clock,
   * hence before the database's own deadline. All outside effects must obey it.
   */
  readonly signal: AbortSignal;
  /** Milliseconds until the local deadline. */
  remainingMs(): number;
  /**
   * Extends the deadline. Not idempotent-sensitive: repeat after a failure until the deadline.
   * @throws {SessionExpired} the row is gone or past its deadline; the signal is aborted.
   */
  poke(): Promise<void>;
  /** Cancels the work still held and deletes the session row. Safe to repeat. */
  close(): Promise<void>;
  /**
   * Takes the machine for one process; the predicate of that process is re-checked in SQL.
   * @throws {NothingToDo} not eligible now.
   * @throws {WorkConflict} live work of the exclusion group exists.
   * @throws {NoPermit} recovery only: it is frozen, or silence means nothing now.
   * @throws {SessionExpired}
   */
  claim(process: Process, machineId: MachineId): Promise<Work>;
  /**
   * Cancels whatever work rows this session still holds on the machine (after an actor crash), or
   * only that of the claim with this epoch.
   */
  releaseWork(machineId: MachineId, epoch?: string): Promise<void>;
  readonly intents: IntentBook;
  readonly balancing: BalancingBook;
  readonly records: RecordBook;
  readonly webhooks: WebhookDesk;
  /**
   * Takes a job that one daemon is to do at a time, such as `provisioner/<provider>`, or keeps it:
   * then the answer is the same lease.
   * @param name free text of at most 128 characters.
   * @returns null when another live session holds it.
   * @throws {SessionExpired} @throws {RangeError} no such name.
   */
  lease(name: string): Promise<Lease | null>;
  /**
   * Carries out what an operator asked for: decisions and freezes. An order is only ended here when
   * it has expired, or can never be carried out as things are (a hold, a quarantine, another machine
   * on the slot). One transaction with its line in the slot's log, in the operator's name.
   * Idempotent; what was settled before stays.
   * @returns null: it stays open, since it is an order that may still be carried out.
   * @throws {SessionExpired} @throws {NotFound} there is no such request.
   */
  settle(key: string): Promise<RequestState | null>;
  /** Writes what a provider reports of an existing machine; absent keys stay as they are. */
  updateProvided(machineId: MachineId, patch: ProvidedPatch): Promise<void>;
}

/** Held until it is released or its session dies. */
export interface Lease {
  readonly name: string;
  /** Fencing number: new with each holder. */
  readonly epoch: string;
  /** Idempotent; no-op when it was lost. */
  release(): Promise<void>;
}

export interface ProviderHoldBook {
  /**
   * Imposes a hold for `forMs` from now (database clock), or makes the one with this key last
   * longer; never shorter. `level`, `amount` and `cause` are replaced. 90 days at most.
   * @throws {RangeError} `forMs` is negative or no number, `level` below 1, or `amount` below 0.
   */
  impose(hold: {
    readonly provider: ProviderName;
    readonly kind: ProviderHoldKind;
    readonly key: string;
    readonly forMs: number;
    readonly level: number;
    readonly amount?: number;
    readonly cause: string;
  }): Promise<void>;
  /**
   * Removes holds: of one key, or all of a kind. `penalty` takes slots off the shelf; its key is
   * the slot id. With `seenUntilMs` (epoch ms, as it was read) only those that end no later:
   * whoever had not seen a newer hold cannot say that it is over.
   * @returns how many were removed.
   */
  lift(
    provider: ProviderName,
    kind: ProviderHoldKind | 'penalty',
    key?: string,
    seenUntilMs?: number,
  ): Promise<number>;
}

export interface ProvidedPatch extends Partial<Traits> {
  /**
   * True: a complete listing does not know the device, once more. False: it does; the run of such
   * observations ends.
   */
  readonly absent?: boolean;
  readonly address?: string | null;
  readonly status?: ProviderStatus;
}

/** Write-ahead intents of creation. `witness` is the operation's tag at the provider. */
export interface IntentBook {
  /**
   * Commits an intent before any provider call. A new machine id is chosen here.
   * @throws {WorkConflict} the slot already has an open or unresolved intent, or a machine.
   * @throws {NothingToDo} a hold forbids to use the slot, or it is on the shelf.
   * @throws {LeaseLost} `lease` is another daemon's now.
   */
  open(input: {
    provider: ProviderName;
    slotId: string;
    hostname: string;
    /** Write only while it is ours. */
    lease?: Lease;
  }): Promise<IntentRow>;
  /** Takes over an intent whose session is dead. @throws {WorkConflict} it is alive or settled. */
  resume(witness: Witness): Promise<IntentRow>;
  /**
   * Before each attempt, and when an attempt's outcome is unknown.
   * @throws {NothingToDo} `attempts` is given, and by now a hold forbids to use the slot, or it is on
   *   the shelf or has a machine: nothing was written, and the attempt must not be made.
   */
  progress(
    witness: Witness,
    change: {
      attempts?: number;
      ambiguous?: boolean;
      unresolved?: boolean;
      lastError?: string;
      /** True: a complete search found nothing (the first time is kept). False: begin anew. */
      empty?: boolean;
    },
  ): Promise<void>;
  /**
   * Machine + Provided + intent adopted, in one transaction. Idempotent: adopting an adopted intent
   * again returns the same machine.
   */
  adopt(witness: Witness, provided: Provided): Promise<MachineId>;
  /** Ends an intent that led to nothing; `penaltyMs` puts the slot on the shelf. */
  end(
    witness: Witness,
    end: { state: 'failed' | 'abandoned'; cause: string; penaltyMs?: number },
  ): Promise<void>;
}

/** The fleet guard's rows. Which limits hold is the implementation's configuration. */
export interface GuardBook {
  /**
   * An assessment of the whole fleet, by one daemon at a time: notes that heartbeats are being taken in
   * here (when they are), counts who is silent, and freezes or thaws. One transaction; when another
   * daemon did so less than `GuardPolicy.assessMs` ago it only reads what that one found.
   */
  assess(intake: { readonly ingestUp: boolean }): Promise<GuardAssessment>;
}

export interface GuardAssessment {
  readonly rows: readonly GuardRow[];
  /** Of the fleet, and of each provider with machines. */
  readonly counts: readonly GuardCounts[];
  /** What this very assessment froze or thawed. */
  readonly changes: readonly GuardChange[];
}

/** A provider that a live daemon cannot list now. */
export interface Unlisted {
  readonly provider: ProviderName;
  /** Who finds so: another daemon may be able to. */
  readonly sessionId: SessionId;
  /** Database clock, epoch ms: first of the unbroken failures, also of daemons before this one. */
  readonly sinceMs: number;
  readonly cause: string;
}

/** What daemons find when they list providers, for those who ask no provider. */
export interface ListingBook {
  /** A listing failed; to be called when it did not before, or not for this cause. */
  failed(found: Omit<Unlisted, 'sinceMs'>): Promise<void>;
  /** It can be listed; what daemons said that are dead since is forgotten, too. */
  succeeded(provider: ProviderName, sessionId: SessionId): Promise<void>;
  /** What live daemons cannot list, by provider, the longest failure first. */
  unlisted(signal: AbortSignal): Promise<readonly Unlisted[]>;
}

/** What drivers keep, for whoever reads it. */
export interface RecordShelf {
  /** All of one provider, as of one moment, in any order; none for one that nobody knows. */
  all(provider: ProviderName, signal: AbortSignal): Promise<readonly ProviderRecord[]>;
  /** How many each provider has, configured or not. */
  counts(signal: AbortSignal): Promise<ReadonlyMap<ProviderName, number>>;
}

/**
 * Writes records, each call in one transaction, by compare-and-set. Every call throws `SessionExpired`,
 * with nothing written, when the session is dead; `AmbiguousCommit` when it cannot be found out whether
 * something was written: then read again. Values are not looked into.
 */
export interface RecordBook {
  /**
   * Only where there is none.
   * @returns its version.
   * @throws {ProviderError} `conflict`: there is one. `invalid`: the key or the value cannot be kept, or
   *   the provider has too many; calls at the same moment may exceed that by their number.
   */
  make(name: RecordName, value: Json): Promise<string>;
  /**
   * Only the one with this version.
   * @returns its new version.
   * @throws {ProviderError} `conflict`: it is gone, or was changed. `invalid`, as `make`.
   */
  replace(name: RecordName, value: Json, version: string): Promise<string>;
  /** Only the one with this version. @throws {ProviderError} `conflict`: it is gone, or was changed. */
  drop(name: RecordName, version: string): Promise<void>;
}
