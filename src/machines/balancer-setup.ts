import { assign, raise, setup } from 'xstate';
import type { PoolStage } from '../domain/balancing/plan.ts';
import { HURRY_MS, retryMs, resyncMs, waitMs } from '../domain/balancing/waiting.ts';
import { codeOf, Throttled } from '../domain/errors.ts';
import { promiseService, unprovided } from './services.ts';
import { failureOf, type StepFailure } from './task.ts';

/** A pool at a balancer. Results of steps live beside the chart, under these names. */
export interface BalancedPool {
  readonly pool: string;
  readonly balancer: string;
}

/** The pool's state when its job became ours. */
export interface PoolStatus {
  readonly isPaused: boolean;
  readonly generation: number;
  readonly failures: number;
  /** Database clock, epoch ms. */
  readonly retryAtMs: number | null;
}

/** What to do next. */
export interface Checked {
  readonly stage: PoolStage;
  /** When a settled pool needs an earlier look than usual, milliseconds; null: it does not. */
  readonly againMs: number | null;
}

/** State of the wait: all are ready, one failed, or some are not ready yet. */
export type Polled = 'ready' | 'failed' | 'pending';

export interface Stepped {
  /** The desired state at the balancer changed with the rows. */
  readonly isDesiredNew: boolean;
  /** Time until the next look at members without news, milliseconds. */
  readonly restMs: number;
}

export type BalancerEvent =
  /** Desired members, or an operator's wishes for the pool, have changed. */
  | { readonly type: 'members.changed' }
  /** Members changed, and with them the desired objects. */
  | { readonly type: 'desired.changed' }
  /** A look at the balancer has ended. */
  | { readonly type: 'pool.observed' }
  | { readonly type: 'pool.pause' }
  | { readonly type: 'pool.resume' }
  /** Stops the work here; objects at the balancer stay. */
  | { readonly type: 'pool.stop' };

export interface BalancerContext extends BalancedPool {
  /** Counts the changes of the desired state. */
  readonly generation: number;
  /** The desired state changed since the last look at the balancer. */
  readonly isDesiredNew: boolean;
  /** Members need another look after this step. */
  readonly isStepDue: boolean;
  /** Number of looks at objects that are not ready, during this wait. */
  readonly looks: number;
  /** Failed runs in a row. */
  readonly failures: number;
  /** The balancer requests a pause until then, epoch ms. */
  readonly retryAtMs: number | null;
  /** The desired state changed since the failure, and the next attempt was brought forward. */
  readonly isHurried: boolean;
  readonly failure: StepFailure | null;
  readonly againMs: number | null;
  /** Failed member steps in a row. */
  readonly stepFailures: number;
  readonly restMs: number;
}

const STEP_RETRY_FIRST_MS = 1_000;
const STEP_RETRY_LONGEST_MS = 30_000;

type Failing = { readonly error: unknown };

const retryAtOf = (error: unknown): number | null =>
  error instanceof Throttled ? error.retryAtMs : null;

/** Parts of the chart of a pool at a balancer; services and reports are provided from outside. */
export const balancerSetup = setup({
  types: { context: {} as BalancerContext, input: {} as BalancedPool, events: {} as BalancerEvent },
  actors: {
    /**
     * Resolves when this daemon may write to the balancer and the fleet is known; reads the members
     * that the previous daemon left.
     */
    takeLease: promiseService<PoolStatus, BalancedPool>('takeLease'),
    /** Reads all objects at the balancer. */
    observe: promiseService<void, BalancedPool>('observe'),
    /** Plans. */
    check: promiseService<Checked, BalancedPool>('check'),
    /** Submits failed objects again. */
    recover: promiseService<void, BalancedPool>('recover'),
    /** Deletes planned objects, repeatedly as long as it makes progress. */
    destroy: promiseService<void, BalancedPool>('destroy'),
    /** Creates, marks and updates planned objects. */
    create: promiseService<void, BalancedPool>('create'),
    /** Looks at objects that are not ready. Rejects when the wait was long enough. */
    poll: promiseService<Polled, BalancedPool & { readonly looks: number }>('poll'),
    /** Takes the next step of every member. */
    stepMembers: promiseService<Stepped, BalancedPool>('stepMembers'),
  },
  actions: {
    keepStanding: assign((_, { standing }: { standing: PoolStatus }) => ({
      generation: standing.generation,
      failures: Math.min(standing.failures, 20),
      retryAtMs: standing.retryAtMs,
    })),
    noteDesired: assign(({ context }) => ({
      generation: context.generation + 1,
      isDesiredNew: true,
    })),
    takeDesired: assign({ isDesiredNew: false }),
    keepCheck: assign({ againMs: (_, { checked }: { checked: Checked }) => checked.againMs }),
    beginWait: assign({ looks: 0 }),
    countLook: assign({ looks: ({ context }) => context.looks + 1 }),
    tellObserved: raise({ type: 'pool.observed' }),
    keepFailure: assign(({ context }, { error }: Failing) => ({
      failure: failureOf(error),
      failures: Math.min(context.failures + 1, 20),
      retryAtMs: retryAtOf(error),
      isHurried: false,
    })),
    forgetFailure: assign({ failure: null, failures: 0, retryAtMs: null, isHurried: false }),
    hurry: assign({ isHurried: true }),
    wantStep: assign({ isStepDue: true }),
    beginStep: assign({ isStepDue: false }),
    keepStep: assign((_, { stepped }: { stepped: Stepped }) => ({
      restMs: stepped.restMs,
      stepFailures: 0,
    })),
    keepStepFailure: assign(({ context }) => ({
      stepFailures: Math.min(context.stepFailures + 1, 20),
    })),
    tellDesired: raise({ type: 'desired.changed' }),
    reportSettled: (_, _params: BalancedPool & { readonly generation: number }) =>
      unprovided('reportSettled'),
    reportFailure: (_, _params: BalancedPool & Failing & { readonly failures: number }) =>
      unprovided('reportFailure'),
    reportStepFailure: (_, _params: BalancedPool & Failing) => unprovided('reportStepFailure'),
  },
  guards: {
    paused: (_, { standing }: { standing: PoolStatus }) => standing.isPaused,
    waitsAfterFailure: (_, { standing }: { standing: PoolStatus }) => standing.failures > 0,
    isStage: (_, { checked, stage }: { checked: Checked; stage: readonly PoolStage[] }) =>
      stage.includes(checked.stage),
    isPolled: (_, { polled, as }: { polled: Polled; as: Polled }) => polled === as,
    desiredIsNew: ({ context }) => context.isDesiredNew,
    mayHurry: ({ context }) => !context.isHurried && context.retryAtMs === null,
    stepIsDue: ({ context }) => context.isStepDue,
    changesDesired: (_, { stepped }: { stepped: Stepped }) => stepped.isDesiredNew,
    /** This daemon may no longer write to the balancer. */
    leaseLost: (_, { error }: Failing) => LOST.has(codeOf(error)),
  },
  delays: {
    wait: ({ context }) => waitMs(context.looks, 0.5),
    retry: ({ context }) => (context.isHurried ? HURRY_MS : retryMs(context.failures, null)),
    resync: ({ context }) => Math.min(context.againMs ?? Infinity, resyncMs(0.5)),
    rest: ({ context }) => context.restMs,
    stepRetry: ({ context }) =>
      Math.min(STEP_RETRY_LONGEST_MS, STEP_RETRY_FIRST_MS * 2 ** (context.stepFailures - 1)),
  },
});

const LOST: ReadonlySet<string> = new Set(['lease-lost', 'session-expired']);
