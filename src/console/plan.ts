import type { PoolPlan } from '../domain/balancing/pool-plan.ts';
import type { Explanation, ExplainedWork } from '../domain/explanation/types.ts';
import type { ProviderName, SessionId, Slot } from '../domain/ids.ts';
import type { MachineState } from '../domain/states.ts';
import type { Foresight } from '../domain/provisioning/reconcile.ts';

/** Whose job something is: that daemon's session; null: nobody's. */
export interface Holder {
  readonly sessionId: SessionId | null;
  readonly isHere: boolean;
}

/** What the provisioner of one provider would do. Times are epoch ms of the database clock. */
export interface ProviderOutlook extends Holder {
  readonly provider: ProviderName;
  readonly mayEraseDisks: boolean;
  /** Why it cannot be listed now; null: it can. */
  readonly unlisted: string | null;
  /** Null: it was not listed yet. */
  readonly planned: { readonly atMs: number; readonly foresight: Foresight } | null;
}

/** What would be done to machines next, of one kind of work. */
export interface WorkOutlook {
  readonly work: Exclude<ExplainedWork, 'creation'>;
  /** All machines that it is next for, or being done to. */
  readonly count: number;
  /** The first of them, in the order in which they are taken. */
  readonly machines: readonly {
    readonly slot: Slot;
    readonly state: MachineState;
    readonly substate: string;
    readonly explanation: Explanation;
  }[];
}

/** What would be done for a pool at a balancer. */
export interface PoolOutlook extends Holder {
  readonly pool: string;
  readonly balancer: string;
  /** When the balancer was looked at; null: not by this daemon, which so knows no plan. */
  readonly seenAtMs: number | null;
  readonly plan: PoolPlan | null;
}

export interface FleetPlan {
  readonly atMs: number;
  readonly providers: readonly ProviderOutlook[];
  readonly work: readonly WorkOutlook[];
  readonly pools: readonly PoolOutlook[];
}

/** What would be done next, and why. */
export interface PlanView {
  /** From memory: nobody is asked, and nothing is changed. */
  plan(): FleetPlan;
}

/** Nothing would be done. */
export const NO_PLAN: PlanView = { plan: () => ({ atMs: 0, providers: [], work: [], pools: [] }) };
