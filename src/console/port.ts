import type { Observable } from 'rxjs';
import type { z } from 'zod';
import type { ConditionRow, ConditionStanding } from '../domain/conditions.ts';
import type { Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { LossPolicy } from '../domain/policy.ts';
import type { MachineState } from '../domain/states.ts';
import type { MachineView } from '../domain/view.ts';
import type { FrameSchema, PoolsSchema } from './api/fleet-schema.ts';

/** What every page shows. Times are epoch milliseconds of the database clock. */
export type Frame = z.output<typeof FrameSchema>;
export type StateCounts = Frame['counts'];
/** State of the fleet guard: the fleet, then each provider with started machines or a freeze. */
export type GuardSummary = Frame['guard'];
export type GuardScope = GuardSummary['scopes'][number];
/** Use of the recovery budget of the fleet, a provider or a location. */
export type BudgetSummary = Frame['budget'][number];
/** A pool at one of its balancers, and its members. */
export type PoolSummary = z.output<typeof PoolsSchema>['pools'][number];
export type MemberSummary = PoolSummary['members'][number];

/** One machine as the daemon knows it. Immutable: a change makes a new entry. */
export interface MachineEntry {
  readonly view: MachineView;
  readonly state: MachineState;
  readonly substate: string;
  /** Start of this state; may be fractional. */
  readonly sinceMs: number;
  /** The last observed change of state or substate; null: none yet. */
  readonly last: { readonly atMs: number } | null;
}
export type EntryChange =
  | { readonly type: 'changed'; readonly entry: MachineEntry }
  | { readonly type: 'removed'; readonly slot: Slot };

/** The fleet as a whole. */
export type FleetFrame = Omit<Frame, 'total' | 'status' | 'budget'>;

/** The fleet as this daemon sees it. */
export interface FleetView {
  frame(): FleetFrame;
  /** Estimate of the database clock, epoch ms; may be fractional. */
  nowMs(): number;
  /** When a machine counts as lost, and when it needs a person. */
  readonly loss: LossPolicy;
  /** Names of the configured providers. */
  providers(): readonly string[];
  /** Each pool at each of its balancers, by pool and balancer. */
  pools(): readonly PoolSummary[];
  readonly entries: ReadonlyMap<Slot, MachineEntry>;
  /** False while a just started daemon has not loaded all machines. Absent: it has. */
  readonly isWhole?: () => boolean;
  /** Changes of `entries`, one machine at a time, in the same turn. */
  readonly entryChanges$: Observable<EntryChange>;
  /** Fires when anything else in the frame changes. */
  readonly frameChanges$: Observable<void>;
  /** What the rows and the listing say about a slot. */
  facts(slot: Slot): SlotFacts | undefined;
  /** Whether another daemon works on the slot now. */
  isElsewhere(slot: Slot): boolean;
  /** Whether the machine has been in its step for too long at this time of the database clock. */
  isOverdue(entry: MachineEntry, nowMs: number): boolean;
  /** What follows from a condition while it is true. */
  standing(condition: Pick<ConditionRow, 'provider' | 'type'>): ConditionStanding;
  /** Use of the recovery budget, by scope. */
  budget(): readonly BudgetSummary[];
}

export interface HealthCheck {
  readonly ok: boolean;
  /** One line for a person: what was checked, and what is wrong. */
  readonly detail: string;
  /** If not ok: the daemon works all the same, and another daemon could do no more. */
  readonly degraded?: true;
}

/** Ready when every check is ok or only degraded. An empty report is not ready. */
export interface HealthReport {
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** What the console needs of the metrics. */
export interface MetricsSource {
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
}
