import type { Slot } from '../domain/ids.ts';
import type { FreezeKind } from '../domain/machine.ts';
import type { Queue } from '../domain/explanation/queue.ts';
import type { GuardCounts } from '../domain/recovery/guard-judgement.ts';
import type { RuleStanding } from '../domain/recovery/guard-rules.ts';

/** What is told of one scope of the guard, beside how it stands. Times are epoch ms of the database clock. */
export interface ScopeInsight {
  /** `fleet`, or a provider. */
  readonly scope: string;
  /** Who froze it, and by what; null: it is not frozen. */
  readonly frozen: { readonly by: string; readonly kind: FreezeKind } | null;
  /** When it thaws if it stays as calm as it is; null: no clock thaws it. */
  readonly thawsAtMs: number | null;
  readonly counts: Omit<GuardCounts, 'scope'>;
  /** The one that is nearest to stopping recovery first. */
  readonly rules: readonly RuleStanding[];
}

/** A machine that waits for a permit to be recovered. */
export interface WaitingMachine {
  readonly slot: Slot;
  /** Null: there is room, so it is the guard that it waits for. */
  readonly queue: Queue | null;
  /** Why the guard holds it back; null: it does not. */
  readonly bar: string | null;
}

export interface GuardLook {
  /** Scopes that were counted. */
  readonly scopes: readonly ScopeInsight[];
  /** Who waits, the one whose turn is next first; only the first of them. */
  readonly waiting: readonly WaitingMachine[];
  /** How many wait, by scope of the budget: `fleet`, `provider <name>`, `location <name>`. */
  readonly waitingBy: ReadonlyMap<string, number>;
}

/** What is told of the guard beyond the frame. */
export interface GuardInsight {
  look(): GuardLook;
}

/** Nothing is known of the guard. */
export const NO_GUARD: GuardInsight = {
  look: () => ({ scopes: [], waiting: [], waitingBy: new Map() }),
};
