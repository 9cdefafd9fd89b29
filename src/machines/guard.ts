import { assign, raise, setup } from 'xstate';
import type { GuardPicture, GuardStatus, GuardState } from '../domain/recovery/guard-status.ts';
import { BLIND, gravest } from '../domain/recovery/guard-status.ts';
import { promiseService, unprovided } from './services.ts';
import { errorOf, failureOf, type StepFailure } from './task.ts';

interface GuardInput {
  /** Interval between assessments, milliseconds. */
  readonly assessMs: number;
}
/** Results of an assessment of the fleet. */
export interface GuardFindings extends GuardPicture {
  /** The fleet's first. */
  readonly standings: readonly GuardStatus[];
}
type GuardEvent =
  /** Rows of the guard or requests about it seem to have changed. */
  | { readonly type: 'guard.nudged' }
  | { readonly type: 'assessment.made'; readonly state: GuardState }
  | { readonly type: 'assessment.failed' };

type GuardContext = GuardInput &
  GuardPicture & {
    readonly standings: readonly GuardStatus[];
    /** The reason for the guard's state; null: all is well. */
    readonly reason: string | null;
    readonly failure: StepFailure | null;
    /** A nudge came during a round, whose findings may be older. */
    readonly again: boolean;
  };

/** The database answers sooner, or not at all. */
const ANSWER_MS = 30_000;

const unanswered = () => ({ error: new Error('the database did not answer in time') });

/** The same for an assessment that failed and for one that does not end. */
const blinded = <Params extends typeof errorOf | typeof unanswered>(params: Params) =>
  ({
    target: 'resting',
    actions: [{ type: 'keepFailure', params }, { type: 'reportBlind', params }, 'tellBlind'],
  }) as const;

/**
 * Suspects Shepherd itself before the machines. Assesses the fleet repeatedly, and freezes recovery
 * when too many machines fall silent together. Thaws it on their return. Both apply to all daemons,
 * through the database. Also applies operators' requests about the guard. It grants no permits: the
 * claim's transaction grants them under the same rules.
 */
export const guard = setup({
  types: { context: {} as GuardContext, input: {} as GuardInput, events: {} as GuardEvent },
  actors: {
    /** Records that heartbeats are received, counts silent machines, freezes and thaws. */
    assess: promiseService<GuardFindings, void>('assess'),
    /** Applies due freezes, thaws, and requests about unknown slots. */
    settleGuardRequests: promiseService<void, void>('settleGuardRequests'),
  },
  actions: {
    keepFindings: assign((_, { findings }: { findings: GuardFindings }) => ({
      rows: findings.rows,
      counts: findings.counts,
      standings: findings.standings,
      reason: gravest(findings.standings).reason,
      failure: null,
    })),
    keepFailure: assign((_, { error }: { error: unknown }) => ({
      standings: [BLIND],
      reason: BLIND.reason,
      failure: failureOf(error),
    })),
    wantRound: assign({ again: true }),
    beginRound: assign({ again: false }),
    tellFindings: raise((_, { findings }: { findings: GuardFindings }) => ({
      type: 'assessment.made' as const,
      state: gravest(findings.standings).state,
    })),
    tellBlind: raise({ type: 'assessment.failed' }),
    reportFindings: (_, _params: { findings: GuardFindings }) => unprovided('reportFindings'),
    reportBlind: (_, _params: { error: unknown }) => unprovided('reportBlind'),
    reportUnsettled: (_, _params: { error: unknown }) => unprovided('reportUnsettled'),
  },
  guards: {
    stands: ({ event }, { state }: { state: GuardState }) =>
      event.type === 'assessment.made' && event.state === state,
    anotherRound: ({ context }) => context.again,
  },
  delays: { assessPeriod: ({ context }) => context.assessMs, answer: ANSWER_MS },
}).createMachine({
  id: 'guard',
  context: ({ input }) => ({
    ...input,
    rows: [],
    counts: [],
    standings: [BLIND],
    reason: BLIND.reason,
    failure: null,
    again: false,
  }),
  options: { maxIterations: 1000 },
  type: 'parallel',
  states: {
    standing: {
      initial: 'blind',
      on: {
        'assessment.failed': { target: '.blind' },
        'assessment.made': [
          { guard: { type: 'stands', params: { state: 'frozen' } }, target: '.frozen' },
          { guard: { type: 'stands', params: { state: 'grace' } }, target: '.grace' },
          { guard: { type: 'stands', params: { state: 'suspicious' } }, target: '.suspicious' },
          { guard: { type: 'stands', params: { state: 'watching' } }, target: '.watching' },
          { target: '.blind' },
        ],
      },
      states: {
        blind: { description: 'The guard has no data about the fleet. No machine is recovered.' },
        grace: {
          description:
            'No daemon has accepted heartbeats for a whole deadline. Silence proves nothing yet.',
        },
        watching: { description: 'Machines are recovered within the budget.' },
        suspicious: {
          description:
            'Many machines are late or silent together, perhaps because of Shepherd. No further machine is recovered.',
        },
        frozen: {
          description:
            'Recovery of the fleet or of a provider is stopped until ten calm minutes have passed or an operator thaws it.',
        },
      },
    },
    round: {
      initial: 'assessing',
      states: {
        assessing: {
          description: "Assesses the fleet, or reads another daemon's recent assessment.",
          entry: 'beginRound',
          invoke: {
            id: 'assess',
            src: 'assess',
            onDone: {
              target: 'settling',
              actions: [
                { type: 'keepFindings', params: ({ event }) => ({ findings: event.output }) },
                { type: 'reportFindings', params: ({ event }) => ({ findings: event.output }) },
                { type: 'tellFindings', params: ({ event }) => ({ findings: event.output }) },
              ],
            },
            onError: blinded(errorOf),
          },
          on: { 'guard.nudged': { actions: 'wantRound' } },
          after: { answer: blinded(unanswered) },
        },
        settling: {
          description: "Carries out operators' requests to freeze or thaw.",
          invoke: {
            id: 'settleGuardRequests',
            src: 'settleGuardRequests',
            onDone: [{ guard: 'anotherRound', target: 'assessing' }, { target: 'resting' }],
            onError: { target: 'resting', actions: { type: 'reportUnsettled', params: errorOf } },
          },
          on: { 'guard.nudged': { actions: 'wantRound' } },
          after: {
            answer: { target: 'resting', actions: { type: 'reportUnsettled', params: unanswered } },
          },
        },
        resting: {
          description: 'Waits until the next assessment is due or the fleet changes.',
          on: { 'guard.nudged': { target: 'assessing' } },
          after: { assessPeriod: { target: 'assessing' } },
        },
      },
    },
  },
});
