import type { z } from 'zod';
import type {
  EventLine,
  HistoryCut,
  HistoryLine,
  SessionsReading,
  SlotHistory,
  WebhookBook,
} from '../adapters/bmdb/port.ts';
import type { LogRing } from '../adapters/log/log-ring.ts';
import type { Explanation } from '../domain/explanation/types.ts';
import type { LadderStanding } from '../domain/explanation/ladder-standing.ts';
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
 * What a daemon tells its console beside the fleet. The schemas of the API say what each field means.
 * Times are epoch milliseconds of the database's clock, and may have fractions.
 */

export type ShownPlace = z.output<typeof PlaceSchema>;
export type LiveMachine = z.output<typeof LiveSchema>;

/** What is told of one machine beyond its row. */
export interface MachineInsight {
  /** @throws {Unreachable} the database does not answer. */
  explain(slot: Slot, signal: AbortSignal): Promise<Explanation | null>;
  /** Null: this daemon has no actor of that slot. */
  live(slot: Slot): LiveMachine | null;
  /** Null: nothing is on the slot that could be recovered. */
  ladder(slot: Slot): (LadderStanding & { readonly queue: Queue | null }) | null;
  /**
   * What its agent found in it, by the names of the message's fields; null: nothing was reported.
   * @throws {Unreachable} the database does not answer.
   */
  hardware(
    machineId: MachineId,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>> | null>;
}

/** What happened to machines, as it was written down. */
export interface MachineHistory {
  /** Of a slot and of all machines that were on it, newest first. @throws {Unreachable} */
  ofSlot(
    query: { readonly slot: Slot; readonly before: HistoryCut | null; readonly limit: number },
    signal: AbortSignal,
  ): Promise<SlotHistory>;
  /** Of one machine, there or gone; the latest lines, oldest first. @throws {Unreachable} */
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
  /** What must not be asked of it now, the latest end first. */
  readonly holds: readonly ProviderHoldRow[];
  /** Slots that rest after a failed creation, the earliest end first. */
  readonly shelf: readonly PenaltyRow[];
  /** Creations that were begun and not settled yet, the oldest first. */
  readonly unsettled: readonly IntentRow[];
}

/** What is told of providers. From memory: no provider is asked. */
export interface ProvidersView {
  /** By name. */
  summaries(): Promise<readonly ProviderSummary[]>;
  /** @returns null: no such provider is configured. */
  summary(name: string): Promise<ProviderSummary | null>;
}

export type ScopeInsight = Pick<
  GuardAnswer['scopes'][number],
  'scope' | 'frozen' | 'thawsAtMs' | 'rules'
>;

/** What is told of the guard beyond the frame. */
export interface GuardLook {
  /** Scopes that were counted. */
  readonly scopes: readonly ScopeInsight[];
  readonly waiting: GuardAnswer['waiting'];
  /** How many wait, by scope of the budget: `fleet`, `provider <name>`, `location <name>`. */
  readonly waitingBy: ReadonlyMap<string, number>;
}

/** Which daemons there are, and what this one does again and again. */
export interface DaemonsView {
  /** @throws {Unreachable} the database does not answer. */
  sessions(signal: AbortSignal): Promise<SessionsReading>;
  /** The session of the daemon that answers; null: it has none now. */
  self(): SessionId | null;
  loops(): readonly LoopSummary[];
  /** Who has a job that one daemon has at a time; null: nobody, as far as is known. */
  holderOf(job: string): SessionId | null;
}

/** What a daemon saw during one step. */
export interface Sample {
  /** When the step ended. */
  readonly atMs: number;
  /** Machines by state then; states without machines are left out. */
  readonly counts: Readonly<Partial<Record<MachineState, number>>>;
  /** Machines of state `Running` that were silent then. */
  readonly silent: number;
  /** Heartbeats that it took in during the step. */
  readonly heartbeats: number;
  /** Machines that came to be recovered during the step. */
  readonly recoveries: number;
}

/** The last hour, as far as this daemon ran then. */
export interface SeriesView {
  /** Length of a step, ms. */
  readonly stepMs: number;
  /** Oldest first; at most an hour of them. */
  samples(): readonly Sample[];
}

/** What the console knows of webhooks. */
export interface WebhooksView {
  readonly book: WebhookBook;
  /** Those of the configuration. Types: null: all. */
  readonly configured: readonly {
    readonly name: string;
    readonly host: string;
    readonly types: readonly string[] | null;
  }[];
}

/** From what is written always to what is written seldom. */
export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** What a daemon writes into its log. */
export interface LogControl {
  /** Name of the daemon's computer. */
  readonly host: string;
  /** The latest lines; null: they are not kept. */
  readonly recent: Pick<LogRing, 'read' | 'newest'> | null;
  readonly usual: Level;
  changes(): readonly {
    readonly level: Level;
    /** Such as `recovery`; null: all. */
    readonly component: string | null;
    readonly untilMs: number;
  }[];
  /**
   * Asks for a level for a while. Writes it into the audit, too; never fails: a log is wanted most when the
   * database is away.
   */
  set(wish: {
    readonly level: Level;
    readonly component: string | null;
    readonly forMs: number;
    /** Who asks, as in the audit. */
    readonly by: string;
  }): Promise<void>;
}

/** All of it. */
export interface ConsoleViews {
  readonly insight: MachineInsight;
  readonly history: MachineHistory;
  readonly providers: ProvidersView;
  readonly guard: () => GuardLook;
  /** What would be done next, and why. */
  readonly plan: () => PlanAnswer;
  readonly daemons: DaemonsView;
  readonly series: SeriesView;
  /** What the database itself has. */
  readonly records: Records;
}
