import { mutationsOf } from './mutation.ts';

/** How a daemon is put together, what it says of its health, and how it is closed. */
export const mutations = mutationsOf`
src/daemon/closer.ts test/daemon/closer.test.ts
  closer-closes-first-what-was-opened-first: open.[-push-]{+unshift+}({
  closer-closes-all-at-once: [-await-]{+void+} last.close();
  closer-failure-leaves-the-rest-open:
    [-log.warn({ part: last.name, cause: explain(error) }, 'a part could not be closed')-]{+throw error+};
  closer-does-not-tell-what-failed:
    [-log.warn({ part: last.name, cause:-]{+void+} explain(error)[- }, 'a part could not be closed')-];
  closer-closes-only-the-last:
    for ([-let last = open.pop(); last; last = open.pop(-]{+const last of open.splice(-1+})) {
src/daemon/health.ts test/daemon/health.test.ts
  health-never-scanned-is-ready: age [-!== null &&-]{+=== null ||+} age <
  health-stale-rows-are-fresh: {+100 * +}PERIODS_MAX * scanMs)
  health-has-no-patience: [-Math.max(PATIENCE_MIN_MS, PERIODS_MAX * scanMs)-]{+PERIODS_MAX * scanMs+}
  health-rows-are-fresh-a-moment-too-long: && age <{+=+} Math
  health-silent-database-is-well: ok: fresh[- && silence === null-],
  health-stale-rows-are-well: ok: [-fresh && -]silence === null,
  health-needs-no-session: ok: [-session !== null-]{+true+},
  health-asks-the-database-never-again: ANSWER_MS = [-1_000-]{+1_000_000+}
  health-asks-the-database-each-time: ANSWER_MS = [-1_000-]{+0+}
  health-asks-twice-at-once: [-validUntilMs = Number.POSITIVE_INFINITY;-]
  health-hides-providers: [-...Object.fromEntries(unlisted().map(checkOf)),-]
  health-of-a-provider-ends-the-daemon: ok: false[-,\n    degraded: true-]
src/daemon/daemon.ts test/daemon/daemon.test.ts
  daemon-failed-start-leaves-all-open: [-await closer.close();\n    -]throw error;
  daemon-stop-closes-nothing: () => [-closer.close()-]{+undefined+},
  daemon-stops-twice: stop: () => (stopping [-??-]= stop()),
  daemon-stop-does-not-wait: [-await stopped;\n    -]log.info({}, 'stopped');
  daemon-console-stays-open: [-closer.add('console', () => web.close());-]
  daemon-reload-reads-no-provider:
    [-await withTimeLimit(clock, { ms: RELOAD_MS }, (signal) => provider.prepare({ signal })-]{+throw new Error('not now'+});
  daemon-erases-disks-in-silence: [-warnOfErasing(parts);\n  -]if
src/daemon/daemon.ts test/daemon/roles.test.ts
  who-does-not-count-counts: [-if (parts.roles.has('stats')) -]startCounting
src/daemon/real-ports.ts test/daemon/daemon.test.ts
  daemon-database-stays-connected: [-closer.add('bmdb', () => bmdb.close());-]
  daemon-sessions-do-not-tell-where: [-hostname() || -]'UNKNOWN'
src/daemon/agent-thread.ts test/daemon/daemon.test.ts
  daemon-thread-is-a-program:
    if (!parentPort) [-throw new Error('runs as a thread of the daemon only'-]{+process.exit(0+});
src/daemon/parts.ts test/daemon/daemon.test.ts
  daemon-agent-server-stays-open:
    [-means.closer.add('agent server', () => server.close(tuning.agentServerGraceMs));-]
  daemon-sessions-do-not-tell-of-whom: component: [-componentOf(roles)-]{+''+},
  daemon-does-not-prepare-its-providers: [-await prepareProviders(providers, means, roles.has('loops'));-]
  daemon-does-not-say-what-token-is-refused:
    throw new Denied([-\`provider \${name} refused our token; \${mend}\`, { cause: error }-]{+mend+});
src/daemon/check.ts test/daemon/check.test.ts
  check-any-database-directory-is-good: return complaint [-=-]{+!+}== null ? [] : [{ path, message
  check-forgets-the-database: [-    checkDatabase(config),\n-]
  check-forgets-the-programs: [-    checkPrograms(config),\n-]
  check-forgets-the-ssh-keys: [-    checkSshKeys(config),\n-]
  check-forgets-the-agent-server: [-    checkAgentServer(config, means),\n-]
  check-program-of-any-processor-is-good: [-if (machine === ELF_MACHINES[processor]) -]return [];
  check-keys-may-be-read-by-all: complaintAboutPrivacy(path, found, [-0o027-]{+0o022+})
  check-a-group-that-may-read-is-a-mistake: message[-, isWarning: true-] }];\n}\n\nfunction checkDev
  check-refused-provider-is-good:
    return [-refusal === null ? -]findings[- : [...findings, { path, message: refusal }]-];
  check-names-the-wrong-key: path [-=-]{+!+}== ssh.keyPath
  check-wrong-endpoint-is-good:
    host: [-agent.endpoint === undefined ? -]listen.host[- : hostOf(agent.endpoint)-],
  check-strangers-may-keep-certificates: complaintAboutKeepingIn([-dir) ?? complaintAboutStrangers(-]dir)
src/daemon/service.ts test/daemon/service.test.ts
  service-is-ready-before-a-session-was-tried: [-      await firstTry(daemon);\n-]
  service-a-crashed-supervisor-is-alive: [-if (daemon.takesTurns()) -]manager
  service-a-sign-comes-too-late: watchdogMs[- / SIGNS-]
  service-a-stop-goes-on-for-ever: [-leftMs -= STEP.everyMs;-]
  service-a-reload-does-not-end: [-if (!isStopping) manager.ready-]{+void +}(
src/domain/daemons.ts test/daemon/roles.test.ts
  who-only-shows-is-ranked: [-roles.has('loops') ? 'shepherd' : 'srv-]{+'shepherd+}'
src/actors/provide.ts test/daemon/roles.test.ts
  who-only-shows-works: [-roles.has('loops')-]{+true+};
  who-only-hears-reads-the-fleet: [-needsMirror(roles) ? mirror.service : nobody()-]{+mirror.service+}
  without-a-janitor-orphaned-work-stays: roles.has('janitor')[- || hasLoops-]
  who-does-not-balance-balances: [-roles.has('balancer')-]{+true+}\n
src/actors/mirror/state.ts test/actors/mirror/slices.test.ts
  assembled-facts-forget-what-was-heard-meanwhile: [-after.set(slot, withAcceptanceHold({ ...found, row: rows.get(id) }));-]
  a-read-that-was-broken-off-is-taken-for-whole: const isDoubtful = [-isHalfTaken-]{+false+};
  a-long-scan-sets-the-clock-back:
    const isStill = [-readAt !== null && latest <= offset && offset <= earliest-]{+false+};
src/actors/provisioning/record.ts test/actors/provisioning/resolve-intents.test.ts
  a-new-job-goes-by-what-was-read-before: [-isJobNew ? null : -]deps.mirror.intents()
  a-job-that-is-held-reads-all-rows-each-round: [-isJobNew ? null : deps.mirror.intents()-]{+null+}
src/actors/leases.ts test/daemon/quiet.test.ts
  a-job-that-is-held-is-asked-for-again: holderOf(job) === [-session.sessionId-]{+null+}
`;
