import type { Observable } from 'rxjs';
import type { z } from 'zod';
import type { Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { LossPolicy } from '../domain/policy.ts';
import type { MachineState } from '../domain/states.ts';
import type { MachineView } from '../domain/view.ts';
import type { FrameSchema, PoolsSchema } from './api/fleet-schema.ts';

/** What every page shows. Times are epoch milliseconds of the database clock. */
export type Frame = z.output<typeof FrameSchema>;
export type StateCounts = Frame['counts'];
/** How the fleet guard stands: the fleet first, then each provider with started machines or a freeze. */
export type GuardSummary = Frame['guard'];
export type GuardScope = GuardSummary['scopes'][number];
/** How the recovery budget of the fleet, a provider or a location is used. */
export type BudgetSummary = Frame['budget'][number];
/** A pool at one of its balancers, and its members. */
export type PoolSummary = z.output<typeof PoolsSchema>['pools'][number];
export type MemberSummary = PoolSummary['members'][number];

/** One machine as the daemon has it. Immutable: what changes is a new one. */
export interface MachineEntry {
  readonly view: MachineView;
  readonly state: MachineState;
  readonly substate: string;
  /** In this state since; may be a fraction. */
  readonly sinceMs: number;
  /** The last change of state or substate that was seen; null: none yet. */
  readonly last: { readonly atMs: number } | null;
}
export type EntryChange =
  | { readonly type: 'changed'; readonly entry: MachineEntry }
  | { readonly type: 'removed'; readonly slot: Slot };

/** What is shown of the fleet as a whole. */
export type FleetFrame = Omit<Frame, 'total' | 'status' | 'budget'>;

/** The fleet as this daemon sees it. */
export interface FleetView {
  frame(): FleetFrame;
  /** Estimate of the database clock, epoch ms; may be a fraction. */
  nowMs(): number;
  /** When a machine counts as lost, and when it needs a person. */
  readonly loss: LossPolicy;
  /** Names of those that are configured. */
  providers(): readonly string[];
  /** Each pool at each of its balancers, by pool and balancer. */
  pools(): readonly PoolSummary[];
  readonly entries: ReadonlyMap<Slot, MachineEntry>;
  /** False while a daemon that was just started has not taken in all machines. Absent: it has. */
  readonly isWhole?: () => boolean;
  /** What changes in `entries`, one machine at a time, in the same turn. */
  readonly entryChanges$: Observable<EntryChange>;
  /** Fires when anything else of the frame is different. */
  readonly frameChanges$: Observable<void>;
  /** What rows and listing say of a slot. */
  facts(slot: Slot): SlotFacts | undefined;
  /** Another daemon works on it now. */
  isElsewhere(slot: Slot): boolean;
  /** It is where it is for longer than it should be, at this moment of the database clock. */
  isOverdue(entry: MachineEntry, nowMs: number): boolean;
  /** How the recovery budget is used, by scope. */
  budget(): readonly BudgetSummary[];
}

export interface HealthCheck {
  readonly ok: boolean;
  /** One line for a person: what was looked at, and what is wrong. */
  readonly detail: string;
  /** Where it is not ok: the daemon does its work all the same, and another one could do no more. */
  readonly degraded?: true;
}

/** The daemon is ready when every check is ok, or degraded only. An empty report is not ready: nothing was checked. */
export interface HealthReport {
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** The one thing the console needs of the metrics. */
export interface MetricsSource {
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
}
