import type { PoolStage } from '../domain/balancing/plan.ts';
import {
  balancerSetup,
  type BalancerContext,
  type Checked,
  type Polled,
  type BalancedPool,
  type PoolStatus,
  type Stepped,
} from './balancer-setup.ts';
import { errorOf } from './task.ts';

type Of = { readonly context: BalancerContext };
type Failed = { readonly event: { readonly error: unknown } };

const place = ({ context: { pool, balancer } }: Of): BalancedPool => ({ pool, balancer });

/** A failed step: without the job the work ends, otherwise it is retried later. */
const failing = [
  { guard: { type: 'leaseLost', params: errorOf }, target: '#balancer.awaitingLease' },
  {
    target: '#balancer.tending.objects.failed',
    actions: [
      { type: 'keepFailure', params: errorOf },
      {
        type: 'reportFailure',
        params: ({ context, event }: Of & Failed) => ({
          ...place({ context }),
          error: event.error,
          failures: context.failures,
        }),
      },
    ],
  },
] as const;

const leadsTo = (target: string, ...stage: readonly PoolStage[]) => ({
  guard: {
    type: 'isStage' as const,
    params: ({ event }: { event: { output: Checked } }) => ({ checked: event.output, stage }),
  },
  target,
  actions: {
    type: 'keepCheck' as const,
    params: ({ event }: { event: { output: Checked } }) => ({ checked: event.output }),
  },
});

const polled = (target: string, as: Polled) => ({
  guard: {
    type: 'isPolled' as const,
    params: ({ event }: { event: { output: Polled } }) => ({ polled: event.output, as }),
  },
  target,
});

/** A state in which one service works on objects of the balancer. */
const calling = <const Src extends string, const Done>(
  src: Src,
  description: string,
  onDone: Done,
) => ({ description, invoke: { id: src, src, input: place, onDone, onError: failing } });

const reportStepFailure = {
  type: 'reportStepFailure',
  params: ({ context, event }: Of & Failed) => ({ ...place({ context }), error: event.error }),
} as const;

type Leased = { readonly event: { readonly output: PoolStatus } };
const standingOf = ({ event }: Leased) => ({ standing: event.output });
const keepStanding = { type: 'keepStanding', params: standingOf } as const;

type StepDone = { readonly event: { readonly output: Stepped } };
const steppedOf = ({ event }: StepDone) => ({ stepped: event.output });
const keepStep = { type: 'keepStep', params: steppedOf } as const;

/** Makes the balancer's objects equal to the desired ones. */
const objects = balancerSetup.createStateConfig({
  initial: 'retrieving',
  on: { 'desired.changed': { actions: 'noteDesired' } },
  states: {
    retrieving: {
      entry: 'takeDesired',
      ...calling('observe', "Reads Shepherd's objects at the balancer.", {
        target: 'checking',
        actions: 'tellObserved',
      }),
    },
    checking: calling(
      'check',
      'Plans the next step. Does nothing while the desired state is unknown.',
      [
        leadsTo('destroying', 'dropping', 'clashing', 'leaving'),
        leadsTo('recovering', 'recovering'),
        leadsTo('creating', 'creating'),
        leadsTo('waiting', 'waiting'),
        { guard: 'desiredIsNew', target: 'retrieving' },
        leadsTo('settled', 'settled', 'frozen'),
      ],
    ),
    recovering: calling('recover', 'Requests objects again that the balancer reports as failed.', {
      target: 'waiting',
    }),
    destroying: calling(
      'destroy',
      'Deletes objects that are no longer desired, children before parents.',
      { target: 'retrieving' },
    ),
    creating: calling('create', 'Creates and tags each object whose parents are ready.', {
      target: 'waiting',
    }),
    waiting: {
      description: 'Waits until objects are ready, then reads all objects again.',
      entry: 'beginWait',
      initial: 'polling',
      on: { 'desired.changed': { target: 'retrieving', actions: 'noteDesired' } },
      states: {
        polling: {
          description: 'Reads the objects that are not ready.',
          entry: 'countLook',
          invoke: {
            id: 'poll',
            src: 'poll',
            input: ({ context }) => ({ ...place({ context }), looks: context.looks }),
            onDone: [
              { ...polled('sleeping', 'pending'), actions: 'tellObserved' },
              polled('#balancer.tending.objects.retrieving', 'ready'),
              polled('#balancer.tending.objects.retrieving', 'failed'),
            ],
            onError: failing,
          },
        },
        sleeping: {
          description: 'Pauses before the next read, longer each time, at most five minutes.',
          after: { wait: { target: 'polling' } },
        },
      },
    },
    settled: {
      description: 'The pool is as desired, or may not be changed. It is read again periodically.',
      entry: [
        'forgetFailure',
        {
          type: 'reportSettled',
          params: ({ context }: Of) => ({ ...place({ context }), generation: context.generation }),
        },
      ],
      on: { 'desired.changed': { target: 'retrieving', actions: 'noteDesired' } },
      after: { resync: { target: 'retrieving' } },
    },
    failed: {
      description:
        'The balancer refused or failed a request. It is tried again with growing pauses.',
      on: {
        'desired.changed': [
          { guard: 'mayHurry', target: 'failed', reenter: true, actions: ['noteDesired', 'hurry'] },
          { actions: 'noteDesired' },
        ],
      },
      after: { retry: { target: 'retrieving' } },
    },
  },
});

const stepAgain = { target: 'stepping' } as const;

/** Moves each machine's membership. */
const members = balancerSetup.createStateConfig({
  initial: 'stepping',
  states: {
    stepping: {
      description: 'Moves each member one step: join, drain or remove.',
      entry: 'beginStep',
      on: { 'members.changed': { actions: 'wantStep' }, 'pool.observed': { actions: 'wantStep' } },
      invoke: {
        id: 'stepMembers',
        src: 'stepMembers',
        input: place,
        onDone: [
          {
            guard: { type: 'changesDesired', params: steppedOf },
            target: 'resting',
            actions: [keepStep, 'tellDesired'],
          },
          { target: 'resting', actions: keepStep },
        ],
        onError: [
          { guard: { type: 'leaseLost', params: errorOf }, target: '#balancer.awaitingLease' },
          { target: 'backingOff', actions: ['keepStepFailure', reportStepFailure] },
        ],
      },
    },
    resting: {
      description: "Waits for news of a machine, or for the time of a member's next step.",
      always: { guard: 'stepIsDue', target: 'stepping' },
      on: { 'members.changed': stepAgain, 'pool.observed': stepAgain },
      after: { rest: { target: 'stepping' } },
    },
    backingOff: {
      description: 'The database refused a write. The step is tried again.',
      after: { stepRetry: { target: 'stepping' } },
    },
  },
});

/**
 * Keeps one pool at one balancer in its desired state, on one daemon at a time. Member rows
 * determine the desired state. Members move in parallel to the objects, so that a slow object at
 * the balancer keeps no leaving machine in traffic.
 */
export const balancer = balancerSetup.createMachine({
  id: 'balancer',
  context: ({ input: { pool, balancer: name } }) => ({
    pool,
    balancer: name,
    generation: 0,
    isDesiredNew: false,
    isStepDue: false,
    looks: 0,
    failures: 0,
    retryAtMs: null,
    isHurried: false,
    failure: null,
    againMs: null,
    stepFailures: 0,
    restMs: 0,
  }),
  options: { maxIterations: 1000 },
  initial: 'awaitingLease',
  on: { 'pool.stop': { target: '.stopped' } },
  states: {
    awaitingLease: {
      description: 'Waits for the lease of this job, for as long as another daemon holds it.',
      invoke: {
        id: 'takeLease',
        src: 'takeLease',
        input: place,
        onDone: [
          {
            guard: { type: 'paused', params: standingOf },
            target: 'paused',
            actions: keepStanding,
          },
          {
            guard: { type: 'waitsAfterFailure', params: standingOf },
            target: '#balancer.tending.objects.failed',
            actions: keepStanding,
          },
          { target: 'tending', actions: keepStanding },
        ],
        onError: { target: 'barred', actions: ['keepStepFailure', reportStepFailure] },
      },
    },
    barred: {
      description: 'The lease could not be read. The daemon tries again with growing pauses.',
      after: { stepRetry: { target: 'awaitingLease' } },
    },
    tending: {
      type: 'parallel',
      on: { 'pool.pause': { target: 'paused' } },
      states: { objects, members },
    },
    paused: {
      description: 'An operator paused this pool. It stays paused until the operator resumes it.',
      on: { 'pool.resume': { target: 'tending' } },
    },
    stopped: { type: 'final' },
  },
});
