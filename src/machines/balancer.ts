import type { Stage } from '../domain/balancing/plan.ts';
import {
  balancerSetup,
  type BalancerContext,
  type Checked,
  type Polled,
  type PoolPlace,
  type PoolStanding,
  type Stepped,
} from './balancer-setup.ts';
import { errorOf } from './task.ts';

type Of = { readonly context: BalancerContext };
type Failed = { readonly event: { readonly error: unknown } };

const place = ({ context: { pool, balancer } }: Of): PoolPlace => ({ pool, balancer });

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

const leadsTo = (target: string, ...stage: readonly Stage[]) => ({
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

type Leased = { readonly event: { readonly output: PoolStanding } };
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
      ...calling('observe', 'Reads all that is ours at the balancer.', {
        target: 'checking',
        actions: 'tellObserved',
      }),
    },
    checking: calling(
      'check',
      'Plans what is to be done next; nothing, when it is not known what is desired.',
      [
        leadsTo('destroying', 'dropping', 'clashing', 'leaving'),
        leadsTo('recovering', 'recovering'),
        leadsTo('creating', 'creating'),
        leadsTo('waiting', 'waiting'),
        { guard: 'desiredIsNew', target: 'retrieving' },
        leadsTo('settled', 'settled', 'frozen'),
      ],
    ),
    recovering: calling('recover', 'Asks once more for objects that the balancer calls failed.', {
      target: 'waiting',
    }),
    destroying: calling('destroy', 'Destroys what has to go now, children before their parents.', {
      target: 'retrieving',
    }),
    creating: calling('create', 'Makes and marks every object whose parents are ready.', {
      target: 'waiting',
    }),
    waiting: {
      description: 'Objects get ready; then all is read again.',
      entry: 'beginWait',
      initial: 'polling',
      on: { 'desired.changed': { target: 'retrieving', actions: 'noteDesired' } },
      states: {
        polling: {
          description: 'Looks at those that are not ready.',
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
          description: 'Until the next look; longer each time, five minutes at most.',
          after: { wait: { target: 'polling' } },
        },
      },
    },
    settled: {
      description: 'All is as desired, or nothing may be done; it is read again now and then.',
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
      description: 'The balancer did not do what it was asked; it is tried again, later each time.',
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
      description: 'Does the next step of every member: joins, lets go, takes out.',
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
      description: 'Until something is told of a machine, or time alone moves a member on.',
      always: { guard: 'stepIsDue', target: 'stepping' },
      on: { 'members.changed': stepAgain, 'pool.observed': stepAgain },
      after: { rest: { target: 'stepping' } },
    },
    backingOff: {
      description: 'The database did not take what was to be written.',
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
      description: 'Waits for the job; may last for ever, since another daemon may have it.',
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
      description: 'The job could not be asked for; later each time.',
      after: { stepRetry: { target: 'awaitingLease' } },
    },
    tending: {
      type: 'parallel',
      on: { 'pool.pause': { target: 'paused' } },
      states: { objects, members },
    },
    paused: {
      description: 'An operator asked that nothing be changed; may last for ever.',
      on: { 'pool.resume': { target: 'tending' } },
    },
    stopped: { type: 'final' },
  },
});
