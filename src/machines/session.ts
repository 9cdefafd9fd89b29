import { assign, setup } from 'xstate';
import type { SessionId } from '../domain/ids.ts';
import { promiseService, unprovided } from './services.ts';
import { errorOf, failureOf, type Failure } from './task.ts';

/** Timing of a session, milliseconds. */
export interface SessionTiming {
  readonly intervalMs: number;
}
type Context = SessionTiming & {
  readonly sessionId: SessionId | null;
  readonly failure: Failure | null;
};

/**
 * Liveness of this daemon in the BMDB, from opening to end. The session object lives beside the
 * chart; its own signal (fencing) fires at the local deadline whatever the chart does. A dead
 * session never returns: the parent starts a new chart.
 */
export const session = setup({
  types: {
    context: {} as Context,
    input: {} as SessionTiming,
    output: {} as { readonly failure: Failure | null },
    tags: {} as 'alive',
  },
  actors: {
    openSession: promiseService<SessionId, SessionTiming>('openSession'),
    /** Resolves after one successful poke. */
    poke: promiseService<void, void>('poke'),
    /** Rejects with SessionExpired when the session's signal fires; never resolves. */
    watchDeadline: promiseService<never, void>('watchDeadline'),
  },
  actions: {
    keepId: assign({ sessionId: (_, { id }: { id: SessionId }) => id }),
    keepFailure: assign({ failure: (_, { error }: { error: unknown }) => failureOf(error) }),
    reportPokeFailure: (_, _params: { error: unknown }) => unprovided('reportPokeFailure'),
  },
  guards: {
    isExpiry: (_, { error }: { error: unknown }) => failureOf(error).code === 'session-expired',
  },
  delays: {
    pokePeriod: ({ context }) => context.intervalMs / 2,
    pokeRetry: ({ context }) => context.intervalMs / 5,
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => ({ ...input, sessionId: null, failure: null }),
  output: ({ context }) => ({ failure: context.failure }),
  options: { maxIterations: 1000 },
  initial: 'opening',
  states: {
    opening: {
      description: "Inserts the daemon's session row into the database.",
      invoke: {
        id: 'openSession',
        src: 'openSession',
        input: ({ context }) => ({ intervalMs: context.intervalMs }),
        onDone: {
          target: 'alive',
          actions: { type: 'keepId', params: ({ event }) => ({ id: event.output }) },
        },
        onError: { target: 'ended', actions: { type: 'keepFailure', params: errorOf } },
      },
    },
    alive: {
      tags: 'alive',
      description:
        'The session is valid. The daemon may claim work and renews the session twice per interval.',
      invoke: {
        id: 'watchDeadline',
        src: 'watchDeadline',
        onError: { target: 'ended', actions: { type: 'keepFailure', params: errorOf } },
      },
      initial: 'resting',
      states: {
        resting: {
          description: 'The last renewal succeeded.',
          after: { pokePeriod: { target: 'poking' } },
        },
        poking: {
          description: "Extends the session's deadline.",
          invoke: {
            id: 'poke',
            src: 'poke',
            onDone: { target: 'resting' },
            onError: [
              {
                guard: { type: 'isExpiry', params: errorOf },
                target: '#session.ended',
                actions: { type: 'keepFailure', params: errorOf },
              },
              { target: 'retrying', actions: { type: 'reportPokeFailure', params: errorOf } },
            ],
          },
        },
        retrying: {
          description: 'A renewal failed, and the deadline has not passed yet.',
          after: { pokeRetry: { target: 'poking' } },
        },
      },
    },
    ended: { type: 'final' },
  },
});
