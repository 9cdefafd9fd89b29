import type { SessionId } from '../ids.ts';
import type { ProviderHoldRow, SlotFacts } from '../machine.ts';
import type { LadderPolicy } from '../recovery/ladder.ts';
import type { GuardPolicy } from '../recovery/guard-judgement.ts';
import type { MachineMeans } from '../recovery/rungs.ts';
import type { GuardPicture } from '../recovery/guard-status.ts';
import type { MachineState } from '../states.ts';
import type { Moment } from '../view.ts';
import type { Queue } from './queue.ts';

export const BLOCK_KINDS = [
  'quarantine',
  'hold',
  'freeze',
  'grace',
  'suspicion',
  'install',
  'elsewhere',
  'shelf',
  'backoff',
  'cooldown',
  'throttle',
  'quota',
  'turn',
  'budget',
] as const;
/** Kinds of blocks that delay work on a machine, in the order of the sentence. */
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** One reason that delays the next work on a machine. */
export interface Block {
  readonly kind: BlockKind;
  /** For people, on one line. */
  readonly text: string;
  /** When the clock ends the block, epoch ms of the database; null: another event ends it. */
  readonly endsAtMs: number | null;
  /** Who or what ends it, for people. */
  readonly endedBy: string;
}

/** Kinds of work that a daemon does on a machine. */
export const EXPLAINED_WORK = ['creation', 'agentStart', 'recovery', 'deprovision'] as const;
export type ExplainedWork = (typeof EXPLAINED_WORK)[number];

export interface NextStep {
  /** Null: nothing happens until another event, named in `text`. */
  readonly work: ExplainedWork | null;
  /** Epoch ms of the database; null: no clock decides. */
  readonly atMs: number | null;
  readonly text: string;
}

/** Why a machine is in its state, and what would end the state. */
export interface Explanation {
  /** At most `SENTENCE_MAX` characters. */
  readonly sentence: string;
  /** Start of this state, epoch ms of the database; null: unknown. */
  readonly sinceMs: number | null;
  /** Who caused the state; null: nobody. */
  readonly by: string | null;
  /** Blocks without a known end come first, then the latest end. */
  readonly blockedBy: readonly Block[];
  readonly next: NextStep;
  /** The state exceeds its time limit, and far exceeds the usual duration. */
  readonly overdue: boolean;
}

/** Durations of the same step on other machines of the same provider and plan. */
export interface Usual {
  /** 95th percentile, ms. */
  readonly p95Ms: number;
  readonly samples: number;
}

/** All input of an explanation; unknown facts are null or absent. */
export interface ExplanationFacts {
  readonly slot: SlotFacts;
  /** The state that the machine's actor shows; null: only rows and listing are known. */
  readonly shown: { readonly state: MachineState; readonly substate: string } | null;
  /** When the state was first seen, if its rows do not tell. Epoch ms; null: unknown. */
  readonly seenSinceMs: number | null;
  /** Who quarantined the machine; null: nobody, or unknown. */
  readonly quarantinedBy: string | null;
  /** The explaining daemon's session: its own work does not count as work elsewhere. */
  readonly self: SessionId | null;
  /** Null: the guard's rows have not been read yet. */
  readonly guard: GuardPicture | null;
  /** The machine's position among those that wait for a permit; null: it does not wait. */
  readonly queue: Queue | null;
  readonly providerHolds: readonly ProviderHoldRow[];
  /** How the provider's machines are recovered. `means` null: unknown, so all count as possible. */
  readonly ladder: { readonly policy: LadderPolicy; readonly means: MachineMeans | null };
  /** Why the provider's listing is not trusted; null: it is trusted. */
  readonly breaker: string | null;
  readonly usual: Usual | null;
}

export interface ExplanationMoment extends Moment {
  readonly guard: GuardPolicy;
}
