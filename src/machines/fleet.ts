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
  /** What the guard rests on has changed. */
  | { readonly type: 'guard.nudged' }
  /** A service broke in the middle; everything is rebuilt. */
  | { readonly type: 'service.crashed'; readonly error: unknown }
  /** Does the supervisor take turns at all? Nothing follows from it. */
  | { readonly type: 'fleet.watched' }
  /** Stop claiming, finish or cancel what is under way, close the session. */
  | { readonly type: 'fleet.stop' };

interface FleetTiming {
  readonly sessionIntervalMs: number;
  /** Pause before a new session after one was lost or could not be opened. */
  readonly sessionRetryMs: number;
  /** The guard assesses the fleet so often. */
  readonly assessMs: number;
}

type Context = FleetTiming & {
  readonly failure: Failure | null;
  readonly sessionLosses: number;
  /** Crashes of services since the last quiet period. */
  readonly crashes: number;
  /** Crashes of the guard, as long as work goes on. */
  readonly guardCrashes: number;
  /** A stop was asked for: whatever breaks from now on, nothing is rebuilt. */
  readonly stopping: boolean;
};

const SESSION_RETRY_MAX_MS = 30_000;
/** Work for so long without a crash of a service, and earlier crashes are forgotten. */
const QUIET_MS = 60_000;

/** Before another session, milliseconds: doubles with each in a row that did not come to life. */
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
 * The supervisor: owns the session, the mirror, the cells, one provisioner per provider, the pools at
 * their balancers and the janitor. News flow from the mirror through here into the cells whether or not a session is alive;
 * only work needs one.
 */
export const fleet = setup({
  types: { context: {} as Context, input: {} as FleetTiming, events: {} as FleetEvent },
  actors: {
    session,
    /** Freezes recovery when too many fall silent together. */
    guard,
    /** BMDB rows, provider listings and heartbeats, diffed into `slots.changed`. */
    mirror: callbackService<FleetEvent, void>('mirror'),
    /** Puts slots into cells, restarts crashed machines and dead cells. */
    cellPool: callbackService<SlotsChanged, void>('cellPool'),
    /** One provisioner per provider, while a session is alive. */
    provisioners: callbackService<FleetEvent, void>('provisioners'),
    /** Sweeps what dead sessions left behind. */
    janitor: callbackService<FleetEvent, void>('janitor'),
    /** One actor for each pool at each of its balancers, while a session is alive. */
    balancers: callbackService<FleetEvent, void>('balancers'),
    /** Writes what the providers report of known machines. */
    updater: callbackService<FleetEvent, void>('updater'),
    /** Resolves when all work has ended: finished in time, else cancelled. */
    drain: promiseService<void, void>('drain'),
    closeSession: promiseService<void, void>('closeSession'),
  },
  actions: {
    toCells: sendTo('cellPool', ({ event }) => event as SlotsChanged),
    /** What was known of the guard counts no more: nobody assesses the fleet. */
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
              // Each poke is news of the session too; only the first one that says "alive" counts.
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
