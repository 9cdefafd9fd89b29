import type { Observable } from 'rxjs';
import type { DrainEnd, MemberState } from '../domain/balancing/members.ts';
import type { Headline } from '../domain/headline.ts';
import type { Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { LossPolicy } from '../domain/policy.ts';
import type { GuardState } from '../domain/recovery/standing.ts';
import type { MachineState } from '../domain/states.ts';
import type { MachineView } from '../domain/view.ts';

export type StateCounts = Readonly<Record<MachineState, number>>;

/** How the fleet guard stands: whether machines are recovered at all now. */
export interface GuardSummary {
  /** The gravest of all scopes. */
  readonly state: GuardState;
  /** The fleet first, then each provider with started machines or a freeze. */
  readonly scopes: readonly GuardScope[];
}
export interface GuardScope {
  /** `fleet`, or a provider. */
  readonly scope: string;
  readonly state: GuardState;
  /** Epoch ms of the database clock; null: not known, or nothing is the matter. */
  readonly sinceMs: number | null;
  readonly reason: string | null;
  /** Machines whose agent was started, and those of them that are silent. */
  readonly started: number;
  readonly silent: number;
  /** What ends that state, for people, and when the clock does; null: nothing is the matter, or no clock. */
  readonly ends: string | null;
  readonly endsAtMs: number | null;
}

/** How the recovery budget of the fleet, a provider or a location is used. */
export interface BudgetSummary {
  readonly scope: string;
  readonly permits: number;
  readonly budget: number;
}

/** A provider that this daemon cannot list now: what is shown of its slots is as it was then. */
export interface UnlistedSummary {
  readonly provider: string;
  readonly sinceMs: number;
  readonly cause: string;
}

/** A machine as a member of a pool at one balancer. Times are epoch ms of the database clock. */
export interface MemberSummary {
  /** Null: no row and no listing tells where the machine is. */
  readonly slot: Slot | null;
  readonly machineId: string;
  readonly state: MemberState;
  readonly sinceMs: number;
  /** Of `draining`: connections that are left then are cut. */
  readonly deadlineMs: number | null;
  /** Of `drained`: how it came to it. */
  readonly how: DrainEnd | null;
  /** It may be interrupted though it was not drained. */
  readonly waived: boolean;
  /** An order that waits for it is refused, for the reason in `note`. */
  readonly refused: boolean;
  /** As the balancer sees it; null: not known here. Only the daemon that tends the balancer knows. */
  readonly health: 'up' | 'down' | 'unknown' | null;
  /** Connections; null: not known. */
  readonly sessions: number | null;
  readonly note: string | null;
}

/** A pool at one of its balancers. */
export interface PoolSummary {
  readonly pool: string;
  readonly balancer: string;
  /** Kind of the balancer; null: it is not configured any more. */
  readonly driver: string | null;
  /** This configuration has the pool at this balancer. */
  readonly isConfigured: boolean;
  /** State of its statechart as it was last written down; null: nobody tended it yet. */
  readonly state: string | null;
  /** Why it is in that state, for people. */
  readonly reason: string | null;
  readonly settledAtMs: number | null;
  /** When it was last read from the balancer. */
  readonly observedAtMs: number | null;
  /** Nothing is asked of the balancer for it before. */
  readonly retryAtMs: number | null;
  /** The panic guard keeps members from being dropped. */
  readonly frozen: { readonly atMs: number; readonly reason: string } | null;
  readonly paused: PoolRequest | null;
  readonly tornDown: PoolRequest | null;
  /** A live daemon tends the balancer. */
  readonly isTended: boolean;
  readonly minActive: number;
  readonly members: readonly MemberSummary[];
  /** Where clients come in, as the balancer was read here; null: it was not. */
  readonly addresses:
    | readonly { readonly address: string; readonly ports: readonly number[] }[]
    | null;
}
/** What an operator asked of a pool, and is so until it is taken back. */
export interface PoolRequest {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

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
export interface FleetFrame {
  readonly atMs: number;
  readonly counts: StateCounts;
  readonly headline: Headline;
  /** Machines that need a person. */
  readonly needHuman: number;
  readonly guard: GuardSummary;
  readonly unlisted: readonly UnlistedSummary[];
}

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
