import { assign, setup } from 'xstate';
import type { ProviderName } from '../domain/ids.ts';
import { promiseService, unprovided } from './services.ts';
import { errorOf, failureOf, type Failure } from './task.ts';

interface ProvisionerInput {
  readonly provider: ProviderName;
  /** Pause between two iterations. */
  readonly periodMs: number;
}
/** The subject of a step. Its results live beside the chart, under the provider's name. */
export interface Round {
  readonly provider: ProviderName;
}
/** Result of a listing: taken, or not possible before `pauseMs`. */
export type Listed =
  | { readonly kind: 'listed' }
  | { readonly kind: 'paused'; readonly pauseMs: number; readonly reason: string };

type Context = ProvisionerInput & {
  readonly failures: number;
  readonly failure: Failure | null;
  readonly pauseMs: number;
  /** Number of creations due in this iteration. */
  readonly planned: number;
};

const BACKOFF_MAX_MS = 300_000;
/** A pause goes in steps, because an operator may lift its hold meanwhile. */
const PAUSE_STEP_MS = 60_000;

/**
 * Turns free capacity of one provider into machines, on one daemon at a time. Before it plans, it
 * completes what an earlier daemon left open, so that no device leaks and no slot is used twice.
 * Creations outlive the iteration that began them: a hanging creation does not hold up anything
 * else.
 */
export const provisioner = setup({
  types: { context: {} as Context, input: {} as ProvisionerInput },
  actors: {
    /** Resolves when the job is this daemon's; at once if it still is. */
    takeLease: promiseService<void, Round>('takeLease'),
    /** Finds the device of each unfinished creation by its creation key, without caches. */
    resolveIntents: promiseService<void, Round>('resolveIntents'),
    /** Lists the provider and the BMDB at the same time. */
    listBoth: promiseService<Listed, Round>('listBoth'),
    /** Decides; returns the number of due creations. */
    planRound: promiseService<number, Round>('planRound'),
    /** Writes the findings: adopted, absent, missing, back, forgotten. */
    recordFindings: promiseService<void, Round>('recordFindings'),
    /** Begins the creations without a wait for their end. */
    beginCreations: promiseService<void, Round>('beginCreations'),
  },
  actions: {
    keepPause: assign({
      pauseMs: (_, { listed }: { listed: Listed }) =>
        listed.kind === 'paused' ? Math.min(PAUSE_STEP_MS, Math.max(1, listed.pauseMs)) : 1,
    }),
    keepPlan: assign({ planned: (_, { planned }: { planned: number }) => planned }),
    keepFailure: assign(({ context }, { error }: { error: unknown }) => ({
      failure: failureOf(error),
      failures: Math.min(context.failures + 1, 20),
    })),
    forgetFailure: assign({ failure: null, failures: 0 }),
    reportRound: (_, _params: Round) => unprovided('reportRound'),
    reportPause: (_, _params: Round & { readonly listed: Listed }) => unprovided('reportPause'),
    reportFailure: (_, _params: Round & { readonly error: unknown }) => unprovided('reportFailure'),
  },
  guards: {
    paused: (_, { listed }: { listed: Listed }) => listed.kind === 'paused',
    nothingPlanned: ({ context }) => context.planned === 0,
  },
  delays: {
    period: ({ context }) => context.periodMs,
    pause: ({ context }) => context.pauseMs,
    backoff: ({ context }) =>
      Math.min(BACKOFF_MAX_MS, Math.max(1_000, context.periodMs) * 2 ** (context.failures - 1)),
  },
}).createMachine({
  id: 'provisioner',
  context: ({ input }) => ({ ...input, failures: 0, failure: null, pauseMs: 0, planned: 0 }),
  options: { maxIterations: 1000 },
  initial: 'awaitingLease',
  states: {
    awaitingLease: step(
      'takeLease',
      'Waits for the lease of this job, for as long as another daemon holds it.',
      { target: 'resolving' },
    ),
    resolving: step(
      'resolveIntents',
      'Searches for devices of unfinished creations that no daemon works on.',
      { target: 'listing' },
    ),
    listing: step('listBoth', 'Lists provider and database. If one fails, both stop.', [
      {
        guard: { type: 'paused', params: listedOf },
        target: 'paused',
        actions: [
          { type: 'keepPause', params: listedOf },
          { type: 'reportPause', params: (at: ListingDone) => ({ ...round(at), ...listedOf(at) }) },
        ],
      },
      { target: 'planning' },
    ]),
    planning: step(
      'planRound',
      'Compares each machine with its device, and plans creations within the limits.',
      {
        target: 'observing',
        actions: {
          type: 'keepPlan',
          params: ({ event }: { event: { output: number } }) => ({ planned: event.output }),
        },
      },
    ),
    observing: step(
      'recordFindings',
      'Records the result: new devices, absent, missing and returned machines.',
      [{ guard: 'nothingPlanned', target: 'resting' }, { target: 'creating' }],
    ),
    creating: step(
      'beginCreations',
      'Starts the planned creations one after the other. Each continues by itself.',
      { target: 'resting' },
    ),
    resting: {
      description: 'Waits until the next round is due.',
      entry: ['forgetFailure', { type: 'reportRound', params: round }],
      after: { period: { target: 'awaitingLease' } },
    },
    paused: {
      description:
        'The provider asked for a pause, or refuses our credentials. No request is sent before the pause ends.',
      after: { pause: { target: 'awaitingLease' } },
    },
    backingOff: {
      description: 'The provider or the database failed. The round is repeated after a pause.',
      after: { backoff: { target: 'awaitingLease' } },
    },
  },
});

interface ListingDone {
  readonly context: Context;
  readonly event: { readonly output: Listed };
}
function listedOf({ event }: Pick<ListingDone, 'event'>) {
  return { listed: event.output };
}

function round({ context }: { readonly context: Context }): Round {
  return { provider: context.provider };
}

/** A state in which one service works; any failure is retried later. */
function step<const Src extends string, const Done>(src: Src, description: string, onDone: Done) {
  const reported = ({ context, event }: { context: Context; event: { error: unknown } }) => ({
    provider: context.provider,
    error: event.error,
  });
  const onError = {
    target: 'backingOff',
    actions: [
      { type: 'keepFailure', params: errorOf },
      { type: 'reportFailure', params: reported },
    ],
  } as const;
  return { description, invoke: { id: src, src, input: round, onDone, onError } };
}
