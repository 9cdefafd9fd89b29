import type { Observable } from 'rxjs';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import type { ConditionRow } from '../../domain/conditions.ts';
import type { HeartbeatStore } from '../../domain/heartbeat.ts';
import type { Cursor, MachineId, ProviderName, SessionId } from '../../domain/ids.ts';
import type {
  GuardRow,
  HoldRow,
  IntentRow,
  MachineRow,
  PenaltyRow,
  Process,
  ProviderHoldKind,
  ProviderHoldRow,
  ProviderStatus,
  RequestRow,
} from '../../domain/machine.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { RecordJson, ProviderRecord, RecordName } from '../../domain/provisioning/records.ts';
import type { Replacement } from '../../domain/provisioning/replacement.ts';
import type { GuardChange, GuardCounts } from '../../domain/recovery/guard-judgement.ts';
import type { Traits } from '../../domain/traits.ts';
import type { AccessRepository } from './access-port.ts';
import type { AcceptanceRepository } from './acceptance-port.ts';
import type { CaseRepository } from './cases-port.ts';
import type { ConditionRepository } from './conditions-port.ts';
import type { BalancingRepository } from './balancing-port.ts';
import type { RollRepository } from './rolls-port.ts';
import type { IntentRepository } from './intents-port.ts';
import type { EventRepository, WebhookRepository, WebhookService } from './events-port.ts';
import type { RequestRepository, RequestState } from './requests-port.ts';
import type { Work } from './work-port.ts';
import type { BmdbInspection, DaemonAbout } from './inspection-port.ts';

export type * from './acceptance-port.ts';
export type * from './access-port.ts';
export type * from './balancing-port.ts';
export { CASE_LINES_MAX, CASES_KEPT_DAYS, CASES_MAX, EVIDENCE_KEPT_DAYS } from './cases-port.ts';
export type * from './cases-port.ts';
export type * from './conditions-port.ts';
export { BEFORE_ALL, EVENTS_MAX } from './events-port.ts';
export type * from './events-port.ts';
export { EPISODES_KEPT_DAYS, EPISODES_MAX } from './inspection-port.ts';
export type * from './inspection-port.ts';
export type * from './intents-port.ts';
export { BATCH_MAX } from './requests-port.ts';
export type * from './requests-port.ts';
export { CONTROLLED, ROLL_CONTROLS } from './rolls-port.ts';
export type * from './rolls-port.ts';
export type * from './work-port.ts';

/**
 * The bare metal database: the only memory of the fleet. Every implementation passes
 * `test/contracts/bmdb.ts`. All methods throw `Unreachable` when the database does not answer.
 */
export interface Bmdb {
  /** Inserts a session. Nothing extends the session yet: the caller must poke it. */
  openSession(options: SessionOptions): Promise<BmdbSession>;
  /**
   * Reads all rows in one snapshot.
   * @param keep receives each row as read and returns the row to keep. A caller that has an equal
   *   row returns that, to save memory. Must be fast, and may be called twice for a row.
   */
  scan(signal: AbortSignal, keep?: KeepRow): Promise<BmdbSnapshot>;
  /**
   * Returns what changed since a scan or the last such call. Heartbeats do not count as changes,
   * nor does work that ended with its session: compare `sessions`.
   * @returns null when the database cannot tell (any more): scan instead.
   */
  changesSince(cursor: Cursor, signal: AbortSignal): Promise<BmdbChanges | null>;
  /** A machine's current rows; `row` is null if there is none. A signal stops no read in progress. */
  readMachine(id: MachineId, signal: AbortSignal): Promise<MachineReading>;
  /**
   * Emits (without content) when rows may have changed. Only a hint: a wake may be lost, so
   * correctness relies on a periodic `scan`. Never errors; reconnects by itself. Never emits in
   * mode `poll`: ask for changes periodically.
   */
  readonly wakes$: Observable<Wake>;
  readonly heartbeats: HeartbeatStore;
  /** Limits on requests to providers, which every daemon must obey. */
  readonly providerHolds: ProviderHoldRepository;
  /** Which providers cannot be listed. */
  readonly listings: ListingRepository;
  /** Records of drivers for vendors that have no tags. */
  readonly records: RecordStore;
  /** What is known to be wrong with machines. */
  readonly conditions: ConditionRepository;
  readonly acceptances: AcceptanceRepository;
  /** Repairs of broken machines. */
  readonly cases: CaseRepository;
  /** Requests of operators. */
  readonly requests: RequestRepository;
  /** Rolling actions. */
  readonly rolls: RollRepository;
  /** Whether recovery is allowed, for all daemons. */
  readonly guard: GuardRepository;
  /**
   * Housekeeping; every daemon calls it about every 10 s. Removes at most 100 sessions that are
   * long dead (and cancels their work, with history), and permits that machines no longer need.
   * Only the size of tables and of the budget depends on it.
   */
  sweep(): Promise<Swept>;
  /** Everything that happened, in one order. */
  readonly events: EventRepository;
  /** Deliveries of events over HTTP. */
  readonly webhooks: WebhookRepository;
  /** Access to the console and the API. */
  readonly access: AccessRepository;
  /** Reads for people; machines' work never depends on them. */
  readonly inspection: BmdbInspection;
  close(): Promise<void>;
}

export type KeepRow = (row: MachineRow) => MachineRow;

/** `reconnected`: wakes were lost meanwhile, and the database may have been restored: scan. */
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
  /** For example `host rack7`. */
  readonly runtimeInfo: string;
  /** What people see about the daemon; absent: nothing. */
  readonly about?: DaemonAbout;
  /** A session dies this long after its last successful poke. */
  readonly intervalMs: number;
}

/** Time and version of a read. */
export interface ReadingMoment {
  /** Database clock, shortly before the rows were read: good for ages, not for ordering reads. */
  readonly nowMs: number;
  /**
   * Orders reads by the commits that they saw. If only one of two reads saw a commit, it has the
   * greater number. Equal numbers saw the same commits. Means nothing across a restart, failover or
   * restore of the database. So compare only overlapping reads; otherwise the read begun later is
   * newer.
   */
  readonly version: number;
}

/** Everything small enough to be read whole each time. */
export interface BmdbSurroundings extends ReadingMoment {
  /** Where `changesSince` continues; null if it cannot, so that only scans show changes. */
  readonly cursor: Cursor | null;
  /** Open and unresolved intents. */
  readonly intents: readonly IntentRow[];
  /** Holds that have not expired. */
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  /** All that are not `False`, or that expire. */
  readonly conditions: readonly ConditionRow[];
  /** Includes ended holds as long as they are kept. */
  readonly providerHolds: readonly ProviderHoldRow[];
  readonly leases: readonly LeaseRow[];
  /** Open requests, including orders. */
  readonly requests: readonly RequestRow[];
  /** For the fleet and for each provider that was ever frozen. */
  readonly guard: readonly GuardRow[];
  /** Of the last `REPLACEMENT_MS`; without failed and abandoned ones. */
  readonly replacements: readonly Replacement[];
  /** State of pools at their balancers, by pool and balancer. */
  readonly pools: readonly PoolRow[];
  /** Live sessions with their components, for the ranking of daemons. */
  readonly sessions: readonly { readonly sessionId: SessionId; readonly component: string }[];
}
export interface BmdbSnapshot extends BmdbSurroundings {
  readonly machines: readonly MachineRow[];
}
/** Rows that plans are made from. */
export type FleetRows = Pick<
  BmdbSnapshot,
  'nowMs' | 'machines' | 'intents' | 'holds' | 'penalties' | 'conditions' | 'guard' | 'replacements'
>;
export interface BmdbChanges extends BmdbSurroundings {
  /** Current rows of the machines that changed. */
  readonly machines: readonly MachineRow[];
  /** Machines that no longer exist. */
  readonly gone: readonly MachineId[];
}
export interface MachineReading extends ReadingMoment {
  readonly row: MachineRow | null;
}

/** Liveness of this daemon, and everything that only a live daemon may write. */
export interface BmdbSession {
  readonly sessionId: SessionId;
  /**
   * Aborts (with `SessionExpired`) when the session is known or assumed to be dead. The local
   * deadline is `intervalMs` after the *start* of the last successful poke, on the monotonic clock.
   * That is before the database's own deadline. All effects outside the database must obey it.
   */
  readonly signal: AbortSignal;
  /** Milliseconds until the local deadline. */
  remainingMs(): number;
  /**
   * Extends the deadline. After a failure, may be repeated until the deadline.
   * @throws {SessionExpired} the row is gone or past its deadline; the signal is aborted.
   */
  poke(): Promise<void>;
  /** Cancels the work still held and deletes the session row. May be repeated. */
  close(): Promise<void>;
  /**
   * Takes the machine for one process; SQL checks the predicate of that process again.
   * @throws {NothingToDo} not eligible now.
   * @throws {WorkConflict} live work of the exclusion group exists.
   * @throws {NoPermit} recovery only: it is frozen, or silence means nothing now.
   * @throws {SessionExpired}
   */
  claim(process: Process, machineId: MachineId): Promise<Work>;
  /**
   * Cancels all work that this session still holds on the machine (after an actor crash), or only
   * the claim with this epoch.
   */
  releaseWork(machineId: MachineId, epoch?: string): Promise<void>;
  readonly intents: IntentRepository;
  readonly balancing: BalancingRepository;
  readonly records: RecordRepository;
  readonly webhooks: WebhookService;
  /**
   * Takes a job that only one daemon may do at a time, such as `provisioner/<provider>`. A session
   * that already has the job gets the same lease.
   * @param name free text of at most 128 characters.
   * @returns null when another live session holds it.
   * @throws {SessionExpired} @throws {RangeError} the name is empty or too long.
   */
  lease(name: string): Promise<Lease | null>;
  /**
   * Applies an operator's decision or freeze. Ends an order only if it has expired, or cannot be
   * carried out because of a hold, a quarantine, or another machine on the slot. One transaction,
   * with a line in the slot's log in the operator's name. Idempotent.
   * @returns null if the request stays open, because it is an order that may still be carried out.
   * @throws {SessionExpired} @throws {NotFound} there is no such request.
   */
  applyRequest(key: string): Promise<RequestState | null>;
  /** Writes what a provider reports about an existing machine; absent keys keep their values. */
  updateProvided(machineId: MachineId, patch: ProvidedPatch): Promise<void>;
}

/** Held until released or until its session dies. */
export interface Lease {
  readonly name: string;
  /** Fencing number: new for each holder. */
  readonly epoch: string;
  /** Idempotent; does nothing if the lease was lost. */
  release(): Promise<void>;
}

export interface ProviderHoldRepository {
  /**
   * Imposes a hold for `forMs` from now (database clock), or extends the hold with this key, never
   * shortens it. Replaces `level`, `amount` and `cause`. 90 days at most.
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
   * Lifts holds: of one key, or all of a kind. Lifting a `penalty` makes its slot usable again; its
   * key is the slot id. With `seenUntilMs` (epoch ms, as read), lifts only holds that end no later,
   * because the caller has not seen newer holds.
   * @returns how many were lifted.
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
   * True: another complete listing does not contain the device. False: a listing does, which ends
   * the series of absences.
   */
  readonly absent?: boolean;
  readonly address?: string | null;
  readonly status?: ProviderStatus;
}

/** The fleet guard's rows. The implementation's configuration sets the limits. */
export interface GuardRepository {
  /**
   * Assesses the whole fleet, by one daemon at a time: records that heartbeats arrive here (if they
   * do), counts silent machines, and freezes or thaws. One transaction. If another daemon assessed
   * less than `GuardPolicy.assessMs` ago, only reads its result.
   */
  assess(intake: { readonly ingestUp: boolean }): Promise<GuardAssessment>;
}

export interface GuardAssessment {
  readonly rows: readonly GuardRow[];
  /** For the fleet, and for each provider with machines. */
  readonly counts: readonly GuardCounts[];
  /** Scopes that this assessment froze or thawed. */
  readonly changes: readonly GuardChange[];
}

/** A provider that a live daemon cannot list now. */
export interface Unlisted {
  readonly provider: ProviderName;
  /** The daemon with the failures; another daemon may be able to list. */
  readonly sessionId: SessionId;
  /** Database clock, epoch ms: first of the unbroken failures, also of earlier daemons. */
  readonly sinceMs: number;
  readonly cause: string;
}

/** Results of listings, for readers that do not call providers. */
export interface ListingRepository {
  /** Records a failed listing; call it for the first failure, and for each new cause. */
  failed(found: Omit<Unlisted, 'sinceMs'>): Promise<void>;
  /** Records a successful listing, and deletes failures of daemons that are dead now. */
  succeeded(provider: ProviderName, sessionId: SessionId): Promise<void>;
  /** Providers that live daemons cannot list, longest failure first. */
  unlisted(signal: AbortSignal): Promise<readonly Unlisted[]>;
}

/** Reads the records of drivers. */
export interface RecordStore {
  /** One snapshot of a provider's records, in any order; empty for an unknown provider. */
  all(provider: ProviderName, signal: AbortSignal): Promise<readonly ProviderRecord[]>;
  /** Number of records of each provider, configured or not. */
  counts(signal: AbortSignal): Promise<ReadonlyMap<ProviderName, number>>;
}

/**
 * Writes records by compare-and-set, each call in one transaction. Every call throws
 * `SessionExpired`, with nothing written, when the session is dead. It throws `AmbiguousCommit` if
 * the result cannot be found out: then read again. Values are opaque.
 */
export interface RecordRepository {
  /**
   * Creates a record if there is none.
   * @returns its version.
   * @throws {ProviderError} `conflict`: the record exists. `invalid`: the key or the value cannot
   *   be stored, or the provider has too many; concurrent calls may exceed the limit by their
   *   number.
   */
  make(name: RecordName, value: RecordJson): Promise<string>;
  /**
   * Replaces the record if it has this version.
   * @returns its new version.
   * @throws {ProviderError} `conflict`: the record is gone or changed. `invalid`: see `make`.
   */
  replace(name: RecordName, value: RecordJson, version: string): Promise<string>;
  /** Deletes this version. @throws {ProviderError} `conflict`: it is gone or changed. */
  drop(name: RecordName, version: string): Promise<void>;
}
