import { mutationsOf } from './mutation.ts';

/** Recovery: which rung is tried, and what counts as evidence. */
export const mutations = mutationsOf`
src/adapters/bmdb/pg/eligibility.ts test/adapters/bmdb/pg/newer-rung.test.ts
  a-rung-of-newer-programs-may-be-claimed: 'a newer program recovers it': [-unknownRungSql('l')-]{+null+},
  only-where-the-ladder-stands-may-be-unknown: [-} OR \${unknown(\`\${ladder}.asked_rung\`, STANDING_RUNGS)-]}
src/adapters/bmdb/pg/heartbeats/episodes.ts test/adapters/bmdb/pg/newer-rung.test.ts
  a-rung-of-newer-programs-is-forgotten-at-the-end:
    end('machine_recovery', [-\`\${unknownRungSql('x')} IS NOT TRUE\`-]{+undefined+}, HEALED)
src/domain/requests.ts test/domain/request-outcome.test.ts
  a-release-by-who-cannot-read-the-ladder:
    \_\_[-(verb === 'release' || verb === 'clear-backoff')-]{+verb === 'clear-backoff'+} &&
  an-order-is-refused-by-who-cannot-read-the-ladder: [-  bar === 'a newer program recovers it' ||\n-]
src/domain/recovery/rungs.ts test/domain/recovery/controllers.test.ts
  one-controller-is-the-network: [-hanging > 1 && -](
  six-controllers-are-not-the-network: hanging > {+2 * +}HANGING_MAX ||
  machines-are-counted-for-controllers: hangs.set([-controller.id-]{+each.slot+},
  controllers-of-all-providers-are-counted: [-each.provider === -]provider ?
src/domain/recovery/ladder.ts test/domain/recovery/chronic.test.ts
  a-chronic-machine-is-revived-for-ever: if (count < episodes) return null[-;-]{+ ?? null;\n  return null;+}
  a-chronic-machine-is-left-in-the-middle: if (episodes === 0[- || row.slot.isRecovering-]) return null;
  an-episode-begins-by-erasing: STANDING_RUNGS.filter((rung) => [-!RUNG_FACTS[rung].erases-]{+rung+});
src/adapters/bmdb/pg/heartbeats/episodes.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t C4
  heartbeats-end-chronic: kind = 'needsHuman'[-\n       AND cause IS NULL-]
src/domain/recovery/ladder.ts test/domain/recovery/controllers.test.ts
  a-controller-is-in-the-way-of-an-agent: [-  RUNG_FACTS[rung].means !== null &&\n-]
  a-controller-is-restarted-whatever-the-configuration-says:
    \_\_[-impossibility('resettingBmc', now) === null-]{+true+};
src/actors/tasks/recovery/reset-controller.ts test/actors/tasks/recovery/reset-controller.test.ts
  a-restart-that-may-have-been-done-is-taken-back: [-&& facetsOf(error).outcome === 'not-done'-]
  a-silent-controller-answers: ?.hangs [-=== false-]{+!== true+};
  a-controller-is-restarted-without-a-note:
    [-    await work.note({ kind: 'controllerResetAsked', controller });\n-]
src/adapters/bmdb/pg/recovery/controller-resets.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t a BMC reset
  a-controller-is-restarted-again-and-again:
    [-         WHERE r.asked_at <= now() - \${everyMs} * interval '1 millisecond'\n-]
src/adapters/bmdb/pg/tasks/notes.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t a BMC reset
  a-restart-for-another-machine-is-taken-back: [- AND r.machine_id = h.machine_id-]\n    )\`
  a-controller-is-restarted-whatever-the-machine-is:
    [-  await requireMay(q, held, { notAsked, order: null, interrupts: true });\n-]
src/actors/mirror/state.ts test/actors/mirror/changes.test.ts
  an-unknown-rung-is-told-again-and-again: [-    toldRungs.add(rung);\n-]
src/machines/recovery.ts test/model/tasks.table.test.ts
  task-rebooting-restarts-the-agent: onRung('rebooting', '[-rebooting-]{+restartingAgent+}'),
  task-reboot-rung-is-unknown: [-        onRung('rebooting', 'rebooting'),\n-]
  task-power-cycle-rung-reinstalls: [-        onRung('powerCycling', 'powerCycling'),\n-]
  task-reinstall-rung-power-cycles: \_\_\_\_\_\_\_\_onTo('[-reinstalling-]{+powerCycling+}'),\n
  task-any-rung-is-the-first: => is [-=== rung-]{+!== undefined && rung !== undefined+} }
  task-answer-is-not-asked: [-          onRung('restartingAgent', 'stopping'),\n-]
  task-silence-power-cycles-at-once:
    [-          onRung('rebooting', '#recovery.rebooting'),\n-]          onRung('resettingBmc', '#recovery.resettingBmc'),
  task-silence-reboots-instead:
    #recovery.resettingBmc'),\n          onTo('#recovery.[-powerCycling-]{+rebooting+}'),
  task-hanging-controller-is-not-restarted: [-          onRung('resettingBmc', '#recovery.resettingBmc'),\n-]
  task-restarted-controller-is-recovery:
    \_\_\_\_\_\_\_\_\_\_[-[...beyondReset]-]{+onTo('#recovery.recording')+},\n
  task-accepted-restart-is-an-answer: [[-onRung('resettingBmc', 'awaitingController'), -]...beyondReset],
  task-stopping-is-not-recorded:
    stops the old agent.',\n          onTo('#[-recovery.recording-]{+rereading+}'),
  task-stopping-that-failed-counts:
    stops the old agent.',\n          onTo('#recovery.recording'),{+\n          onTo('#recovery.recording'),+}\n
  task-accepted-reboot-is-evidence:
    'askReboot',\n          'Notes the request in the database, then sends it to the provider once.',\n          onTo('[-awaitingBoot-]{+#recovery.recording+}'),
  task-reboot-that-failed-is-awaited:
    'askReboot',\n          'Notes the request in the database, then sends it to the provider once.',\n          onTo('awaitingBoot'),{+\n          onTo('awaitingBoot'),+}\n
  task-accepted-off-is-off: onTo('[-awaitingOff-]{+switchingOn+}'),
  task-power-stays-off: onTo('[-switchingOn-]{+awaitingBoot+}'),
  task-failed-switch-off-leaves-power-off: onTo('awaitingOff'),\n[-          elseRestorePower,\n-]
  task-failed-await-off-leaves-power-off: onTo('switchingOn'),\n[-          elseRestorePower,\n-]
  task-failed-switch-on-leaves-power-off: onTo('awaitingBoot'),\n[-          elseRestorePower,\n-]
  task-failed-power-cycle-is-not-told:
    \_\_target: 'restoringPower',[-\n  actions: { type: 'keepFailure', params: errorOf },-]\n
  task-power-on-is-evidence: onTo('[-awaitingBoot-]{+#recovery.recording+}'),\n          elseRestorePower,
  task-restored-power-is-success:
    \_\_\_\_\_\_\_\_\_\_{ target: '#[-givingUp-]{+recovery.recording+}' },\n          { target: '#givingUp' },
  task-failed-restoring-is-not-given-up:
    \_\_\_\_\_\_\_\_\_\_{ target: '#givingUp' },\n          { target: '#[-givingUp-]{+rereading+}' },
  task-failed-restoring-hides-the-cause:
    \_\_\_\_\_\_\_\_\_\_{ target: '#givingUp' },\n[-          { target: '#givingUp' },\n-]
  task-restoring-switches-off: \_\_\_\_\_\_\_\_\_\_'[-restorePower-]{+switchOff+}',
  task-accepted-reinstall-is-evidence: onTo('[-awaitingSystem-]{+#recovery.recording+}'),
  task-reinstall-awaits-a-boot: \_\_\_\_\_\_\_\_\_\_'[-awaitSystem-]{+awaitBoot+}',
  task-reinstall-asks-for-a-reboot: \_\_\_\_\_\_\_\_\_\_'[-askReinstall-]{+askReboot+}',
  task-recovery-unrecorded-is-done: thenDone,{+\n      thenDone,+}\n    ),
  task-recovery-claim-is-given-up: [-      elseRefused,\n-]    ),
`;
