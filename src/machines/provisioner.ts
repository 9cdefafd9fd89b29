import { assign, setup } from 'xstate';
import type { ProviderName } from '../domain/ids.ts';
import type { Creation } from '../domain/reconcile.ts';
import { actorSlot, unprovided } from './slots.ts';
import { errorOf, failureOf, type Failure } from './task.ts';

export interface ProvisionerInput {
  readonly provider: ProviderName;
  /** Pause between two iterations. */
  readonly periodMs: number;
}
type Context = ProvisionerInput & {
  readonly planned: readonly Creation[];
  readonly failures: number;
  readonly failure: Failure | null;
};

const BACKOFF_MAX_MS = 300_000;

/**
 * Turns free capacity of one provider into machines. Before it plans, it settles what an earlier
 * life of this or another daemon left open, so a device is never leaked and a slot never used twice.
 */
export const provisioner = setup({
  types: { context: {} as Context, input: {} as ProvisionerInput },
  actors: {
    /** Finds the device of each abandoned intent by its witness: adopt it, retry it, or forget it. */
    settleIntents: actorSlot<void, { readonly provider: ProviderName }>('settleIntents'),
    /** Lists the provider and the BMDB, and decides what to create within the limits. */
    planCreations: actorSlot<readonly Creation[], { readonly provider: ProviderName }>(
      'planCreations',
    ),
    createMachines: actorSlot<
      void,
      { readonly provider: ProviderName; readonly planned: readonly Creation[] }
    >('createMachines'),
  },
  actions: {
    keepPlan: assign({ planned: (_, { planned }: { planned: readonly Creation[] }) => planned }),
    keepFailure: assign(({ context }, { error }: { error: unknown }) => ({
      failure: failureOf(error),
      failures: Math.min(context.failures + 1, 20),
    })),
    forgetFailure: assign({ failure: null, failures: 0 }),
    reportFailure: (_, _params: { provider: ProviderName; error: unknown }) =>
      unprovided('reportFailure'),
  },
  guards: {
    nothingPlanned: (_, { planned }: { planned: readonly Creation[] }) => planned.length === 0,
  },
  delays: {
    period: ({ context }) => context.periodMs,
    backoff: ({ context }) =>
      Math.min(BACKOFF_MAX_MS, Math.max(1_000, context.periodMs) * 2 ** (context.failures - 1)),
  },
}).createMachine({
  id: 'provisioner',
  context: ({ input }) => ({ ...input, planned: [], failures: 0, failure: null }),
  options: { maxIterations: 1000 },
  initial: 'settling',
  states: {
    settling: {
      description: 'Settles open intents that no running creation works on.',
      invoke: {
        id: 'settleIntents',
        src: 'settleIntents',
        input: ({ context }) => ({ provider: context.provider }),
        onDone: { target: 'planning' },
        onError: failed(),
      },
    },
    planning: {
      description: 'Compares provider and BMDB.',
      invoke: {
        id: 'planCreations',
        src: 'planCreations',
        input: ({ context }) => ({ provider: context.provider }),
        onDone: [
          {
            guard: {
              type: 'nothingPlanned',
              params: ({ event }) => ({ planned: event.output }),
            },
            target: 'resting',
          },
          {
            target: 'creating',
            actions: { type: 'keepPlan', params: ({ event }) => ({ planned: event.output }) },
          },
        ],
        onError: failed(),
      },
    },
    creating: {
      description: 'Creates the chunk; one failed creation does not stop the others.',
      invoke: {
        id: 'createMachines',
        src: 'createMachines',
        input: ({ context }) => ({ provider: context.provider, planned: context.planned }),
        onDone: { target: 'resting' },
        onError: failed(),
      },
    },
    resting: {
      description: 'Until the next iteration is due.',
      entry: 'forgetFailure',
      after: { period: { target: 'settling' } },
    },
    backingOff: {
      description: 'The provider or the database did not answer.',
      after: { backoff: { target: 'settling' } },
    },
  },
});

function failed() {
  return {
    target: 'backingOff',
    actions: [
      { type: 'keepFailure', params: errorOf },
      {
        type: 'reportFailure',
        params: ({ context, event }: { context: Context; event: { error: unknown } }) => ({
          provider: context.provider,
          error: event.error,
        }),
      },
    ],
  } as const;
}
