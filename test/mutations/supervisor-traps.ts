import { mutationsOf } from './mutation.ts';

/** The traps of statecharts, in those of the supervisor. */
export const mutations = mutationsOf`
src/machines/fleet.ts test/model/fleet.rules.test.ts
  trap-crash-of-a-service-is-not-counted:
    actions: [[-'countCrash', -]{ type: 'reportServiceCrash', params: errorOf }],
  trap-losses-of-sessions-are-never-forgotten: assign({ failure: null[-, sessionLosses: 0-] })
  trap-old-failure-is-shown-for-ever: assign({ [-failure: null, -]sessionLosses: 0 })
  trap-crashes-are-forgotten-before-work-begins:
    description: 'The daemon opens its session, or its session is alive.',{+\n          entry: 'forgetCrashes',+}
  trap-lost-session-counts-twice: sessionLosses: ({ context }) => context.sessionLosses + [-1-]{+2+},
  trap-nudge-reaches-for-a-guard-that-is-gone:
    on: { 'fleet.stop': { target: 'draining' {+}, 'guard.nudged': { actions: 'toGuard' +}} },
  trap-quiet-minute-of-the-guard-forgets-crashes-of-services (the guard lasts no longer than the work of which it is a part):
    after: { quiet: { actions: {+[+}'forgetGuardCrashes'[- -]{+, 'forgetCrashes'] +}} },
  trap-guard-is-rebuilt-as-often-as-services-crash: 2 ** (context.guardCrashes {++ context.crashes +}- 1)
  trap-work-that-begins-forgets-crashes:
    forgetFailure: assign({ failure: null, sessionLosses: {+0, crashes: +}0 }),
  trap-news-of-a-stopped-mirror:
    always: { guard: 'stopping', target: 'closing' },\n      on: {{+ 'slots.changed': { target: 'active' },+}
  trap-session-that-ends-twice:
    target: '[-fenced'-]{+attended',\n              reenter: true+},\n              actions: [\n                {\n                  type: 'reportSessionLoss',\n                  params: ({ event }) => ({ failure: event.output.failure }),
src/machines/session.ts test/model/session.rules.test.ts
  trap-failed-opening-is-unheard:
    [-onError: { target: 'ended', actions: { type: 'keepFailure', params: errorOf } },\n      -]},\n    },\n    alive
  trap-each-poke-watches-a-deadline-anew: onDone: { target: '[-resting'-]{+#session.alive', reenter: true+} },
  trap-session-forgets-its-id: ({ id: event.output {+&& '' as SessionId +}}) },
  trap-interval-in-seconds: context.intervalMs / [-2-]{+2_000+},
  trap-failed-poke-is-kept-as-the-end:
    { target: 'retrying', actions: {+[+}{ type: 'reportPokeFailure', params: errorOf }[- }-]{+, { type: 'keepFailure', params: errorOf }] }+},
  trap-expiry-counts-only-where-it-is-polled:
    guard: { type: 'isExpiry', params: errorOf },\n                target: '#session.ended',[-\n                actions: { type: 'keepFailure', params: errorOf },-]
src/machines/guard.ts test/model/guard.rules.test.ts
  trap-failure-outlasts-an-assessment: reason: gravest(findings.standings).reason,[-\n      failure: null,-]
  trap-rows-of-the-first-assessment-are-kept: [-      rows: findings.rows,\n-]
  trap-counts-of-the-first-assessment-are-kept: [-      counts: findings.counts,\n-]
  trap-failed-assessment-is-unheard: [-            onError: blinded(errorOf),\n-]
  trap-second-round-is-never-looked-at:
    [-[{ guard: 'anotherRound', -]{+{ +}target: '[-assessing' }, { target: '-]resting' }[-]-]
  trap-resolving-waits-for-ever:
    [-after: {\n            answer: { target: 'resting', actions: { type: 'reportUnsettled', params: unanswered } },\n          },-]
  trap-nudge-restarts-an-assessment:
    onError: blinded(errorOf),\n          },\n          on: { 'guard.nudged': { [-actions: 'wantRound'-]{+target: 'assessing', reenter: true+} } },
  trap-reason-outlasts-a-failed-assessment:
    standings: [BLIND],\n      [-reason: BLIND.reason,\n      -]failure: failureOf(error),
src/machines/provisioner.ts test/model/provisioner.rules.test.ts
  trap-old-failure-of-the-provisioner-is-kept: forgetFailure: assign({ [-failure: null, -]failures: 0 })
  trap-failure-of-the-provisioner-is-not-kept: \_\_\_\_\_\_failure: [-failureOf(error)-]{+null+},\n
  trap-pause-counts-as-a-success:
    'The provider asked for a pause, or refuses our credentials. No request is sent before the pause ends.',{+\n      entry: 'forgetFailure',+}
  trap-creations-that-failed-are-no-failure:
    onDone, onError{+: src === 'beginCreations' ? { target: 'resting' } : onError+} } };
  trap-a-failed-plan-is-recorded:
    onDone, onError{+: src === 'planRound' ? { target: 'observing' } : onError+} } };
  trap-listing-failure-is-a-pause:
    onDone, onError{+: src === 'listBoth' ? { target: 'paused' } : onError+} } };
src/machines/cell.ts test/model/cell.rules.test.ts
  trap-crash-takes-the-neighbours-along:
    { type: 'reportCrash', params: ({ event }) => event },{+\n        ({ self }) => Object.values(self.getSnapshot().children).forEach((child) => child?.stop()),+}
  trap-first-news-are-told-twice:
    enqueue.spawnChild('lifecycle', { id: view.slot, input: { view } {+});\n        enqueue.sendTo(view.slot, { type: 'machine.observed', view +}});
  trap-retired-machine-is-reported-as-ended:
    actions: {+[\n        +}{ type: 'forget', params: ({ event }) => ({ actorId: event.slot }) },{+\n        { type: 'reportEnd', params: ({ event }) => ({ actorId: event.slot }) },\n      ],+}
`;
