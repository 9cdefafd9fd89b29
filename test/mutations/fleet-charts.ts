import { mistakesIn, type Mutation } from './mutation.ts';

/** The charts of the supervisor: fleet, session and guard. */

const fleet = mistakesIn(
  'src/machines/fleet.ts',
  ['test/model/fleet.rules.test.ts'],
  [
    [
      'fleet-stop-while-fenced-is-ignored',
      `always: { guard: 'stopping', target: '#fleet.closing' },
          on: { 'fleet.stop': { target: '#fleet.closing' } },`,
      `always: { guard: 'stopping', target: '#fleet.closing' },`,
    ],
    [
      'fleet-session-lost-while-stopping-is-followed-by-another',
      `always: { guard: 'stopping', target: '#fleet.closing' },`,
      '',
    ],
    [
      'fleet-failed-drain-never-ends',
      `onDone: { target: '#fleet.closing' },
                onError: { target: '#fleet.closing' },`,
      `onDone: { target: '#fleet.closing' },
                onError: {},`,
    ],
    [
      'fleet-drain-never-ends',
      `onDone: { target: '#fleet.closing' },
                onError`,
      `onError`,
    ],
    [
      'fleet-stop-does-not-wait-for-work',
      `on: { 'fleet.stop': { target: 'draining' } },`,
      `on: { 'fleet.stop': { target: '#fleet.closing' } },`,
    ],
    [
      'fleet-stop-before-a-session-is-ignored',
      `on: { 'fleet.stop': { target: '#fleet.closing' } },
            },
            working`,
      `},
            working`,
    ],
    ['fleet-stop-while-restarting-is-ignored', `on: { 'fleet.stop': { target: 'closing' } },`, ''],
    ['fleet-crash-undoes-a-stop', `always: { guard: 'stopping', target: 'closing' },`, ''],
    ['fleet-stop-is-not-noted', `entry: 'noteStop',`, ''],
    [
      'fleet-failed-close-never-ends',
      `onDone: { target: 'stopped' },
        onError: { target: 'stopped' },`,
      `onDone: { target: 'stopped' },
        onError: {},`,
    ],
    [
      'fleet-works-on-without-a-session',
      `onDone: {
              target: 'fenced',`,
      `onDone: {`,
    ],
    [
      'fleet-loss-is-not-reported',
      `{
                  type: 'reportSessionLoss',
                  params: ({ event }) => ({ failure: event.output.failure }),
                },`,
      '',
    ],
    [
      'fleet-failure-of-the-session-is-not-reported',
      `{
                  type: 'reportSessionLoss',
                  params: ({ event }) => ({ failure: failureOf(event.error) }),
                },`,
      '',
    ],
    [
      'fleet-each-poke-begins-the-work-anew',
      `stateIn({ active: { attended: 'opening' } }),`,
      `stateIn({ active: 'attended' }),`,
    ],
    [
      'fleet-works-before-the-session-is-alive',
      `(snapshot as SnapshotFrom<typeof session>).hasTag('alive')`,
      `(snapshot as SnapshotFrom<typeof session>) !== null`,
    ],
    [
      'fleet-news-need-a-session',
      `'slots.changed': { actions: 'toCells' },`,
      `'slots.changed': { guard: stateIn({ active: 'attended' }), actions: 'toCells' },`,
    ],
    ['fleet-news-are-lost', `'slots.changed': { actions: 'toCells' },`, ''],
    [
      'fleet-nobody-provisions',
      `{ id: 'provisioners', src: 'provisioners', onError: crashed },`,
      '',
    ],
    ['fleet-nobody-sweeps', `{ id: 'janitor', src: 'janitor', onError: crashed },`, ''],
    [
      'fleet-crash-of-the-updater-goes-unnoticed',
      `{ id: 'updater', src: 'updater', onError: crashed },`,
      `{ id: 'updater', src: 'updater', onError: {} },`,
    ],
    [
      'fleet-crash-of-the-mirror-goes-unnoticed',
      `src: 'mirror', onError: crashed`,
      `src: 'mirror', onError: {}`,
    ],
    [
      'fleet-news-before-there-are-cells',
      `invoke: [
        { id: 'cellPool', src: 'cellPool', onError: crashed },
        { id: 'mirror', src: 'mirror', onError: crashed },
      ],`,
      `invoke: [
        { id: 'mirror', src: 'mirror', onError: crashed },
        { id: 'cellPool', src: 'cellPool', onError: crashed },
      ],`,
    ],
    [
      'fleet-crash-of-the-guard-ends-all-work',
      `target: 'unguarded',
                      actions: ['countGuardCrash'`,
      `target: '#fleet.restarting',
                      actions: ['countGuardCrash'`,
    ],
    [
      'fleet-crash-of-the-guard-is-not-reported',
      `['countGuardCrash', { type: 'reportGuardCrash', params: errorOf }]`,
      `'countGuardCrash'`,
    ],
    ['fleet-what-a-dead-guard-knew-counts-on', `exit: 'forgetGuard',`, ''],
    ['fleet-guard-is-not-nudged', `on: { 'guard.nudged': { actions: 'toGuard' } },`, ''],
    ['fleet-guard-comes-back-never', `after: { rebuildGuard: { target: 'guarded' } },`, ''],
    ['fleet-guard-that-ended-is-missed-by-nobody', `onDone: { target: 'unguarded' },`, ''],
    ['fleet-guard-is-rebuilt-without-pause', `* 2 ** (context.guardCrashes - 1)`, ''],
    ['fleet-is-rebuilt-without-pause', `* 2 ** (context.crashes - 1)`, ''],
    ['fleet-session-is-retried-without-pause', `* 2 ** (Math.min(sessionLosses, 11) - 1)`, ''],
    [
      'fleet-pauses-grow-for-ever',
      `SESSION_RETRY_MAX_MS = 30_000`,
      `SESSION_RETRY_MAX_MS = 300_000`,
    ],
    ['fleet-crashes-are-never-forgotten', `after: { quiet: { actions: 'forgetCrashes' } },`, ''],
    [
      'fleet-crashes-of-the-guard-are-never-forgotten',
      `after: { quiet: { actions: 'forgetGuardCrashes' } },`,
      '',
    ],
    ['fleet-crashes-are-forgotten-late', `QUIET_MS = 60_000`, `QUIET_MS = 61_000`],
    ['fleet-losses-are-never-forgotten', `entry: 'forgetFailure',`, ''],
    [
      'fleet-sessions-are-longer-than-configured',
      `intervalMs: context.sessionIntervalMs`,
      `intervalMs: context.sessionIntervalMs * 2`,
    ],
  ],
);

const session = mistakesIn(
  'src/machines/session.ts',
  ['test/model/session.rules.test.ts'],
  [
    ['session-is-poked-once-per-interval', `context.intervalMs / 2`, `context.intervalMs`],
    ['session-poke-is-retried-after-its-end', `context.intervalMs / 5`, `context.intervalMs * 2`],
    ['session-poke-is-retried-only-once', `context.intervalMs / 5`, `context.intervalMs / 2`],
    [
      'session-expiry-is-one-more-failure',
      `failureOf(error).code === 'session-expired'`,
      `failureOf(error).code === ''`,
    ],
    [
      'session-ends-with-the-first-failure',
      `failureOf(error).code === 'session-expired'`,
      `failureOf(error).code !== ''`,
    ],
    [
      'session-outlives-its-deadline',
      `src: 'watchDeadline',
        onError: { target: 'ended',`,
      `src: 'watchDeadline',
        onError: {`,
    ],
    ['session-is-alive-unwatched', `src: 'watchDeadline',`, `src: 'poke',`],
    [
      'session-failed-poke-is-not-reported',
      `{ target: 'retrying', actions: { type: 'reportPokeFailure', params: errorOf } },`,
      `{ target: 'retrying' },`,
    ],
    ['session-failed-poke-is-the-last', `after: { pokeRetry: { target: 'poking' } },`, ''],
    [
      'session-pokes-on-in-haste',
      `onDone: { target: 'resting' },`,
      `onDone: { target: 'retrying' },`,
    ],
    ['session-is-poked-only-once', `after: { pokePeriod: { target: 'poking' } },`, ''],
    [
      'session-does-not-say-why-it-was-not-opened',
      `onError: { target: 'ended', actions: { type: 'keepFailure', params: errorOf } },
      },
    },
    alive`,
      `onError: { target: 'ended' },
      },
    },
    alive`,
    ],
    ['session-ends-for-no-reason', `({ failure: context.failure })`, `({ failure: null })`],
    ['session-is-alive-and-does-not-show-it', `tags: 'alive',`, ''],
  ],
);

const guard = mistakesIn(
  'src/machines/guard.ts',
  ['test/model/guard.rules.test.ts'],
  [
    [
      'guard-nudge-during-an-assessment-is-lost',
      `onError: blinded(errorOf),
          },
          on: { 'guard.nudged': { actions: 'wantRound' } },`,
      `onError: blinded(errorOf),
          },`,
    ],
    [
      'guard-nudge-during-requests-is-lost',
      `on: { 'guard.nudged': { actions: 'wantRound' } },
          after: {
            answer: {`,
      `after: {
            answer: {`,
    ],
    ['guard-looks-again-for-ever', `entry: 'beginRound',`, ''],
    [
      'guard-stands-where-it-stood-when-it-sees-nothing',
      `'assessment.failed': { target: '.blind' },`,
      '',
    ],
    [
      'guard-believes-an-old-assessment',
      `standings: [BLIND],
      reason: BLIND.reason,
      failure: failureOf(error),`,
      `failure: failureOf(error),`,
    ],
    ['guard-waits-for-an-assessment-for-ever', `after: { answer: blinded(unanswered) },`, ''],
    ['guard-waits-too-long', `ANSWER_MS = 30_000`, `ANSWER_MS = 31_000`],
    [
      'guard-frozen-is-taken-for-watching',
      `params: { state: 'frozen' } }, target: '.frozen' }`,
      `params: { state: 'frozen' } }, target: '.watching' }`,
    ],
    [
      'guard-suspicion-is-forgotten',
      `{ guard: { type: 'stands', params: { state: 'suspicious' } }, target: '.suspicious' },`,
      '',
    ],
    [
      'guard-grace-is-taken-for-watching',
      `params: { state: 'grace' } }, target: '.grace' }`,
      `params: { state: 'grace' } }, target: '.watching' }`,
    ],
    [
      'guard-sees-only-the-fleet',
      `state: gravest(findings.standings).state`,
      `state: findings.standings[0]!.state`,
    ],
    ['guard-nudge-at-rest-is-lost', `on: { 'guard.nudged': { target: 'assessing' } },`, ''],
    ['guard-looks-only-when-nudged', `after: { assessPeriod: { target: 'assessing' } },`, ''],
    [
      'guard-nobody-settles-requests',
      `target: 'settling',
              actions: [`,
      `target: 'resting',
              actions: [`,
    ],
    [
      'guard-findings-are-not-told',
      `{ type: 'reportFindings', params: ({ event }) => ({ findings: event.output }) },`,
      '',
    ],
    ['guard-begins-with-confidence', `initial: 'blind',`, `initial: 'watching',`],
    [
      'guard-failed-request-goes-unnoticed',
      `onError: { target: 'resting', actions: { type: 'reportUnsettled', params: errorOf } },`,
      `onError: { target: 'resting' },`,
    ],
    ['guard-looks-half-as-often', `context.assessMs, answer`, `context.assessMs * 2,\n    answer`],
  ],
);

export const mutations: readonly Mutation[] = [...fleet, ...session, ...guard];
