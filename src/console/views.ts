import type { z } from 'zod';
import type {
  CaseRepository,
  EventLine,
  HistoryCut,
  HistoryLine,
  SessionsReading,
  SlotHistory,
  WebhookRepository,
} from '../adapters/bmdb/port.ts';
import type { LogReader } from '../adapters/log/port.ts';
import type { Explanation } from '../domain/explanation/types.ts';
import type { LadderStatus } from '../domain/explanation/ladder-status.ts';
import type { Queue } from '../domain/explanation/queue.ts';
import type { MachineId, ProviderName, SessionId, Slot } from '../domain/ids.ts';
import type { LoopSummary } from '../domain/daemons.ts';
import type { IntentRow, PenaltyRow, ProviderHoldRow } from '../domain/machine.ts';
import type { MachineState } from '../domain/states.ts';
import type { GuardAnswer } from './api/fleet-schema.ts';
import type { Records } from './api/records.ts';
import type { LiveSchema, PlaceSchema, PlanAnswer } from './api/plan-schema.ts';
import type { ProviderSchema } from './api/provider-schema.ts';

/*
 * What a daemon provides to its console beside the fleet. The API's schemas explain each field.
 * Times are epoch milliseconds of the database clock, and may be fractional.
 */

export type ShownPlace = z.output<typeof PlaceSchema>;
export type LiveMachine = z.output<typeof LiveSchema>;

/** Details of one machine beyond its row. */
export interface MachineInsight {
  /** @throws {Unreachable} the database does not answer. */
  explain(slot: Slot, signal: AbortSignal): Promise<Explanation | null>;
  /** Null: this daemon has no actor for that slot. */
  live(slot: Slot): LiveMachine | null;
  /** Null: the slot holds nothing that could be recovered. */
  ladder(slot: Slot): (LadderStatus & { readonly queue: Queue | null }) | null;
  /**
   * The hardware that its agent found, by the message's field names; null: not reported.
   * @throws {Unreachable} the database does not answer.
   */
  hardware(
    machineId: MachineId,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>> | null>;
}

/** The recorded history of machines. */
export interface MachineHistory {
  /** History of a slot and of all its machines, newest first. @throws {Unreachable} */
  ofSlot(
    query: { readonly slot: Slot; readonly before: HistoryCut | null; readonly limit: number },
    signal: AbortSignal,
  ): Promise<SlotHistory>;
  /** History of one machine, existing or gone; latest lines, oldest first. @throws {Unreachable} */
  ofMachine(
    query: { readonly machineId: MachineId; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{ readonly events: readonly EventLine[]; readonly work: readonly HistoryLine[] }>;
}

type ProviderAnswer = z.output<typeof ProviderSchema>;
export type CallTimes = ProviderAnswer['calls'][number];
export type SlotClass = ProviderAnswer['classes'][number];

/** A configured provider, as this daemon sees it. */
export interface ProviderSummary extends Omit<
  ProviderAnswer,
  'states' | 'headline' | 'holds' | 'shelf' | 'unsettled'
> {
  readonly provider: ProviderName;
  /** Open holds of the provider, latest end first. */
  readonly holds: readonly ProviderHoldRow[];
  /** Slots resting after a failed creation, earliest end first. */
  readonly shelf: readonly PenaltyRow[];
  /** Creations begun and not settled yet, oldest first. */
  readonly unsettled: readonly IntentRow[];
}

/** State of providers, from memory: no provider is called. */
export interface ProvidersView {
  /** By name. */
  summaries(): Promise<readonly ProviderSummary[]>;
  /** @returns null: not configured. */
  summary(name: string): Promise<ProviderSummary | null>;
}

export type ScopeInsight = Pick<
  GuardAnswer['scopes'][number],
  'scope' | 'frozen' | 'thawsAtMs' | 'rules'
>;

/** State of the guard beyond the frame. */
export interface GuardLook {
  /** Counted scopes. */
  readonly scopes: readonly ScopeInsight[];
  readonly waiting: GuardAnswer['waiting'];
  /** Waiting machines by scope of the budget: `fleet`, `provider <name>`, `location <name>`. */
  readonly waitingBy: ReadonlyMap<string, number>;
}

/** The daemons, and the loops of this daemon. */
export interface DaemonsView {
  /** @throws {Unreachable} the database does not answer. */
  sessions(signal: AbortSignal): Promise<SessionsReading>;
  /** The session of the daemon that answers; null: none now. */
  self(): SessionId | null;
  loops(): readonly LoopSummary[];
  /** Session that holds a job of one daemon at a time; null: nobody, as far as known. */
  holderOf(job: string): SessionId | null;
}

/** What a daemon observed during one step. */
export interface Sample {
  /** End of the step. */
  readonly atMs: number;
  /** Machines by state at that time, without empty states. */
  readonly counts: Readonly<Partial<Record<MachineState, number>>>;
  /** Silent machines in state `Running` at that time. */
  readonly silent: number;
  /** Heartbeats received during the step. */
  readonly heartbeats: number;
  /** Machines whose recovery began during the step. */
  readonly recoveries: number;
}

/** The last hour, as far as this daemon was running. */
export interface SeriesView {
  /** Length of a step, ms. */
  readonly stepMs: number;
  /** Oldest first; at most an hour. */
  samples(): readonly Sample[];
}

/** What the console knows of webhooks. */
export interface WebhooksView {
  readonly repository: WebhookRepository;
  /** Configured webhooks. Types: null: all. */
  readonly configured: readonly {
    readonly name: string;
    readonly host: string;
    readonly types: readonly string[] | null;
  }[];
}

/** From the least to the most verbose. */
export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** Control of a daemon's log. */
export interface LogControl {
  /** Name of the daemon's host. */
  readonly host: string;
  /** The latest lines; null: not kept. */
  readonly recent: LogReader | null;
  readonly usual: Level;
  changes(): readonly {
    readonly level: Level;
    /** Such as `recovery`; null: all. */
    readonly component: string | null;
    readonly untilMs: number;
  }[];
  /**
   * Sets a level for a while. Also writes it to the audit; never fails, because a log is needed
   * most when the database is away.
   */
  set(wish: {
    readonly level: Level;
    readonly component: string | null;
    readonly forMs: number;
    /** The person, as in the audit. */
    readonly by: string;
  }): Promise<void>;
}

export interface ConsoleViews {
  readonly insight: MachineInsight;
  readonly history: MachineHistory;
  readonly providers: ProvidersView;
  readonly guard: () => GuardLook;
  /** The next actions, and their reasons. */
  readonly plan: () => PlanAnswer;
  readonly daemons: DaemonsView;
  readonly series: SeriesView;
  /** Repairs of machines. */
  readonly cases: CaseRepository;
  /** Raw contents of the database. */
  readonly records: Records;
}
