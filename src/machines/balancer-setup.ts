import { assign, raise, setup } from 'xstate';
import type { Stage } from '../domain/balancing/plan.ts';
import { HURRY_MS, retryMs, resyncMs, waitMs } from '../domain/balancing/waiting.ts';
import { codeOf, Throttled } from '../domain/errors.ts';
import { promiseService, unprovided } from './services.ts';
import { failureOf, type Failure } from './task.ts';

/** Which pool, at which balancer. What a step found lives beside the chart, under these names. */
export interface PoolPlace {
  readonly pool: string;
  readonly balancer: string;
}

/** How the pool stood when its job became ours. */
export interface PoolStanding {
  readonly isPaused: boolean;
  readonly generation: number;
  readonly failures: number;
  /** Database clock, epoch ms. */
  readonly retryAtMs: number | null;
}

/** What is to be done next. */
export interface Checked {
  readonly stage: Stage;
  /** When a settled pool is to be looked at again sooner than usual, milliseconds; null: it is not. */
  readonly againMs: number | null;
}

/** How waiting goes: all are ready, one failed, or some are not ready yet. */
export type Polled = 'ready' | 'failed' | 'pending';

export interface Stepped {
  /** What is desired at the balancer follows from the rows, and they changed. */
  readonly isDesiredNew: boolean;
  /** When members are to be looked at again though nothing is told, milliseconds. */
  readonly restMs: number;
}

export type BalancerEvent =
  /** What is to become of machines has changed, or what an operator wants of the pool. */
  | { readonly type: 'members.changed' }
  /** Members changed, so that other objects are desired. */
  | { readonly type: 'desired.changed' }
  /** The balancer was looked at. */
  | { readonly type: 'pool.observed' }
  | { readonly type: 'pool.pause' }
  | { readonly type: 'pool.resume' }
  /** Nothing more is to be done here; what is at the balancer stays. */
  | { readonly type: 'pool.stop' };

export interface BalancerContext extends PoolPlace {
  /** Of what is desired: one more with each change of it. */
  readonly generation: number;
  /** Something else is desired than when the balancer was looked at last. */
  readonly isDesiredNew: boolean;
  /** Members are to be looked at once more after this step. */
  readonly isStepDue: boolean;
  /** Looks at objects that are not ready, since they are waited for. */
  readonly looks: number;
  /** Runs in a row that failed. */
  readonly failures: number;
  /** The balancer wants to be left alone until then, epoch ms. */
  readonly retryAtMs: number | null;
  /** What is desired changed since the failure: the next try has been brought forward. */
  readonly isHurried: boolean;
  readonly failure: Failure | null;
  readonly againMs: number | null;
  /** Steps of members that failed in a row. */
  readonly stepFailures: number;
  readonly restMs: number;
}

const STEP_RETRY_FIRST_MS = 1_000;
const STEP_RETRY_LONGEST_MS = 30_000;

type Failing = { readonly error: unknown };

const retryAtOf = (error: unknown): number | null =>
  error instanceof Throttled ? error.retryAtMs : null;

/** What the chart of a pool at a balancer is made of; every service and report is given from outside. */
export const balancerSetup = setup({
  types: { context: {} as BalancerContext, input: {} as PoolPlace, events: {} as BalancerEvent },
  actors: {
    /**
     * Resolves when the balancer is this daemon's to write to, and the fleet is known; reads the
     * members that the daemon before left.
     */
    takeLease: promiseService<PoolStanding, PoolPlace>('takeLease'),
    /** Reads all that is there. */
    observe: promiseService<void, PoolPlace>('observe'),
    /** Plans. */
    check: promiseService<Checked, PoolPlace>('check'),
    /** Asks for objects that failed once more. */
    recover: promiseService<void, PoolPlace>('recover'),
    /** Destroys what the plan says, again and again as long as that gets on. */
    destroy: promiseService<void, PoolPlace>('destroy'),
    /** Makes, marks and updates what the plan says. */
    create: promiseService<void, PoolPlace>('create'),
    /** Looks at objects that are not ready. Rejects when they were waited for long enough. */
    poll: promiseService<Polled, PoolPlace & { readonly looks: number }>('poll'),
    /** Does the next step of every member. */
    stepMembers: promiseService<Stepped, PoolPlace>('stepMembers'),
  },
  actions: {
    keepStanding: assign((_, { standing }: { standing: PoolStanding }) => ({
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
    reportSettled: (_, _params: PoolPlace & { readonly generation: number }) =>
      unprovided('reportSettled'),
    reportFailure: (_, _params: PoolPlace & Failing & { readonly failures: number }) =>
      unprovided('reportFailure'),
    reportStepFailure: (_, _params: PoolPlace & Failing) => unprovided('reportStepFailure'),
  },
  guards: {
    paused: (_, { standing }: { standing: PoolStanding }) => standing.isPaused,
    waitsAfterFailure: (_, { standing }: { standing: PoolStanding }) => standing.failures > 0,
    isStage: (_, { checked, stage }: { checked: Checked; stage: readonly Stage[] }) =>
      stage.includes(checked.stage),
    isPolled: (_, { polled, as }: { polled: Polled; as: Polled }) => polled === as,
    desiredIsNew: ({ context }) => context.isDesiredNew,
    mayHurry: ({ context }) => !context.isHurried && context.retryAtMs === null,
    stepIsDue: ({ context }) => context.isStepDue,
    changesDesired: (_, { stepped }: { stepped: Stepped }) => stepped.isDesiredNew,
    /** The balancer is no more this daemon's to write to. */
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
