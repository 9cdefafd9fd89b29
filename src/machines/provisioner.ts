import { assign, setup } from 'xstate';
import type { ProviderName } from '../domain/ids.ts';
import { promiseService, unprovided } from './services.ts';
import { errorOf, failureOf, type Failure } from './task.ts';

interface ProvisionerInput {
  readonly provider: ProviderName;
  /** Pause between two iterations. */
  readonly periodMs: number;
}
/** What a step is about. What it found lives beside the chart, under the provider's name. */
export interface Round {
  readonly provider: ProviderName;
}
/** How a listing went: taken, or not to be asked for before `pauseMs` have passed. */
export type Listed =
  | { readonly kind: 'listed' }
  | { readonly kind: 'paused'; readonly pauseMs: number; readonly reason: string };

type Context = ProvisionerInput & {
  readonly failures: number;
  readonly failure: Failure | null;
  readonly pauseMs: number;
  /** Creations that are due in this iteration. */
  readonly planned: number;
};

const BACKOFF_MAX_MS = 300_000;
/** A pause goes in steps, since the hold that it is for may be lifted by hand meanwhile. */
const PAUSE_STEP_MS = 60_000;

/**
 * Turns free capacity of one provider into machines, on one daemon at a time. Before it plans, it
 * settles what an earlier life of this or another daemon left open, so a device is never leaked and
 * a slot never used twice. Creations outlive the iteration that began them: one that hangs keeps
 * nothing else waiting.
 */
export const provisioner = setup({
  types: { context: {} as Context, input: {} as ProvisionerInput },
  actors: {
    /** Resolves when the job is this daemon's; at once as long as it still is. */
    takeLease: promiseService<void, Round>('takeLease'),
    /** Finds the device of each unfinished creation by its witness, past all caches. */
    resolveIntents: promiseService<void, Round>('resolveIntents'),
    /** Lists the provider and the BMDB at once. */
    listBoth: promiseService<Listed, Round>('listBoth'),
    /** Decides; answers how many creations are due. */
    planRound: promiseService<number, Round>('planRound'),
    /** Writes what was seen: adopted, absent, missing, back, forgotten. */
    recordFindings: promiseService<void, Round>('recordFindings'),
    /** Begins the creations; does not wait for their end. */
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

/** A state in which one service works; whatever fails is tried again later. */
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
