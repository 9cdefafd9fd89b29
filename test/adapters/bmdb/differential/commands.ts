import type { BackoffDescriptor } from '../../../../src/domain/backoff.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type {
  HoldKind,
  Process,
  ProviderHoldKind,
  ProviderStatus,
  QuarantineKind,
} from '../../../../src/domain/machine.ts';
import type { PoolVerb, ProviderVerb, Verb } from '../../../../src/domain/verbs.ts';
import type { LossPolicy, RecoveryBudget } from '../../../../src/domain/policy.ts';
import type { StandingRung } from '../../../../src/domain/recovery/rung-names.ts';

/**
 * What may be done to a BMDB, as plain data. Whatever has to be named is a number: sessions and
 * machines by their place, works and intents by the order in which they were got (modulo how many
 * there are), so that one list of commands means the same to both implementations.
 *
 * Time passes in multiples of 8 s only, and limits are 4 s away from such multiples: no answer
 * depends on the little real time that a command takes.
 */
export const SECOND = 1_000;
export const STEPS_S = [8, 16, 64, 104, 304, 608, 1_808, 3_608] as const;
export const LOSS: LossPolicy = {
  heartbeatMs: 604 * SECOND,
  firstHeartbeatMs: 1_804 * SECOND,
  needsHumanAfterMs: 3_604 * SECOND,
  handOutMs: 1_804 * SECOND,
  periodMs: 30 * SECOND,
  ladderResetMs: 300 * SECOND,
  escalation: { failuresMax: 3, attemptAgeMs: 1_804 * SECOND },
};
const PENALTY_MS = 3_603 * SECOND;
export const INTERVALS_S = [12, 60, 100_004] as const;
export const DESCRIPTORS: readonly BackoffDescriptor[] = [
  { initialMs: 60 * SECOND, exponent: 1, maximumMs: 0 },
  { initialMs: 12 * SECOND, exponent: 3, maximumMs: 324 * SECOND },
  { initialMs: 12 * SECOND, exponent: 3, maximumMs: 36 * SECOND },
];

export const SESSIONS = 3;
export const MACHINES = 6;
export const SLOTS = 4;
export const JOBS = 2;
/** Beyond the day that ended holds of providers are kept, and within the life of a session. */
export const LONG_S = 90_000;
export const PROVIDERS = ['metal', 'static'].map(providerName);

/** A machine to begin with; ages in seconds. */
export interface Seed {
  readonly reserved: boolean;
  readonly provider: number | null;
  readonly location: string | null;
  readonly status: ProviderStatus | null;
  readonly startedAge: number | null;
  readonly heardAge: number | null;
  readonly asked: number | null;
  readonly reported: number | null;
  readonly succeeded: boolean;
  readonly handedOutAge: number | null;
  readonly failures: number | null;
  readonly rung: StandingRung | null;
  readonly permit: boolean;
  readonly quarantine: 'none' | 'ended' | 'ending' | 'for ever';
  readonly deprovision: boolean;
  readonly missing: boolean;
}

export type Note =
  | 'agentStartAttempt'
  | 'recoveryRefused'
  | 'recoveryDenied'
  | 'powerOnAccepted'
  | 'recoveryAccepted'
  | 'deprovisionAsked'
  | 'powerSeenOff'
  | 'hostKeyProved'
  | 'controllerResetAsked'
  | 'controllerResetRefused'
  | StandingRung;
export type Ending =
  /** Deprovisioned: where that is what the work is for; else nothing. */
  | { readonly finish: 'nothing' | 'agentStarted' | 'recovered' | 'deprovisioned' | 'letGo' }
  | { readonly fail: number; readonly park?: QuarantineKind }
  | { readonly cancel: string | null };

export type Beat = {
  readonly machine: number;
  readonly key: 'right' | 'wrong';
  readonly boot: string | null;
  readonly hardware: boolean;
  readonly report: { readonly generation: number; readonly success: boolean } | null;
};

/** What an operator asks for; what a verb has no use for is passed over. */
export interface Asked {
  readonly verb: Exclude<Verb, PoolVerb | ProviderVerb>;
  readonly kind: HoldKind;
  readonly untilS: number | null;
  readonly flag: boolean;
  /** Of a slot that the machine is not on. */
  readonly elsewhere: boolean;
}

/** One command for each of the names. */
type Each<Name extends string, Parts = unknown> = Name extends string
  ? { readonly do: Name } & Parts
  : never;

export type Command =
  | { readonly do: 'openSession'; readonly session: number; readonly interval: number }
  | Each<'poke' | 'closeSession' | 'expireSession', { readonly session: number }>
  | { readonly do: 'insert'; readonly machine: number; readonly seed: Seed }
  | Each<'remove' | 'read' | 'history', { readonly machine: number }>
  | {
      readonly do: 'claim';
      readonly session: number;
      readonly machine: number;
      readonly process: Process;
    }
  | { readonly do: 'claimAll'; readonly session: number; readonly process: Process }
  | { readonly do: 'note'; readonly work: number; readonly note: Note }
  | { readonly do: 'end'; readonly work: number; readonly how: Ending }
  | { readonly do: 'endAll'; readonly how: Ending }
  | { readonly do: 'releaseWork'; readonly session: number; readonly machine: number }
  | {
      readonly do: 'openIntent';
      readonly session: number;
      readonly slot: number;
      /** One that was got, whoever got it. */
      readonly lease: number | null;
    }
  | { readonly do: 'lease'; readonly session: number; readonly job: number }
  | { readonly do: 'releaseLease'; readonly lease: number }
  | {
      readonly do: 'impose';
      readonly kind: ProviderHoldKind;
      readonly key: number;
      readonly forS: number;
      readonly level: number;
      readonly amount: number | null;
    }
  | {
      readonly do: 'liftHolds';
      readonly kind: ProviderHoldKind | 'penalty';
      readonly key: number | null;
    }
  | {
      readonly do: 'keepRecord';
      readonly session: number;
      readonly provider: number;
      readonly key: number;
      readonly act: 'make' | 'replace' | 'drop';
      readonly value: number;
      /** One that was written, so far back. */
      readonly version: number;
    }
  | Each<'withdraw', { readonly machine: number }>
  | {
      readonly do: 'file';
      readonly session: number;
      readonly machine: number;
      readonly asked: Asked;
      /** The key of one that was filed, so far back. */
      readonly reuse: number | null;
      readonly validS: number;
      /** When it is settled. */
      readonly at: 'once' | 'later';
    }
  | { readonly do: 'settle'; readonly session: number; readonly request: number }
  | { readonly do: 'resumeIntent'; readonly session: number; readonly intent: number }
  | {
      readonly do: 'progressIntent';
      readonly session: number;
      readonly intent: number;
      readonly change: {
        readonly attempts?: number;
        readonly ambiguous?: boolean;
        readonly unresolved?: boolean;
        readonly lastError?: string;
        readonly empty?: boolean;
      };
    }
  | {
      readonly do: 'adoptIntent';
      readonly session: number;
      readonly intent: number;
      readonly device: number;
    }
  | {
      readonly do: 'endIntent';
      readonly session: number;
      readonly intent: number;
      readonly state: 'failed' | 'abandoned';
      readonly penalty: boolean;
    }
  | { readonly do: 'beats'; readonly beats: readonly Beat[] }
  | { readonly do: 'request'; readonly machine: number; readonly generation: number }
  | {
      readonly do: 'hold';
      readonly slot: number;
      readonly kind: HoldKind;
      readonly untilS: number | null;
    }
  | { readonly do: 'lift'; readonly slot: number; readonly kind: HoldKind }
  | Each<'freeze' | 'thaw', { readonly scope: string }>
  | {
      readonly do: 'updateProvided';
      readonly session: number;
      readonly machine: number;
      readonly patch: {
        readonly status?: ProviderStatus;
        readonly location?: string | null;
        readonly address?: string | null;
        readonly absent?: boolean;
      };
    }
  | { readonly do: 'pass'; readonly seconds: number }
  | Each<'sweep' | 'scan' | 'changes' | 'statistics' | 'inspect' | 'requests' | 'records'>
  | {
      readonly do: 'candidates';
      readonly process: Process;
      readonly provider: number | null;
      readonly limit: number;
    };

/** Few machines are enough to spend it. */
export const BUDGET: RecoveryBudget = { percent: 60, perGroupMax: 2, fleetMax: 3 };

export const penaltyMs = (penalty: boolean) => (penalty ? { penaltyMs: PENALTY_MS } : {});
export const intervalMs = (at: number): number => INTERVALS_S[at]! * SECOND;
export const descriptorOf = (at: number): BackoffDescriptor => DESCRIPTORS[at]!;
