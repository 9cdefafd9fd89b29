import type { SessionId } from '../ids.ts';
import type { ProviderHoldRow, SlotFacts } from '../machine.ts';
import type { LadderPolicy } from '../recovery/ladder.ts';
import type { GuardPolicy } from '../recovery/guard-judgement.ts';
import type { LadderMeans } from '../recovery/rungs.ts';
import type { GuardPicture } from '../recovery/standing.ts';
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
/** What may keep work from a machine, in the order in which a sentence tells it. */
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** One thing that stands between a machine and the next work on it. */
export interface Block {
  readonly kind: BlockKind;
  /** For people, on one line. */
  readonly text: string;
  /** When the clock ends it, epoch ms of the database; null: the clock does not. */
  readonly endsAtMs: number | null;
  /** Who or what ends it, for people. */
  readonly endedBy: string;
}

/** What a daemon does to a machine. */
export const EXPLAINED_WORK = ['creation', 'agentStart', 'recovery', 'deprovision'] as const;
export type ExplainedWork = (typeof EXPLAINED_WORK)[number];

export interface NextStep {
  /** Null: nothing is done until something else happens; `text` says what that is. */
  readonly work: ExplainedWork | null;
  /** Epoch ms of the database; null: no clock decides it. */
  readonly atMs: number | null;
  readonly text: string;
}

/** Why a machine is where it is, and what would end it. */
export interface Explanation {
  /** At most `SENTENCE_MAX` characters. */
  readonly sentence: string;
  /** In this state since, epoch ms of the database; null: nobody knows. */
  readonly sinceMs: number | null;
  /** Who brought it there; null: nobody did. */
  readonly by: string | null;
  /** Latest end first; what no clock ends comes before all others. */
  readonly blockedBy: readonly Block[];
  readonly next: NextStep;
  /** It takes longer than its step may, and far longer than with its likes. */
  readonly overdue: boolean;
}

/** How long others of the same provider and plan took for the same step. */
export interface Usual {
  /** 95th percentile, ms. */
  readonly p95Ms: number;
  readonly samples: number;
}

/** All that an explanation is made of; whoever does not know something says null, or nothing. */
export interface ExplanationFacts {
  readonly slot: SlotFacts;
  /** What the machine's own actor shows; null: only rows and listing tell. */
  readonly shown: { readonly state: MachineState; readonly substate: string } | null;
  /** Since when it was seen in its state, where its rows do not tell it. Epoch ms; null: not known. */
  readonly seenSinceMs: number | null;
  /** Who put it under quarantine; null: nobody, or not known. */
  readonly quarantinedBy: string | null;
  /** The session of whoever explains: its own work is not elsewhere. */
  readonly self: SessionId | null;
  /** Null: the database has not told of the guard yet. */
  readonly guard: GuardPicture | null;
  /** Where it stands among those that wait for a permit; null: it waits for none. */
  readonly queue: Queue | null;
  readonly providerHolds: readonly ProviderHoldRow[];
  /** How its provider's machines are recovered. `means` null: not known, so all may be there. */
  readonly ladder: { readonly policy: LadderPolicy; readonly means: LadderMeans | null };
  /** Why the listing of its provider is not believed; null: it is. */
  readonly breaker: string | null;
  readonly usual: Usual | null;
}

export interface ExplanationMoment extends Moment {
  readonly guard: GuardPolicy;
}
