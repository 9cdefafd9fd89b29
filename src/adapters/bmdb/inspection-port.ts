import type { MachineId, ProviderName, SessionId } from '../../domain/ids.ts';
import type { Episode } from '../../domain/failures.ts';
import type { SlotLine } from '../../domain/history/fold.ts';
import type { Statistics, StatisticsPart } from '../../domain/statistics.ts';

/** Reads for people and their tools. Slightly stale answers are acceptable. */
export interface BmdbInspection {
  /**
   * Counts for the whole fleet and for each provider.
   * @param only reads just this part; all other counts are 0 and cost nothing.
   */
  statistics(signal: AbortSignal, only?: StatisticsPart): Promise<Statistics>;
  /** Version of the schema, its tag types and their columns, as the database reports them. */
  schema(signal: AbortSignal): Promise<SchemaDescription>;
  /** Machines with everything known about them, by machine id. An unknown id gives no machine. */
  machines(query: InspectionQuery, signal: AbortSignal): Promise<InspectedMachines>;
  /** Hardware reports of provided machines, by machine id. */
  hardware(query: HardwareQuery, signal: AbortSignal): Promise<HardwarePage>;
  /** Lines of a machine's work history, oldest first. */
  history(machineId: MachineId, signal: AbortSignal): Promise<HistoryLine[]>;
  /** The latest log lines of a slot or a machine, oldest first. */
  events(query: EventQuery, signal: AbortSignal): Promise<EventLine[]>;
  /** One page of what happened to a slot, including work on its machines, newest first. */
  slotHistory(query: SlotHistoryQuery, signal: AbortSignal): Promise<SlotHistory>;
  /** Sessions that are alive or ended within a day, with their work. Reads all existing work. */
  sessions(signal: AbortSignal): Promise<SessionsReading>;
  /** Recoveries of physical machines, newest first; episodes are kept for `EPISODES_KEPT_DAYS`. */
  episodes(query: EpisodesQuery, signal: AbortSignal): Promise<EpisodesReading>;
}

export const EPISODES_MAX = 100_000;
export const EPISODES_KEPT_DAYS = 400;
export interface EpisodesQuery {
  /** Only episodes that began at this time or later. */
  readonly sinceMs: number;
  /** Maximum number of episodes (`EPISODES_MAX`). */
  readonly limit?: number;
}
export interface EpisodesReading {
  readonly episodes: readonly Episode[];
  /** There are more and older episodes than `limit`. */
  readonly isCut: boolean;
}

export interface SchemaDescription {
  /** Newest migration; ends with ` DIRTY!!!` when the applied migrations are not the expected. */
  readonly version: string;
  readonly tagTypes: readonly TagType[];
}
export interface TagType {
  /** For example `AgentStarted` or `OSInstallationReport`. */
  readonly name: string;
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface InspectionQuery {
  /** Restricts the answer to this machine. */
  readonly machineId?: MachineId;
  /** Includes expired backoffs. */
  readonly expiredBackoffs?: boolean;
  /** Returns only machines after this one; for the next page. */
  readonly after?: MachineId;
  /** Maximum number of machines (200). */
  readonly limit?: number;
}
export interface InspectedMachines {
  readonly machines: readonly InspectedMachine[];
  /** The statements that ran. */
  readonly sql: readonly string[];
  /** The next page's `after`; null if there are no more machines. */
  readonly next: MachineId | null;
}
export interface InspectedMachine {
  readonly machineId: MachineId;
  readonly createdAtMs: number;
  /** By name of the tag type. */
  readonly tags: Readonly<Record<string, readonly InspectedField[]>>;
  readonly backoffs: Readonly<Record<string, { untilMs: number; cause: string }>>;
  /** Session that holds the work, by process. */
  readonly work: Readonly<Record<string, SessionId>>;
}
export interface InspectedField {
  readonly name: string;
  readonly type: string;
  /** Text as is, bytes as hex, messages as text, null as `<unknown>`; without secrets. */
  readonly value: string;
  /** For a message: its fields by name, as plain data, so that a path can select one. */
  readonly message?: Readonly<Record<string, unknown>>;
}

export interface HardwareQuery {
  /** Returns only machines after this one; for the next page. */
  readonly after?: MachineId;
  /** Maximum number of machines (100). */
  readonly limit?: number;
}
export interface HardwarePage {
  readonly machines: readonly ReportedHardware[];
  /** The next page's `after`; null if there are no more machines. */
  readonly next: MachineId | null;
}
export interface ReportedHardware {
  readonly machineId: MachineId;
  readonly provider: ProviderName;
  readonly providerId: string;
  /** For example a facility or a rack; null if unknown. */
  readonly location: string | null;
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

/** For one slot, with all machines that were on it; or for one machine. */
export type EventQuery = { readonly limit: number } & (
  | { readonly provider: ProviderName; readonly slotId: string }
  | { readonly machineId: MachineId }
);
/** What happened to a physical machine, and who caused it. */
export interface EventLine {
  readonly seq: string;
  readonly atMs: number;
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Machine on the slot at that time; null if none. */
  readonly machineId: MachineId | null;
  /** For example `agentStarted`, `recovered`, `quarantined`. */
  readonly kind: string;
  /** A component or a person. */
  readonly actor: string;
  readonly reason: string;
  /** State before and after, for people: `Running · silent`; null if it did not change. */
  readonly from: string | null;
  readonly to: string | null;
}

export interface SlotHistoryQuery {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Machines on the slot now, which may have no log line yet. */
  readonly present: readonly MachineId[];
  /** End of the previous page; null for the newest lines. */
  readonly before: HistoryCut | null;
  readonly limit: number;
}
/** Position after which a page continues; whole numbers as text. */
export interface HistoryCut {
  readonly cut: string;
  readonly seq: string;
}
export interface SlotHistory {
  /** Newest first. */
  readonly lines: readonly SlotLine[];
  /** The next page's `before`; null if there are no older lines. */
  readonly next: HistoryCut | null;
  /** The latest 20 machines in the slot's log, latest first. */
  readonly tenants: readonly SlotTenant[];
}
export interface SlotTenant {
  readonly machineId: string;
  /** First and last log line of the machine. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** What a session reports about its daemon. */
export interface DaemonAbout {
  readonly version: string;
  /** Newest migration that the program knows. */
  readonly schema: string;
  /** Running parts of the program. */
  readonly roles: readonly string[];
  /** URL of the console for browsers; null if the daemon has none. */
  readonly consoleUrl: string | null;
  /** Lowest logged level. */
  readonly logLevel: string;
}

/** A session that is alive or ended within a day. Times are epoch ms of the database clock. */
export interface SessionLine {
  readonly sessionId: SessionId;
  readonly component: string;
  /** For example `host rack7`. */
  readonly runtimeInfo: string;
  readonly startedAtMs: number;
  /** When the session dies unless extended; null if it has ended. */
  readonly deadlineAtMs: number | null;
  /** Null if the session is alive. */
  readonly endedAtMs: number | null;
  /** A field is null if the program did not report it. */
  readonly about: { readonly [Name in keyof DaemonAbout]: DaemonAbout[Name] | null };
  /** Number of machines that the session works on, by process. */
  readonly work: readonly { readonly process: string; readonly machines: number }[];
}

export interface SessionsReading {
  readonly atMs: number;
  /** Live sessions first, by start time; then the latest 200 ended ones. */
  readonly sessions: readonly SessionLine[];
}
