import type { MachineId, ProviderName, SessionId } from '../../domain/ids.ts';
import type { SlotLine } from '../../domain/history/fold.ts';
import type { Statistics, StatisticsPart } from '../../domain/statistics.ts';

/** Reads for people and their tools; a stale answer does no harm. */
export interface BmdbInspection {
  /**
   * Counts of the whole fleet and of each provider.
   * @param only the part that is wanted: the counts of the others are 0, and cost nothing.
   */
  statistics(signal: AbortSignal, only?: StatisticsPart): Promise<Statistics>;
  /** Version of the schema, its tag types and their columns, as the database tells them. */
  schema(signal: AbortSignal): Promise<SchemaDescription>;
  /** Machines with everything that is known of them, by machine id. Unknown machine: none. */
  machines(query: InspectionQuery, signal: AbortSignal): Promise<InspectedMachines>;
  /** What agents found in machines that are provided, by machine id; others are left out. */
  hardware(query: HardwareQuery, signal: AbortSignal): Promise<HardwarePage>;
  /** Lines of a machine's work history, oldest first. */
  history(machineId: MachineId, signal: AbortSignal): Promise<HistoryLine[]>;
  /** The latest lines of the log of a slot or of a machine, oldest first. */
  events(query: EventQuery, signal: AbortSignal): Promise<EventLine[]>;
  /** What happened to a slot and in work on its machines, newest first, one page of it. */
  slotHistory(query: SlotHistoryQuery, signal: AbortSignal): Promise<SlotHistory>;
  /** Who is alive, who ended within a day, and what each works on. Reads all work there is. */
  sessions(signal: AbortSignal): Promise<SessionsReading>;
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
  /** Such as a facility or a rack; null: not known. */
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

/** Of one slot, whatever machines were on it; or of one machine. */
export type EventQuery = { readonly limit: number } & (
  | { readonly provider: ProviderName; readonly slotId: string }
  | { readonly machineId: MachineId }
);
/** What happened to a physical machine, and who did it. */
export interface EventLine {
  readonly seq: string;
  readonly atMs: number;
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Its tenancy then; null: none. */
  readonly machineId: MachineId | null;
  /** Such as `agentStarted`, `recovered`, `quarantined`. */
  readonly kind: string;
  /** A component, or a person. */
  readonly actor: string;
  readonly reason: string;
  /** State before and after, as people see it: `Running · silent`; null: none changed. */
  readonly from: string | null;
  readonly to: string | null;
}

export interface SlotHistoryQuery {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** The machine that is on it now: nothing may have been logged of it yet. */
  readonly present: readonly MachineId[];
  /** Where the page before ended; null: from the newest on. */
  readonly before: HistoryCut | null;
  readonly limit: number;
}
/** Behind which line a page ended; whole numbers as text. */
export interface HistoryCut {
  readonly cut: string;
  readonly seq: string;
}
export interface SlotHistory {
  /** Newest first. */
  readonly lines: readonly SlotLine[];
  /** Give it as `before` for what is older; null: there is nothing older. */
  readonly next: HistoryCut | null;
  /** Machines that its log tells of, the latest 20, the latest first. */
  readonly tenants: readonly SlotTenant[];
}
export interface SlotTenant {
  readonly machineId: string;
  /** Of what its log tells. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** What a session tells of its daemon. */
export interface DaemonAbout {
  readonly version: string;
  /** Newest migration that the program knows. */
  readonly schema: string;
  /** Parts of the program that run. */
  readonly roles: readonly string[];
  /** Where browsers find its console; null: it has none. */
  readonly consoleUrl: string | null;
  /** Least level of what it logs. */
  readonly logLevel: string;
}

/** A session, alive or ended within a day. Times are epoch ms of the database clock. */
export interface SessionLine {
  readonly sessionId: SessionId;
  readonly component: string;
  /** Such as `host rack7`. */
  readonly runtimeInfo: string;
  readonly startedAtMs: number;
  /** When it dies unless it is extended; null: it has ended. */
  readonly deadlineAtMs: number | null;
  /** Null: it is alive. */
  readonly endedAtMs: number | null;
  /** Each null where the program does not say. */
  readonly about: { readonly [Name in keyof DaemonAbout]: DaemonAbout[Name] | null };
  /** Machines that it works on, by process. */
  readonly work: readonly { readonly process: string; readonly machines: number }[];
}

export interface SessionsReading {
  readonly atMs: number;
  /** Live ones first, each by when they began; of those that ended the latest 200. */
  readonly sessions: readonly SessionLine[];
}
