import type { MemberState } from '../../domain/balancing/members.ts';
import type { ObjectKind } from '../../domain/balancing/objects.ts';
import type { PoolState } from '../../domain/balancing/pool-states.ts';
import type { CreationOutcome } from '../../domain/provisioning/provider-tags.ts';
import type { Process } from '../../domain/machine.ts';
import type { Processor } from '../../domain/processor.ts';
import type { GuardCounts } from '../../domain/recovery/guard-judgement.ts';
import type { BudgetUse } from '../../domain/recovery/permits.ts';
import type { GuardStanding } from '../../domain/recovery/standing.ts';
import type { Rung } from '../../domain/recovery/rungs.ts';
import { silentDaemonMetrics, type DaemonMetrics } from './daemon-port.ts';

export type {
  ConsoleMetrics,
  DaemonFigures,
  DaemonMetrics,
  Removed,
  StatisticsMetrics,
  StatisticsQuery,
} from './daemon-port.ts';

/** How a claim ended; `lost`: somebody else took it, or nobody was left to say. */
export type WorkResult = 'finished' | 'failed' | 'canceled' | 'lost';

/** Machines of a provider in one state and substate, and those of them that need a person. */
export interface PlaceCount {
  readonly provider: string;
  readonly state: string;
  readonly substate: string;
  readonly count: number;
  readonly needHuman: number;
}

/**
 * Counters and gauges of the daemon; names and labels as exported at `/metrics`. Machine ids are
 * never labels. Every method is total: it neither throws nor waits.
 */
export interface Metrics extends BalancingMetrics, DaemonMetrics, WebhookMetrics {
  transition(provider: string, from: string, to: string): void;
  /** Replaces the families of machines by state, and of those that need a person. */
  machines(counts: readonly PlaceCount[]): void;
  /** After the COMMIT, as the others of the BMDB. Which processor it is follows from the process. */
  workStarted(process: Process): void;
  workFinished(process: Process, result: WorkResult): void;
  claimConflict(process: Process): void;
  heartbeat(outcome: 'ok' | 'unauthenticated' | 'invalid' | 'unavailable' | 'limited'): void;
  adapterCall(adapter: string, op: string, code: string): void;
  /** Makes every series of a provider's driver exist, at 0. */
  driverOpened(provider: string, operations: readonly string[]): void;
  /** One call of a provider's driver, without its wait for a turn. */
  driverCall(provider: string, operation: string, failed: boolean, seconds: number): void;
  /** So many BMCs of a provider hang, `redfish_bmc_unresponsive`. */
  bmcUnresponsive(provider: string, count: number): void;
  agentStartFailure(cls: string): void;
  /** A machine was spoken to whose host key nobody verified, as the policy has it. */
  insecureConnection(provider: string): void;
  reboot(provider: string, outcome: string): void;
  /** Replaces the gauges of one provider. */
  provisioner(provider: string, figures: ProvisionerFigures): void;
  /** A creation came to an end. */
  creation(provider: string, outcome: CreationOutcome): void;
  /** A machine is Missing from now on; what it was before. */
  disappeared(state: string): void;
  /** A machine does not go away however often its provider is asked. */
  deprovisionStuck(provider: string): void;
  sessionStarted(processor: Processor): void;
  sessionExpired(processor: Processor): void;
  /**
   * One attempt of a BMDB transaction (`executed` first, `retried` later), or its giving up. What a
   * transaction finds out, such as a conflict over work, is no failure of it.
   */
  transaction(step: 'executed' | 'retried' | 'failed', processor: Processor): void;
  actorCrash(): void;
  /** A machine's actor at rest shows another state than its rows. */
  stateMismatch(): void;
  /** A service beside the machines crashed and is rebuilt: `guard`, a `pool`, or the whole `supervisor`. */
  serviceCrash(service: 'guard' | 'pool' | 'supervisor'): void;
  /** Replaces the gauges of the fleet guard. */
  guard(standings: readonly GuardStanding[], counts: readonly GuardCounts[]): void;
  /** Recovery of a scope was frozen for so long, since it was told last. */
  guardFrozen(scope: string, seconds: number): void;
  /** Replaces the gauges of the recovery budget. */
  recoveryBudget(uses: readonly BudgetUse[]): void;
  /**
   * An attempt on a rung of the ladder went one step on, or ended. `outcome` is one of a few words,
   * such as `asked`, `proved`, `refused`, `failed`, `exhausted`.
   */
  ladderAttempt(provider: string, rung: Rung, outcome: string): void;
  /** A machine went up the ladder: to this rung. */
  escalation(provider: string, rung: Rung): void;
  observe(
    name: 'work_duration_seconds' | 'work_queue_wait_seconds' | 'heartbeat_seconds',
    labels: Readonly<Record<string, string>>,
    seconds: number,
  ): void;
  /** One HTTP attempt of the Equinix client, `equinix_api_latency`. */
  equinixCall(endpoint: string, statusCode: string, seconds: number): void;
  equinixSlots(waiting: number, inFlight: number): void;
  /** An attempt of the Equinix client is repeated, `equinix_api_retries_total`. */
  equinixRetry(endpoint: string, reason: string): void;
  /** The whole client was kept from calling, `equinix_api_paused_seconds_total`. */
  equinixPaused(reason: 'rate_limit' | 'unauthorized', seconds: number): void;
  /** One creation came to an end, `equinix_create_outcomes_total`. */
  equinixCreate(outcome: CreateOutcome): void;
  /** Replaces the whole `equinix_reservations` family: reservations per class. */
  equinixReservations(counts: Readonly<Record<string, number>>): void;
  /** One walk through the pages of a listing, `equinix_listing_walks_total`. */
  equinixWalk(list: string, consistent: boolean): void;
}

/** A pool at a balancer: the labels of its series. */
export interface PoolLabels {
  readonly driver: string;
  /** Name of the configured balancer. */
  readonly lb: string;
  readonly pool: string;
}

/** Of one attempt to deliver. */
export const WEBHOOK_OUTCOMES = ['delivered', 'failed', 'dead', 'disabled'] as const;
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number];

/** Deliveries of events. */
export interface WebhookMetrics {
  /** It may be delivered to from here: its counters are there from now on, so that a first rise shows. */
  webhookConfigured(webhook: string): void;
  /** One attempt; `dead`: it was the last one. */
  webhookDelivery(webhook: string, outcome: WebhookOutcome): void;
  /** Age of what waits longest; null: it is not delivered to from here. */
  webhookOldest(webhook: string, seconds: number | null): void;
}

/** What is counted of pools by the daemon that tends them, and of the calls of balancers' drivers. */
export interface BalancingMetrics {
  /** This daemon tends the pool from now on: its series exist, at 0. */
  poolTended(pool: PoolLabels): void;
  /** One pass: reading what is there, and all that followed of it. */
  poolPass(pool: PoolLabels, seconds: number): void;
  /** So long objects took to get ready after they were created. */
  poolCreationWait(pool: PoolLabels, seconds: number): void;
  /**
   * `created`, `deleted`: objects. `createError`: a creation, or the wait for it, was given up;
   * `deleteError`: so were removals. `deleteRetry`: one attempt to remove an object failed.
   */
  poolWrites(
    pool: PoolLabels,
    what: 'created' | 'deleted' | 'createError' | 'deleteError' | 'deleteRetry',
    count: number,
  ): void;
  /** What the plan has still to do. To be told with each plan, and with zeros however a run ends. */
  poolPending(
    pool: PoolLabels,
    counts: { readonly create: number; readonly destroy: number },
  ): void;
  /** Objects of ours that were read. */
  poolRetrieved(pool: PoolLabels, type: ObjectKind, count: number): void;
  /** A member was let go, so long after it got its last new connection. */
  poolDrained(pool: PoolLabels, seconds: number): void;
  /** Replaces the gauges of a pool. */
  poolStanding(pool: PoolLabels, figures: PoolFigures): void;
  /** This daemon does not tend the pool any more: its gauges go, so that nobody adds up old ones. */
  poolLeft(pool: PoolLabels): void;
  /** A request to a balancer was answered; `-1`: it was not. */
  balancerCall(call: BalancerCallLabels & { readonly status: string }): void;
  /** One request more, or less, waits for its answer. */
  balancerInFlight(call: BalancerCallLabels, by: 1 | -1): void;
}

export interface BalancerCallLabels {
  readonly driver: string;
  readonly balancer: string;
  /** What was asked for: a path without ids. */
  readonly resource: string;
  readonly method: string;
}

/** How a pool stands at a balancer. */
export interface PoolFigures {
  readonly state: PoolState;
  readonly isFrozen: boolean;
  /** Epoch ms; null: never yet. */
  readonly settledAtMs: number | null;
  readonly members: Readonly<Partial<Record<MemberState, number>>>;
}

export type GuardMetrics = Pick<Metrics, 'guard' | 'guardFrozen'>;

/** What an iteration of a provisioner found. */
export interface ProvisionerFigures {
  /** Machines in the BMDB. */
  readonly bmdb: number;
  /** Devices in use, those of other owners left out. */
  readonly used: number;
  readonly free: number;
  readonly failed: number;
  /** Devices that nothing refers to. */
  readonly orphan: number;
  /** Machines whose device was not listed. */
  readonly missing: number;
  /** Free slots on the shelf. */
  readonly penalised: number;
  /** What counts against the limit. */
  readonly managed: number;
  /** 0: no limit. */
  readonly max: number;
  readonly overLimit: number;
  /** Unfinished creations. */
  readonly intents: number;
  readonly isBreakerOpen: boolean;
}

/** How a creation at Equinix ended; `adopted`: found, made by a request whose reply was lost. */
export const CREATE_OUTCOMES = [
  'created',
  'adopted',
  'race_lost',
  'capacity',
  'rejected',
  'unknown',
] as const;
export type CreateOutcome = (typeof CREATE_OUTCOMES)[number];

/** Counts nothing; for parts that run without a daemon around them. */
export const silentMetrics: Metrics = {
  ...silentDaemonMetrics,
  poolTended: () => undefined,
  poolPass: () => undefined,
  poolCreationWait: () => undefined,
  poolWrites: () => undefined,
  poolPending: () => undefined,
  poolRetrieved: () => undefined,
  poolDrained: () => undefined,
  poolStanding: () => undefined,
  poolLeft: () => undefined,
  balancerCall: () => undefined,
  balancerInFlight: () => undefined,
  transition: () => undefined,
  machines: () => undefined,
  workStarted: () => undefined,
  workFinished: () => undefined,
  claimConflict: () => undefined,
  webhookConfigured: () => undefined,
  webhookDelivery: () => undefined,
  webhookOldest: () => undefined,
  heartbeat: () => undefined,
  adapterCall: () => undefined,
  driverOpened: () => undefined,
  driverCall: () => undefined,
  agentStartFailure: () => undefined,
  insecureConnection: () => undefined,
  reboot: () => undefined,
  provisioner: () => undefined,
  creation: () => undefined,
  disappeared: () => undefined,
  deprovisionStuck: () => undefined,
  sessionStarted: () => undefined,
  sessionExpired: () => undefined,
  transaction: () => undefined,
  actorCrash: () => undefined,
  stateMismatch: () => undefined,
  serviceCrash: () => undefined,
  guard: () => undefined,
  guardFrozen: () => undefined,
  recoveryBudget: () => undefined,
  ladderAttempt: () => undefined,
  escalation: () => undefined,
  observe: () => undefined,
  bmcUnresponsive: () => undefined,
  equinixCall: () => undefined,
  equinixSlots: () => undefined,
  equinixRetry: () => undefined,
  equinixPaused: () => undefined,
  equinixCreate: () => undefined,
  equinixReservations: () => undefined,
  equinixWalk: () => undefined,
};
