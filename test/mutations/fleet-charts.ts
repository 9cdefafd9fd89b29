import { mutationsOf } from './mutation.ts';

/** The charts of the supervisor: fleet, session and guard. */
export const mutations = mutationsOf`
src/machines/fleet.ts test/model/fleet.rules.test.ts
  fleet-stop-while-fenced-is-ignored:
    always: { guard: 'stopping', target: '#fleet.closing' [-},\n          on: { 'fleet.stop': { target: '#fleet.closing' } -]},
  fleet-session-lost-while-stopping-is-followed-by-another:
    [-always: { guard: 'stopping', target: '#fleet.closing' },-]
  fleet-failed-drain-never-ends:
    onDone: { target: '#fleet.closing' },\n                onError: {[- target: '#fleet.closing' -]},
  fleet-drain-never-ends: [-onDone: { target: '#fleet.closing' },\n                -]onError
  fleet-stop-does-not-wait-for-work: on: { 'fleet.stop': { target: '[-draining-]{+#fleet.closing+}' } },
  fleet-stop-before-a-session-is-ignored:
    [-on: { 'fleet.stop': { target: '#fleet.closing' } },\n            -]},\n            working
  fleet-stop-while-restarting-is-ignored: [-on: { 'fleet.stop': { target: 'closing' } },-]
  fleet-crash-undoes-a-stop: [-always: { guard: 'stopping', target: 'closing' },-]
  fleet-stop-is-not-noted: [-entry: 'noteStop',-]
  fleet-failed-close-never-ends: onDone: { target: 'stopped' },\n        onError: {[- target: 'stopped' -]},
  fleet-works-on-without-a-session: onDone: {[-\n              target: 'fenced',-]
  fleet-loss-is-not-reported:
    [-{\n                  type: 'reportSessionLoss',\n                  params: ({ event }) => ({ failure: event.output.failure }),\n                },-]
  fleet-failure-of-the-session-is-not-reported:
    [-{\n                  type: 'reportSessionLoss',\n                  params: ({ event }) => ({ failure: failureOf(event.error) }),\n                },-]
  fleet-each-poke-begins-the-work-anew: stateIn({ active: [-{ attended: 'opening' }-]{+'attended'+} }),
  fleet-works-before-the-session-is-alive:
    (snapshot as SnapshotFrom<typeof session>)[-.hasTag('alive')-]{+ !== null+}
  fleet-news-need-a-session:
    'slots.changed': { {+guard: stateIn({ active: 'attended' }), +}actions: 'toCells' },
  fleet-news-are-lost: [-'slots.changed': { actions: 'toCells' },-]
  fleet-nobody-provisions: [-{ id: 'provisioners', src: 'provisioners', onError: crashed },-]
  fleet-nobody-sweeps: [-{ id: 'janitor', src: 'janitor', onError: crashed },-]
  fleet-crash-of-the-updater-goes-unnoticed: { id: 'updater', src: 'updater', onError: [-crashed-]{+{}+} },
  fleet-crash-of-the-mirror-goes-unnoticed: src: 'mirror', onError: [-crashed-]{+{}+}
  fleet-news-before-there-are-cells:
    invoke: [\n        { id: '[-cellPool-]{+mirror+}', src: '[-cellPool-]{+mirror+}', onError: crashed },\n        { id: '[-mirror-]{+cellPool+}', src: '[-mirror-]{+cellPool+}', onError: crashed },\n      ],
  fleet-crash-of-the-guard-ends-all-work:
    target: '[-unguarded-]{+#fleet.restarting+}',\n                      actions: ['countGuardCrash'
  fleet-crash-of-the-guard-is-not-reported:
    [-[-]'countGuardCrash'[-, { type: 'reportGuardCrash', params: errorOf }]-]
  fleet-what-a-dead-guard-knew-counts-on: [-exit: 'forgetGuard',-]
  fleet-guard-is-not-nudged: [-on: { 'guard.nudged': { actions: 'toGuard' } },-]
  fleet-guard-comes-back-never: [-after: { rebuildGuard: { target: 'guarded' } },-]
  fleet-guard-that-ended-is-missed-by-nobody: [-onDone: { target: 'unguarded' },-]
  fleet-guard-is-rebuilt-without-pause: [-* 2 ** (context.guardCrashes - 1)-]
  fleet-is-rebuilt-without-pause: [-* 2 ** (context.crashes - 1)-]
  fleet-session-is-retried-without-pause: [-* 2 ** (Math.min(sessionLosses, 11) - 1)-]
  fleet-pauses-grow-for-ever: SESSION_RETRY_MAX_MS = [-30_000-]{+300_000+}
  fleet-crashes-are-never-forgotten: [-after: { quiet: { actions: 'forgetCrashes' } },-]
  fleet-crashes-of-the-guard-are-never-forgotten: [-after: { quiet: { actions: 'forgetGuardCrashes' } },-]
  fleet-crashes-are-forgotten-late: QUIET_MS = [-60_000-]{+61_000+}
  fleet-losses-are-never-forgotten: [-entry: 'forgetFailure',-]
  fleet-sessions-are-longer-than-configured: intervalMs: context.sessionIntervalMs{+ * 2+}
src/machines/session.ts test/model/session.rules.test.ts
  session-is-poked-once-per-interval: context.intervalMs[- / 2-]
  session-poke-is-retried-after-its-end: context.intervalMs [-/ 5-]{+* 2+}
  session-poke-is-retried-only-once: context.intervalMs / [-5-]{+2+}
  session-expiry-is-one-more-failure: failureOf(error).code === '[-session-expired-]'
  session-ends-with-the-first-failure: failureOf(error).code [-=== 'session-expired-]{+!== '+}'
  session-outlives-its-deadline: src: 'watchDeadline',\n        onError: {[- target: 'ended',-]
  session-is-alive-unwatched: src: '[-watchDeadline-]{+poke+}',
  session-failed-poke-is-not-reported:
    { target: 'retrying'[-, actions: { type: 'reportPokeFailure', params: errorOf }-] },
  session-failed-poke-is-the-last: [-after: { pokeRetry: { target: 'poking' } },-]
  session-pokes-on-in-haste: onDone: { target: '[-resting-]{+retrying+}' },
  session-is-poked-only-once: [-after: { pokePeriod: { target: 'poking' } },-]
  session-does-not-say-why-it-was-not-opened:
    onError: { target: 'ended'[-, actions: { type: 'keepFailure', params: errorOf }-] },\n      },\n    },\n    alive
  session-ends-for-no-reason: ({ failure: [-context.failure-]{+null+} })
  session-is-alive-and-does-not-show-it: [-tags: 'alive',-]
src/machines/guard.ts test/model/guard.rules.test.ts
  guard-nudge-during-an-assessment-is-lost:
    onError: blinded(errorOf),\n          [-},\n          on: { 'guard.nudged': { actions: 'wantRound' } -]},
  guard-nudge-during-requests-is-lost:
    [-on: { 'guard.nudged': { actions: 'wantRound' } },\n          -]after: {\n            answer: {
  guard-looks-again-for-ever: [-entry: 'beginRound',-]
  guard-stands-where-it-stood-when-it-sees-nothing: [-'assessment.failed': { target: '.blind' },-]
  guard-believes-an-old-assessment:
    [-standings: [BLIND],\n      reason: BLIND.reason,\n      -]failure: failureOf(error),
  guard-waits-for-an-assessment-for-ever: [-after: { answer: blinded(unanswered) },-]
  guard-waits-too-long: ANSWER_MS = [-30_000-]{+31_000+}
  guard-frozen-is-taken-for-watching: params: { state: 'frozen' } }, target: '.[-frozen-]{+watching+}' }
  guard-suspicion-is-forgotten:
    [-{ guard: { type: 'stands', params: { state: 'suspicious' } }, target: '.suspicious' },-]
  guard-grace-is-taken-for-watching: params: { state: 'grace' } }, target: '.[-grace-]{+watching+}' }
  guard-sees-only-the-fleet: state: [-gravest(findings.standings)-]{+findings.standings[0]!+}.state
  guard-nudge-at-rest-is-lost: [-on: { 'guard.nudged': { target: 'assessing' } },-]
  guard-looks-only-when-nudged: [-after: { assessPeriod: { target: 'assessing' } },-]
  guard-nobody-settles-requests: target: '[-settling-]{+resting+}',\n              actions: [
  guard-findings-are-not-told:
    [-{ type: 'reportFindings', params: ({ event }) => ({ findings: event.output }) },-]
  guard-begins-with-confidence: initial: '[-blind-]{+watching+}',
  guard-failed-request-goes-unnoticed:
    onError: { target: 'resting'[-, actions: { type: 'reportUnsettled', params: errorOf }-] },
  guard-looks-half-as-often: context.assessMs[-, -]{+ * 2,\n    +}answer
`;
