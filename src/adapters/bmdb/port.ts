import type { Observable } from 'rxjs';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import type { HeartbeatStore } from '../../domain/heartbeat.ts';
import type { Cursor, MachineId, ProviderName, SessionId, Witness } from '../../domain/ids.ts';
import type {
  HoldRow,
  IntentRow,
  MachineRow,
  PenaltyRow,
  Process,
  Provided,
  ProviderStatus,
  QuarantineKind,
  Rung,
} from '../../domain/machine.ts';
import type { Statistics } from '../../domain/statistics.ts';

/**
 * The bare metal database: the only memory of the fleet. Every implementation passes
 * `test/contracts/bmdb.ts`. All methods throw `Unreachable` when the database does not answer.
 */
export interface Bmdb {
  /** Inserts a session. Its signal is not yet watched by anybody: the caller must poke it. */
  openSession(options: SessionOptions): Promise<BmdbSession>;
  /** All rows, read in one snapshot. */
  scan(signal: AbortSignal): Promise<BmdbSnapshot>;
  /**
   * What changed since a scan or the last such call. Heartbeats, and work that ended because its
   * session died, are no changes: compare `sessions`.
   * @returns null when the database cannot tell (any more): scan instead.
   */
  changesSince(cursor: Cursor, signal: AbortSignal): Promise<BmdbChanges | null>;
  /** Fresh rows of one machine; `row` is null when it does not exist. */
  readMachine(id: MachineId, signal: AbortSignal): Promise<MachineReading>;
  /**
   * Fires (without content) when rows may have changed. Only a hint: a wake may be lost, so a
   * periodic `scan` is the correctness path. Never errors; reconnects by itself. A database that is
   * not to be listened to never fires: ask for changes by period.
   */
  readonly wakes$: Observable<Wake>;
  readonly heartbeats: HeartbeatStore;
  /**
   * Housekeeping, for every daemon to call about every 10 s: removes at most 100 sessions that are
   * long dead (their work is cancelled, with history) and permits of machines that no longer need
   * one. Nothing depends on it but the size of the tables and of the budget.
   */
  sweep(): Promise<Swept>;
  /** For people: never on the path of a machine. */
  readonly inspection: BmdbInspection;
  close(): Promise<void>;
}

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
  /** Live sessions, with their component, for the ranking between daemons. */
  readonly sessions: readonly { readonly sessionId: SessionId; readonly component: string }[];
}
export interface BmdbSnapshot extends BmdbSurroundings {
  readonly machines: readonly MachineRow[];
}
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
   * @throws {NoPermit} recovery only: the budget is spent.
   * @throws {SessionExpired}
   */
  claim(process: Process, machineId: MachineId): Promise<Work>;
  /**
   * Cancels whatever work rows this session still holds on the machine (after an actor crash), or
   * only that of the claim with this epoch.
   */
  releaseWork(machineId: MachineId, epoch?: string): Promise<void>;
  readonly intents: IntentBook;
  /** Writes what a provider reports of an existing machine; absent keys stay as they are. */
  updateProvided(machineId: MachineId, patch: ProvidedPatch): Promise<void>;
}

export interface ProvidedPatch {
  readonly address?: string | null;
  readonly location?: string | null;
  readonly status?: ProviderStatus;
}

/**
 * One claimed machine. Exactly one of finish, fail, cancel ends it; each deletes the work row and
 * writes history in one transaction, and resolves a commit whose outcome was lost.
 */
export interface Work {
  readonly process: Process;
  readonly machineId: MachineId;
  readonly epoch: string;
  /** The signal of the session that owns the work: every effect on the machine must obey it. */
  readonly signal: AbortSignal;
  /** The row at the claim. */
  readonly row: MachineRow;
  /**
   * Durable notes while working, written before the effect they announce.
   * @throws {WorkLost} the work row is no longer ours.
   * @throws {NothingToDo} `recoveryAsked` only: the machine came back, was parked or put under a
   *   hold since the claim. Nothing may be asked; cancel the work.
   * @throws {NoPermit} `recoveryAsked` only: the fleet or the provider was frozen, or the permit
   *   taken back meanwhile.
   */
  note(note: WorkNote): Promise<void>;
  /**
   * @throws {WorkLost} nothing was written.
   * @throws {AlreadyFinished} a second finish or fail.
   */
  finish(change: FinishChange): Promise<void>;
  /** History Failed, and the next backoff from `backoff` and the row's last interval. */
  fail(backoff: BackoffDescriptor, cause: string, quarantine?: Quarantine): Promise<void>;
  /**
   * History Canceled. No-op once ended; never throws. When it did not come through, the work is held
   * until its session dies, and may be ended once more.
   */
  cancel(cause?: string): Promise<void>;
}

export interface Quarantine {
  readonly kind: QuarantineKind;
  readonly reason: string;
}

export type WorkNote =
  /** Agent start, before the agent is executed: upserts `machine_agent_start_attempt`. */
  | { readonly kind: 'agentStartAttempt' }
  /** Recovery, before the provider is asked: rung, attempts + 1, asked now. */
  | { readonly kind: 'recoveryAsked'; readonly rung: Rung }
  /**
   * Recovery, after the provider refused for certain: nothing is under way. `counts` false: it said
   * nothing of the machine (no connection, throttled), so the attempt is taken back.
   */
  | { readonly kind: 'recoveryRefused'; readonly counts: boolean }
  /**
   * Recovery, when it is not known whether the provider took the request: it stays noted, so that
   * nobody asks again too soon, but a provider's outage is no attempt on the machine.
   */
  | { readonly kind: 'recoveryUnclear' }
  /** Recovery, after the provider accepted. */
  | { readonly kind: 'recoveryAccepted'; readonly operationRef: string };

export type FinishChange =
  /** AgentStarted now; deletes the older heartbeat and the start attempt; pins the host key. */
  | {
      readonly kind: 'agentStarted';
      readonly publicKey: Uint8Array;
      readonly bootId: string | null;
      readonly hostKey: string | null;
      readonly warnings: readonly string[];
    }
  /**
   * Deletes AgentStarted, heartbeat and start attempt, gives the permit back, and sets the ladder's
   * `next_at` from `coolDown`, so that a machine lost again soon is not recovered at once.
   */
  | { readonly kind: 'recovered'; readonly coolDown: BackoffDescriptor }
  /** For tests of the machinery itself (processes UnitTest1 and UnitTest2): no tags change. */
  | { readonly kind: 'nothing' };

/** Write-ahead intents of creation. `witness` is the operation's tag at the provider. */
export interface IntentBook {
  /**
   * Commits an intent before any provider call. A new machine id is chosen here.
   * @throws {WorkConflict} the slot already has an open or unresolved intent, or a machine.
   * @throws {NothingToDo} a hold forbids to use the slot, or it is on the shelf.
   */
  open(input: { provider: ProviderName; slotId: string; hostname: string }): Promise<IntentRow>;
  /** Takes over an intent whose session is dead. @throws {WorkConflict} it is alive or settled. */
  resume(witness: Witness): Promise<IntentRow>;
  /** Before each attempt, and when an attempt's outcome is unknown. */
  progress(
    witness: Witness,
    change: { attempts?: number; ambiguous?: boolean; unresolved?: boolean; lastError?: string },
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

/** Reads for people and their tools; a stale answer does no harm. */
export interface BmdbInspection {
  /** Counts of the whole fleet and of each provider. */
  statistics(signal: AbortSignal): Promise<Statistics>;
  /** Machines that a process may be started on now, oldest attempt first, then by machine id. */
  candidates(query: CandidateQuery, signal: AbortSignal): Promise<MachineId[]>;
  /** Version of the schema, its tag types and their columns, as the database tells them. */
  schema(signal: AbortSignal): Promise<SchemaDescription>;
  /** Machines with everything that is known of them, by machine id. Unknown machine: none. */
  machines(query: InspectionQuery, signal: AbortSignal): Promise<InspectedMachines>;
  /** What agents found in machines that are provided, by machine id; others are left out. */
  hardware(query: HardwareQuery, signal: AbortSignal): Promise<HardwarePage>;
  /** Lines of a machine's work history, oldest first. */
  history(machineId: MachineId, signal: AbortSignal): Promise<HistoryLine[]>;
}

export interface CandidateQuery {
  readonly process: Process;
  /** Any when absent. */
  readonly provider?: ProviderName;
  readonly limit: number;
}

export interface SchemaDescription {
  /** Newest migration; ends with ` DIRTY!!!` when the migrations applied are not what they should be. */
  readonly version: string;
  readonly tagTypes: readonly TagType[];
}
export interface TagType {
  /** Such as `AgentStarted` or `OSInstallationReport`. */
  readonly name: string;
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface InspectionQuery {
  /** Only this machine. */
  readonly machineId?: MachineId;
  /** Expired backoffs too. */
  readonly expiredBackoffs?: boolean;
  /** Only machines after this one; for the next page. */
  readonly after?: MachineId;
  /** At most so many machines (200). */
  readonly limit?: number;
}
export interface InspectedMachines {
  readonly machines: readonly InspectedMachine[];
  /** The statements that were run. */
  readonly sql: readonly string[];
  /** Give it as `after` for more; null: these are all. */
  readonly next: MachineId | null;
}
export interface InspectedMachine {
  readonly machineId: MachineId;
  readonly createdAtMs: number;
  /** By the name of the tag type. */
  readonly tags: Readonly<Record<string, readonly InspectedField[]>>;
  readonly backoffs: Readonly<Record<string, { untilMs: number; cause: string }>>;
  /** Session of the work, by process. */
  readonly work: Readonly<Record<string, SessionId>>;
}
export interface InspectedField {
  readonly name: string;
  readonly type: string;
  /** Text as is, bytes as hex, messages as text, null as `<unknown>`; secrets are left out. */
  readonly value: string;
  /** Of a message: its fields by name, as plain data, so that one can be picked by its path. */
  readonly message?: Readonly<Record<string, unknown>>;
}

export interface HardwareQuery {
  /** Only machines after this one; for the next page. */
  readonly after?: MachineId;
  /** At most so many machines (100). */
  readonly limit?: number;
}
export interface HardwarePage {
  readonly machines: readonly ReportedHardware[];
  /** Give it as `after` for more; null: these are all. */
  readonly next: MachineId | null;
}
export interface ReportedHardware {
  readonly machineId: MachineId;
  readonly provider: ProviderName;
  readonly providerId: string;
  /** The column `hardware_report_raw`, as a tag's field. */
  readonly report: InspectedField;
}

export interface HistoryLine {
  readonly seq: string;
  readonly atMs: number;
  readonly process: string;
  readonly event: string;
  readonly cause: string | null;
  readonly sessionId: SessionId | null;
  readonly component: string | null;
}
