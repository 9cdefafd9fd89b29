import type { Mutation } from './mutation.ts';

/** The charts beside a machine's, and the parts around them that keep their promises. */

type Change = readonly [id: string, find: string, replace: string];

/** Mistakes in one file, noticed by the same tests. */
const mistakes = (
  file: string,
  tests: readonly string[],
  changes: readonly Change[],
): readonly Mutation[] =>
  changes.map(([id, find, replace]) => ({ id, file, find, replace, tests }));

const fleet = mistakes(
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
      `src: 'mirror',
          onError: crashed,`,
      `src: 'mirror',
          onError: {},`,
    ],
    [
      'fleet-news-before-there-are-cells',
      `invoke: [
        {
          id: 'cellPool',
          src: 'cellPool',
          onError: crashed,
        },
        {
          id: 'mirror',
          src: 'mirror',
          onError: crashed,
        },
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
    ['fleet-session-is-retried-without-pause', `* 2 ** Math.min(context.sessionLosses, 10)`, ''],
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

const session = mistakes(
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

const guard = mistakes(
  'src/machines/guard.ts',
  ['test/model/guard.rules.test.ts'],
  [
    [
      'guard-nudge-during-a-look-is-lost',
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
      `'look.failed': { target: '.blind' },`,
      '',
    ],
    [
      'guard-believes-an-old-look',
      `standings: [BLIND],
      reason: BLIND.reason,
      failure: failureOf(error),`,
      `failure: failureOf(error),`,
    ],
    ['guard-waits-for-a-look-for-ever', `after: { answer: blinded(unanswered) },`, ''],
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
      `state: gravest(look.standings).state`,
      `state: look.standings[0]!.state`,
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
      'guard-look-is-not-told',
      `{ type: 'reportLook', params: ({ event }) => ({ look: event.output }) },`,
      '',
    ],
    ['guard-begins-with-confidence', `initial: 'blind',`, `initial: 'watching',`],
    [
      'guard-failed-request-goes-unnoticed',
      `onError: {
              target: 'resting',
              actions: { type: 'reportUnsettled', params: errorOf },
            },`,
      `onError: { target: 'resting' },`,
    ],
    [
      'guard-looks-half-as-often',
      `context.assessMs,\n    answer`,
      `context.assessMs * 2,\n    answer`,
    ],
  ],
);

const provisioner = mistakes(
  'src/machines/provisioner.ts',
  ['test/model/provisioner.rules.test.ts'],
  [
    [
      'provisioner-next-round-without-the-lease',
      `after: { period: { target: 'awaitingLease' } },`,
      `after: { period: { target: 'settling' } },`,
    ],
    [
      'provisioner-after-a-pause-without-the-lease',
      `after: { pause: { target: 'awaitingLease' } },`,
      `after: { pause: { target: 'listing' } },`,
    ],
    [
      'provisioner-after-a-failure-without-the-lease',
      `after: { backoff: { target: 'awaitingLease' } },`,
      `after: { backoff: { target: 'settling' } },`,
    ],
    ['provisioner-begins-without-the-lease', `initial: 'awaitingLease',`, `initial: 'settling',`],
    [
      'provisioner-goes-on-without-the-lease',
      `onDone: { target: 'settling' },
        onError: failed(),`,
      `onDone: { target: 'settling' },
        onError: { target: 'settling' },`,
    ],
    [
      'provisioner-settles-nothing',
      `onDone: { target: 'settling' },`,
      `onDone: { target: 'listing' },`,
    ],
    [
      'provisioner-creates-in-spite-of-open-intents',
      `onDone: { target: 'listing' },
        onError: failed(),`,
      `onDone: { target: 'listing' },
        onError: { target: 'listing' },`,
    ],
    ['provisioner-ignores-a-pause', `listed.kind === 'paused',`, `false,`],
    [
      'provisioner-pauses-in-one-step',
      `Math.min(PAUSE_STEP_MS, Math.max(1, listed.pauseMs))`,
      `Math.max(1, listed.pauseMs)`,
    ],
    ['provisioner-pauses-for-less-than-nothing', `Math.max(1, listed.pauseMs)`, `listed.pauseMs`],
    [
      'provisioner-pause-is-not-reported',
      `{
                type: 'reportPause',
                params: ({ context, event }) => ({ ...round({ context }), listed: event.output }),
              },`,
      '',
    ],
    [
      'provisioner-creates-though-nothing-is-planned',
      `[{ guard: 'nothingPlanned', target: 'resting' }, { target: 'creating' }]`,
      `{ target: 'creating' }`,
    ],
    [
      'provisioner-creates-what-an-earlier-round-planned',
      `assign({ planned: (_, { planned }: { planned: number }) => planned })`,
      `assign({
      planned: ({ context }, { planned }: { planned: number }) => Math.max(context.planned, planned),
    })`,
    ],
    ['provisioner-records-nothing', `target: 'observing',`, `target: 'creating',`],
    ['provisioner-fails-without-pause', `* 2 ** (context.failures - 1)`, ''],
    [
      'provisioner-pauses-after-failures-grow-for-ever',
      `BACKOFF_MAX_MS = 300_000`,
      `BACKOFF_MAX_MS = 3_000_000`,
    ],
    ['provisioner-fails-in-haste', `Math.max(1_000, context.periodMs)`, `context.periodMs`],
    [
      'provisioner-failures-are-never-forgotten',
      `entry: ['forgetFailure', { type: 'reportRound', params: round }],`,
      `entry: { type: 'reportRound', params: round },`,
    ],
    [
      'provisioner-rounds-are-not-reported',
      `entry: ['forgetFailure', { type: 'reportRound', params: round }],`,
      `entry: 'forgetFailure',`,
    ],
    [
      'provisioner-failures-are-not-reported',
      `type: 'reportFailure',\n        params`,
      `type: 'keepFailure',\n        params`,
    ],
  ],
);

const cell = mistakes(
  'src/machines/cell.ts',
  ['test/model/cell.rules.test.ts'],
  [
    [
      'cell-each-news-is-a-new-machine',
      `if (self.getSnapshot().children[view.slot]) {`,
      `if (self.getSnapshot().children[view.slot + '?']) {`,
    ],
    [
      'cell-crashed-machine-keeps-its-place',
      `{ type: 'forget', params: ({ event }) => event },
        { type: 'reportCrash'`,
      `{ type: 'reportCrash'`,
    ],
    ['cell-crash-is-not-reported', `{ type: 'reportCrash', params: ({ event }) => event },`, ''],
    ['cell-end-is-not-reported', `{ type: 'reportEnd', params: ({ event }) => event },`, ''],
    [
      'cell-ended-machine-keeps-its-place',
      `{ type: 'forget', params: ({ event }) => event },
        { type: 'reportEnd'`,
      `{ type: 'reportEnd'`,
    ],
    [
      'cell-retired-machine-works-on',
      `actions: { type: 'forget', params: ({ event }) => ({ actorId: event.slot }) },`,
      '',
    ],
    ['cell-holds-too-many', `CELL_CAPACITY = 64`, `CELL_CAPACITY = 640`],
  ],
);

const slots = mistakes(
  'src/machines/slots.ts',
  ['test/machines/slots.test.ts'],
  [
    [
      'slots-promise-that-nobody-filled-hangs',
      `fromPromise<Output, Input>(async () => unprovided(name))`,
      `fromPromise<Output, Input>(() => new Promise(() => name))`,
    ],
    [
      'slots-service-that-nobody-filled-is-silent',
      `fromCallback<Received, Input>(() => unprovided(name))`,
      `fromCallback<Received, Input>(() => void name)`,
    ],
    [
      'slots-action-that-nobody-filled-is-skipped',
      `throw new Error(\`"\${name}" was not provided\`);`,
      `return undefined as never;`,
    ],
  ],
);

const leaf = mistakes(
  'src/machines/leaf.ts',
  ['test/machines/leaf.test.ts'],
  [
    ['leaf-shows-what-is-no-state', `NAMES.has(life) ?`, `life !== '' ?`],
    ['leaf-shows-a-step-as-ours', `leaf = name === 'ours' ||`, `leaf = name === 'theirs' ||`],
  ],
);

const keeper = mistakes(
  'src/actors/session-keeper.ts',
  ['test/actors/session-keeper.test.ts'],
  [
    [
      'keeper-session-past-its-deadline-is-current',
      `holder.session && !holder.session.signal.aborted ? holder.session : null`,
      `holder.session`,
    ],
    [
      'keeper-session-opened-too-late-stays',
      `await session.close();
          throw`,
      `throw`,
    ],
    ['keeper-session-left-behind-stays', `left?.close().catch(`, `Promise.resolve(left).catch(`],
    [
      'keeper-tells-nobody-of-a-session-that-stays',
      `log.warn({ err }, 'the session before could not be closed; it ends at its deadline');`,
      `void err;`,
    ],
    ['keeper-failed-close-is-the-last', `holder.session ??= session;`, ''],
    ['keeper-closed-session-is-current', `holder.session = null;\n      try`, `try`],
    [
      'keeper-waiting-is-in-vain',
      `for (const onAlive of [...holder.waiting]) onAlive(session);`,
      '',
    ],
    [
      'keeper-watches-a-session-that-is-over-for-ever',
      `if (session.signal.aborted) return onExpired();`,
      '',
    ],
    [
      'keeper-watches-no-deadline',
      `session.signal.addEventListener('abort', onExpired, { once: true, signal });`,
      `void signal;`,
    ],
    [
      'keeper-does-not-poke',
      `fromPromise<void, void>(() => held().poke())`,
      `fromPromise<void, void>(async () => void held())`,
    ],
  ],
);

const leases = mistakes(
  'src/actors/leases.ts',
  ['test/actors/leases.test.ts'],
  [
    ['leases-job-of-another-session-is-ours', `keeper.current() === found.session ?`, `true ?`],
    ['leases-job-that-was-lost-is-ours', `taken.delete(job);\n        const waits`, `const waits`],
    [
      'leases-taken-without-asking',
      `if (lease) {\n          taken`,
      `if (lease || taken.size === 0) {\n          taken`,
    ],
    ['leases-are-asked-for-too-rarely', `retryMs * (0.8`, `10 * retryMs * (0.8`],
    ['leases-waiting-outlives-the-session', `AbortSignal.any([signal, session.signal])`, `signal`],
    [
      'leases-waiting-outlives-who-waits',
      `AbortSignal.any([signal, session.signal])`,
      `session.signal`,
    ],
    ['leases-are-not-given-back', `await lease.release().catch(`, `await Promise.resolve().catch(`],
    ['leases-are-ours-after-they-were-given-back', `taken.clear();`, ''],
    ['leases-of-a-dead-session-are-given-back', `if (session.signal.aborted) continue;`, ''],
    [
      'leases-one-that-cannot-be-given-back-keeps-the-rest',
      `log.warn(fields, 'a job could not be given back; it is free when the session ends');`,
      `throw error;`,
    ],
  ],
);

const chunk = mistakes(
  'src/actors/provisioning/chunk.ts',
  ['test/actors/provisioning', 'test/actors/provider-holds.test.ts'],
  [
    ['chunk-creations-are-not-spaced', `if (waitMs > 0) await sleep(clock, waitMs, ends);`, ''],
    [
      'chunk-more-at-once-than-allowed',
      `while (creations.count(provider) >= limits.parallelism) {`,
      `while (creations.count(provider) > limits.parallelism) {`,
    ],
    ['chunk-holds-do-not-hold', `if (refusal !== null) {`, `if (refusal === '') {`],
    ['chunk-waits-for-a-place-for-ever', `if (leftMs <= 0) return false;`, ''],
    ['chunk-goes-on-after-a-lost-lease', `if (failed.signal.aborted) break;`, ''],
  ],
);

export const mutations: readonly Mutation[] = [
  ...fleet,
  ...session,
  ...guard,
  ...provisioner,
  ...cell,
  ...slots,
  ...leaf,
  ...keeper,
  ...leases,
  ...chunk,
];
