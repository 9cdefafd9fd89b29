import type { PoolRow } from './balancing/pool-row.ts';
import type { Circumstances } from './eligibility.ts';
import type { GuardRow, MachineRow, RequestRow } from './machine.ts';
import type { OperatorRequest } from './operator-request.ts';
import type { PoolVerb } from './verbs.ts';

/** What a decision about a request reads, and its result. */

/** The facts about a request and its subject, in the transaction that applies it. */
export interface Scene {
  readonly request: RequestRow;
  /** The operator request with its details; null: this program cannot read it. */
  readonly wish: OperatorRequest | null;
  /** The named machine; null: it does not exist. */
  readonly row: MachineRow | null;
  /** The guard's decision for the named scope. */
  readonly guard: GuardRow | null;
  /** The rows of the named pool, at each balancer concerned. */
  readonly pools: readonly PoolRow[];
  readonly now: Circumstances;
  /** The agent of a machine on the slot received an installation and has not reported yet. */
  readonly isInstalling: boolean;
}

/** Rows to write, besides the end of the request and the line in the slot's log. */
export type Effect =
  | OperatorRequest<'hold' | 'unhold' | 'quarantine' | 'release' | 'clear-backoff'>
  | OperatorRequest<'freeze' | 'freeze-until' | 'thaw' | 'clear-provider'>
  /** `giveBack`: also file the request to give it back, unless it has a conflict. */
  | OperatorRequest<'retire' | 'unretire' | 'accept'>
  /** All new labels of the slot. */
  | { readonly verb: 'label'; readonly labels: string | null }
  /** The machine's first request decides whether the slot returns to the pool. */
  | OperatorRequest<'deprovision'>
  /** The pool rows in which operators' requests are written. */
  | { readonly verb: PoolVerb; readonly rows: readonly PoolRow[] }
  | (OperatorRequest<'install'> & { readonly generation: bigint })
  | { readonly verb: 'cancel-install'; readonly generation: bigint }
  /** The order ends as refused, unless its request was made meanwhile. */
  | { readonly verb: 'withdraw'; readonly order: string; readonly outcome: string };

/** The end of a request. */
export interface RequestResult {
  readonly state: 'done' | 'refused';
  /** For people. */
  readonly outcome: string;
  readonly effect: Effect | null;
  /**
   * Its line in the slot's log, under the requester's name; null: a default line with verb and
   * outcome.
   */
  readonly event: { readonly kind: string; readonly reason: string } | null;
}

export const refused = (outcome: string): RequestResult => ({
  state: 'refused',
  outcome,
  effect: null,
  event: null,
});

export const done = (
  outcome: string,
  effect: Effect | null = null,
  event: RequestResult['event'] = null,
): RequestResult => ({ state: 'done', outcome, effect, event });

export const OVER = 'its end has already passed';
export const untilText = (untilMs: number | null, end: string): string =>
  `until ${untilMs === null ? end : new Date(untilMs).toISOString()}`;
