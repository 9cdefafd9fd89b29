import { and, assign, sendTo, setup, stateIn, type SnapshotFrom } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineView } from '../domain/view.ts';
import { guard } from './guard.ts';
import { session } from './session.ts';
import { promiseService, callbackService, unprovided } from './services.ts';
import { errorOf, failureOf, type Failure } from './task.ts';

/** News of slots, from the mirror to the cells. */
export type SlotNews =
  | { readonly type: 'observed'; readonly view: MachineView }
  | { readonly type: 'vanished'; readonly slot: Slot };
export interface SlotsChanged {
  readonly type: 'slots.changed';
  readonly news: readonly SlotNews[];
}
export type FleetEvent =
  | SlotsChanged
  /** Facts on which the guard depends have changed. */
  | { readonly type: 'guard.nudged' }
  /** A service broke halfway; everything is rebuilt. */
  | { readonly type: 'service.crashed'; readonly error: unknown }
  /** Checks that the supervisor takes events; it has no effect. */
  | { readonly type: 'fleet.watched' }
  /** Stops claims, completes or cancels work under way, closes the session. */
  | { readonly type: 'fleet.stop' };

interface FleetTiming {
  readonly sessionIntervalMs: number;
  /** Pause before a new session after one was lost or failed to open. */
  readonly sessionRetryMs: number;
  /** Interval of the guard's assessments. */
  readonly assessMs: number;
}

type Context = FleetTiming & {
  readonly failure: Failure | null;
  readonly sessionLosses: number;
  /** Crashes of services since the last quiet period. */
  readonly crashes: number;
  /** Crashes of the guard while work continues. */
  readonly guardCrashes: number;
  /** A stop was requested: nothing is rebuilt from now on. */
  readonly stopping: boolean;
};

const SESSION_RETRY_MAX_MS = 30_000;
/** Work without a service crash for this long clears the count of crashes. */
const QUIET_MS = 60_000;

/** Pause before another session, milliseconds: doubles with each consecutive failure to open. */
export const sessionPauseMs = ({
  sessionRetryMs,
  sessionLosses,
}: Pick<Context, 'sessionRetryMs' | 'sessionLosses'>): number =>
  Math.min(SESSION_RETRY_MAX_MS, sessionRetryMs * 2 ** (Math.min(sessionLosses, 11) - 1));

const crashed = {
  target: '#fleet.restarting',
  actions: ['countCrash', { type: 'reportServiceCrash', params: errorOf }],
} as const;

/**
 * The supervisor: owns the session, the mirror, the cells, one provisioner per provider, the pools
 * at their balancers and the janitor. News flow from the mirror through here into the cells with or
 * without a session; only work needs a session.
 */
export const fleet = setup({
  types: { context: {} as Context, input: {} as FleetTiming, events: {} as FleetEvent },
  actors: {
    session,
    /** Freezes recovery when too many machines fall silent together. */
    guard,
    /** Compares BMDB rows, provider listings and heartbeats, and sends `slots.changed`. */
    mirror: callbackService<FleetEvent, void>('mirror'),
    /** Puts slots into cells, restarts crashed machines and dead cells. */
    cellPool: callbackService<SlotsChanged, void>('cellPool'),
    /** One provisioner per provider, while a session is alive. */
    provisioners: callbackService<FleetEvent, void>('provisioners'),
    /** Removes leftovers of dead sessions. */
    janitor: callbackService<FleetEvent, void>('janitor'),
    /** One actor for each pool at each of its balancers, while a session is alive. */
    balancers: callbackService<FleetEvent, void>('balancers'),
    /** Writes the providers' reports about known machines. */
    updater: callbackService<FleetEvent, void>('updater'),
    /** Resolves when all work has ended: completed in time, or cancelled. */
    drain: promiseService<void, void>('drain'),
    closeSession: promiseService<void, void>('closeSession'),
  },
  actions: {
    toCells: sendTo('cellPool', ({ event }) => event as SlotsChanged),
    /** Forgets the guard's state, because nobody assesses the fleet. */
    forgetGuard: () => unprovided('forgetGuard'),
    toGuard: sendTo('guard', { type: 'guard.nudged' }),
    countGuardCrash: assign({
      guardCrashes: ({ context }) => Math.min(context.guardCrashes + 1, 10),
    }),
    forgetGuardCrashes: assign({ guardCrashes: 0 }),
    reportGuardCrash: (_, _params: { error: unknown }) => unprovided('reportGuardCrash'),
    keepFailure: assign({
      failure: (_, { failure }: { failure: Failure | null }) => failure,
      sessionLosses: ({ context }) => context.sessionLosses + 1,
    }),
    forgetFailure: assign({ failure: null, sessionLosses: 0 }),
    noteStop: assign({ stopping: true }),
    reportSessionLoss: (_, _params: { failure: Failure | null }) => unprovided('reportSessionLoss'),
    countCrash: assign({ crashes: ({ context }) => Math.min(context.crashes + 1, 10) }),
    forgetCrashes: assign({ crashes: 0 }),
    reportServiceCrash: (_, _params: { error: unknown }) => unprovided('reportServiceCrash'),
  },
  guards: {
    sessionAlive: (_, { snapshot }: { snapshot: unknown }) =>
      (snapshot as SnapshotFrom<typeof session>).hasTag('alive'),
    stopping: ({ context }) => context.stopping,
  },
  delays: {
    quiet: QUIET_MS,
    rebuildGuard: ({ context }) =>
      Math.min(SESSION_RETRY_MAX_MS, context.sessionRetryMs * 2 ** (context.guardCrashes - 1)),
    rebuild: ({ context }) =>
      Math.min(SESSION_RETRY_MAX_MS, context.sessionRetryMs * 2 ** (context.crashes - 1)),
    sessionRetry: ({ context }) => sessionPauseMs(context),
  },
}).createMachine({
  id: 'fleet',
  context: ({ input }) => ({
    ...input,
    failure: null,
    sessionLosses: 0,
    crashes: 0,
    guardCrashes: 0,
    stopping: false,
  }),
  options: { maxIterations: 1000 },
  initial: 'active',
  states: {
    active: {
      invoke: [
        { id: 'cellPool', src: 'cellPool', onError: crashed },
        { id: 'mirror', src: 'mirror', onError: crashed },
      ],
      on: {
        'slots.changed': { actions: 'toCells' },
        'service.crashed': {
          target: 'restarting',
          actions: [
            'countCrash',
            { type: 'reportServiceCrash', params: ({ event }) => ({ error: event.error }) },
          ],
        },
      },
      initial: 'attended',
      states: {
        attended: {
          description: 'The daemon opens its session, or its session is alive.',
          invoke: {
            id: 'session',
            src: 'session',
            input: ({ context }) => ({ intervalMs: context.sessionIntervalMs }),
            onSnapshot: {
              // Each poke is also news of the session; only the first "alive" counts.
              guard: and([
                stateIn({ active: { attended: 'opening' } }),
                {
                  type: 'sessionAlive',
                  params: ({ event }: { event: { snapshot: unknown } }) => ({
                    snapshot: event.snapshot,
                  }),
                },
              ]),
              target: '.working',
            },
            onDone: {
              target: 'fenced',
              actions: [
                {
                  type: 'reportSessionLoss',
                  params: ({ event }) => ({ failure: event.output.failure }),
                },
                { type: 'keepFailure', params: ({ event }) => ({ failure: event.output.failure }) },
              ],
            },
            onError: {
              target: 'fenced',
              actions: [
                {
                  type: 'reportSessionLoss',
                  params: ({ event }) => ({ failure: failureOf(event.error) }),
                },
                {
                  type: 'keepFailure',
                  params: ({ event }) => ({ failure: failureOf(event.error) }),
                },
              ],
            },
          },
          initial: 'opening',
          states: {
            opening: {
              description: 'The daemon has no session yet. It reads the fleet and starts no work.',
              on: { 'fleet.stop': { target: '#fleet.closing' } },
            },
            working: {
              description:
                'The session is alive. The daemon creates, starts and recovers machines.',
              entry: 'forgetFailure',
              invoke: [
                { id: 'provisioners', src: 'provisioners', onError: crashed },
                { id: 'janitor', src: 'janitor', onError: crashed },
                { id: 'updater', src: 'updater', onError: crashed },
                { id: 'balancers', src: 'balancers', onError: crashed },
              ],
              on: { 'fleet.stop': { target: 'draining' } },
              after: { quiet: { actions: 'forgetCrashes' } },
              initial: 'guarded',
              states: {
                guarded: {
                  description: 'The guard runs and assesses the fleet.',
                  exit: 'forgetGuard',
                  invoke: {
                    id: 'guard',
                    src: 'guard',
                    input: ({ context }) => ({ assessMs: context.assessMs }),
                    onDone: { target: 'unguarded' },
                    onError: {
                      target: 'unguarded',
                      actions: ['countGuardCrash', { type: 'reportGuardCrash', params: errorOf }],
                    },
                  },
                  on: { 'guard.nudged': { actions: 'toGuard' } },
                  after: { quiet: { actions: 'forgetGuardCrashes' } },
                },
                unguarded: {
                  description:
                    'The guard crashed and restarts. Recovery stops unless another daemon runs a guard.',
                  after: { rebuildGuard: { target: 'guarded' } },
                },
              },
            },
            draining: {
              description:
                'The daemon starts nothing new. Running work may finish, then it is cancelled.',
              entry: 'noteStop',
              invoke: {
                id: 'drain',
                src: 'drain',
                onDone: { target: '#fleet.closing' },
                onError: { target: '#fleet.closing' },
              },
            },
          },
        },
        fenced: {
          description: 'The session is lost. The daemon has aborted all its work.',
          always: { guard: 'stopping', target: '#fleet.closing' },
          on: { 'fleet.stop': { target: '#fleet.closing' } },
          after: { sessionRetry: { target: 'attended' } },
        },
      },
    },
    restarting: {
      description:
        'A service of the supervisor crashed. The supervisor is rebuilt from the database.',
      always: { guard: 'stopping', target: 'closing' },
      on: { 'fleet.stop': { target: 'closing' } },
      after: { rebuild: { target: 'active' } },
    },
    closing: {
      description: 'Deletes the session, so that other daemons need not wait for its deadline.',
      invoke: {
        id: 'closeSession',
        src: 'closeSession',
        onDone: { target: 'stopped' },
        onError: { target: 'stopped' },
      },
    },
    stopped: { type: 'final' },
  },
});
