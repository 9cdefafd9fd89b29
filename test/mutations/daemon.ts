import { mistakesIn, type Mutation } from './mutation.ts';

/** How a daemon is put together, what it says of its health, and how it is closed. */

const closer = mistakesIn(
  'src/daemon/closer.ts',
  ['test/daemon/closer.test.ts'],
  [
    ['closer-closes-first-what-was-opened-first', `open.push({`, `open.unshift({`],
    ['closer-closes-all-at-once', `await last.close();`, `void last.close();`],
    [
      'closer-failure-leaves-the-rest-open',
      `log.warn({ part: last.name, cause: explain(error) }, 'a part could not be closed');`,
      `throw error;`,
    ],
    [
      'closer-does-not-tell-what-failed',
      `log.warn({ part: last.name, cause: explain(error) }, 'a part could not be closed');`,
      `void explain(error);`,
    ],
    [
      'closer-closes-only-the-last',
      `for (let last = open.pop(); last; last = open.pop()) {`,
      `for (const last of open.splice(-1)) {`,
    ],
  ],
);

const health = mistakesIn(
  'src/daemon/health.ts',
  ['test/daemon/health.test.ts'],
  [
    ['health-never-scanned-is-ready', `age !== null && age <`, `age === null || age <`],
    ['health-stale-rows-are-fresh', `PERIODS_MAX * scanMs)`, `100 * PERIODS_MAX * scanMs)`],
    [
      'health-has-no-patience',
      `Math.max(PATIENCE_MIN_MS, PERIODS_MAX * scanMs)`,
      `PERIODS_MAX * scanMs`,
    ],
    ['health-rows-are-fresh-a-moment-too-long', `&& age < Math`, `&& age <= Math`],
    ['health-silent-database-is-well', `ok: fresh && silence === null,`, `ok: fresh,`],
    ['health-stale-rows-are-well', `ok: fresh && silence === null,`, `ok: silence === null,`],
    ['health-needs-no-session', `ok: session !== null,`, `ok: true,`],
    ['health-asks-the-database-never-again', `ANSWER_MS = 1_000`, `ANSWER_MS = 1_000_000`],
    ['health-asks-the-database-each-time', `ANSWER_MS = 1_000`, `ANSWER_MS = 0`],
    ['health-asks-twice-at-once', `validUntilMs = Number.POSITIVE_INFINITY;`, ''],
    ['health-hides-providers', `...Object.fromEntries(unlisted().map(checkOf)),`, ''],
    [
      'health-of-a-provider-ends-the-daemon',
      `ok: false,
    degraded: true`,
      `ok: false`,
    ],
  ],
);

const WHOLE = ['test/daemon/daemon.test.ts'];

const daemon = mistakesIn('src/daemon/daemon.ts', WHOLE, [
  [
    'daemon-failed-start-leaves-all-open',
    `await closer.close();
    throw error;`,
    `throw error;`,
  ],
  ['daemon-stop-closes-nothing', `() => closer.close(),`, `() => undefined,`],
  ['daemon-stops-twice', `stop: () => (stopping ??= stop()),`, `stop: () => (stopping = stop()),`],
  [
    'daemon-stop-does-not-wait',
    `await stopped;
    log.info({}, 'stopped');`,
    `log.info({}, 'stopped');`,
  ],
  ['daemon-console-stays-open', `closer.add('console', () => web.close());`, ''],
  [
    'daemon-reload-reads-no-provider',
    `await withTimeLimit(clock, RELOAD_MS, (signal) => provider.prepare({ signal }));`,
    `throw new Error('not now');`,
  ],
  ['daemon-erases-disks-in-silence', `warnOfErasing(means, parts);\n  if`, `if`],
]);

const realPorts = mistakesIn('src/daemon/real-ports.ts', WHOLE, [
  ['daemon-database-stays-connected', `closer.add('bmdb', () => bmdb.close());`, ''],
  ['daemon-sessions-do-not-tell-where', "hostname() || 'UNKNOWN'", "'UNKNOWN'"],
]);

const thread = mistakesIn('src/daemon/agent-thread.ts', WHOLE, [
  [
    'daemon-thread-is-a-program',
    `if (!parentPort) throw new Error('runs as a thread of the daemon only');`,
    `if (!parentPort) process.exit(0);`,
  ],
]);

const parts = mistakesIn('src/daemon/parts.ts', WHOLE, [
  [
    'daemon-agent-server-stays-open',
    `means.closer.add('agent server', () => server.close(tuning.agentServerGraceMs));`,
    '',
  ],
  ['daemon-sessions-do-not-tell-of-whom', 'component: componentOf(roles),', "component: '',"],
  ['daemon-does-not-prepare-its-providers', 'await prepareProviders(providers, means);', ''],
  [
    'daemon-does-not-say-what-token-is-refused',
    'throw new Denied(`provider ${name} refused our token; ${mend}`, { cause: error });',
    'throw new Denied(mend);',
  ],
]);

const check = mistakesIn(
  'src/daemon/check.ts',
  ['test/daemon/check.test.ts'],
  [
    [
      'check-any-database-directory-is-good',
      `return complaint === null ? [] : [{ path, message`,
      `return complaint !== null ? [] : [{ path, message`,
    ],
    ['check-forgets-the-database', `    checkDatabase(config),\n`, ''],
    ['check-forgets-the-programs', `    checkPrograms(config),\n`, ''],
    ['check-forgets-the-ssh-keys', `    checkSshKeys(config),\n`, ''],
    ['check-forgets-the-agent-server', `    checkAgentServer(config, means),\n`, ''],
    [
      'check-program-of-any-processor-is-good',
      `if (machine === ELF_MACHINES[processor]) return [];`,
      `return [];`,
    ],
    [
      'check-keys-may-be-read-by-all',
      `complaintAboutPrivacy(path, found, 0o027)`,
      `complaintAboutPrivacy(path, found, 0o022)`,
    ],
    [
      'check-a-group-that-may-read-is-a-mistake',
      `message, isWarning: true }];\n}\n\nfunction checkDev`,
      `message }];\n}\n\nfunction checkDev`,
    ],
    [
      'check-refused-provider-is-good',
      `return refusal === null ? findings : [...findings, { path, message: refusal }];`,
      `return findings;`,
    ],
    ['check-names-the-wrong-key', `path === ssh.keyPath`, `path !== ssh.keyPath`],
    [
      'check-wrong-endpoint-is-good',
      `host: agent.endpoint === undefined ? listen.host : hostOf(agent.endpoint),`,
      `host: listen.host,`,
    ],
    [
      'check-strangers-may-keep-certificates',
      `complaintAboutKeepingIn(dir) ?? complaintAboutStrangers(dir)`,
      `complaintAboutKeepingIn(dir)`,
    ],
  ],
);

/** What a daemon sends at rest, and reads that it takes in by and by. */
const rest: readonly Mutation[] = [
  ...mistakesIn(
    'src/actors/mirror/state.ts',
    ['test/actors/mirror/slices.test.ts'],
    [
      [
        'assembled-facts-forget-what-was-heard-meanwhile',
        'after.set(slot, { ...found, row: rows.get(id) });',
        '',
      ],
      [
        'a-read-that-was-broken-off-is-taken-for-whole',
        'const isDoubtful = isHalfTaken;',
        'const isDoubtful = false;',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/mirror/state.ts',
    ['test/actors/mirror/slices.test.ts'],
    [
      [
        'a-long-scan-sets-the-clock-back',
        'const isStill = readAt !== null && latest <= offset && offset <= earliest;',
        'const isStill = false;',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/provisioning/resolve-intents.ts',
    ['test/actors/provisioning/resolve-intents.test.ts'],
    [
      [
        'a-new-job-goes-by-what-was-read-before',
        'under.isJobNew ? null : deps.mirror.intents()',
        'deps.mirror.intents()',
      ],
      [
        'a-job-that-is-held-reads-all-rows-each-round',
        'under.isJobNew ? null : deps.mirror.intents()',
        'null',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/leases.ts',
    ['test/daemon/quiet.test.ts'],
    [
      [
        'a-job-that-is-held-is-asked-for-again',
        'holderOf(job) === session.sessionId',
        'holderOf(job) === null',
      ],
    ],
  ),
];

const service = mistakesIn(
  'src/daemon/service.ts',
  ['test/daemon/service.test.ts'],
  [
    ['service-is-ready-before-a-session-was-tried', '      await firstTry(daemon);\n', ''],
    ['service-a-crashed-supervisor-is-alive', 'if (daemon.takesTurns()) manager', 'manager'],
    ['service-a-sign-comes-too-late', 'watchdogMs / SIGNS', 'watchdogMs'],
    ['service-a-stop-goes-on-for-ever', 'leftMs -= STEP.everyMs;', ''],
    ['service-a-reload-does-not-end', 'if (!isStopping) manager.ready(', 'void ('],
  ],
);

const ROLES = ['test/daemon/roles.test.ts'];
const roles = [
  ...mistakesIn('src/domain/daemon-roles.ts', ROLES, [
    ['who-only-shows-is-ranked', `roles.has('loops') ? 'shepherd' : 'srv'`, `'shepherd'`],
  ]),
  ...mistakesIn('src/actors/provide.ts', ROLES, [
    ['who-only-shows-works', `roles.has('loops');`, 'true;'],
    [
      'who-only-hears-reads-the-fleet',
      'needsMirror(roles) ? mirror.service : nobody()',
      'mirror.service',
    ],
    [
      'without-a-janitor-orphaned-work-stays',
      `roles.has('janitor') || hasLoops`,
      `roles.has('janitor')`,
    ],
    ['who-does-not-balance-balances', `roles.has('balancer')\n`, 'true\n'],
  ]),
  ...mistakesIn('src/daemon/daemon.ts', ROLES, [
    ['who-does-not-count-counts', `if (parts.roles.has('stats')) startCounting`, 'startCounting'],
  ]),
];

export const mutations: readonly Mutation[] = [
  ...closer,
  ...health,
  ...daemon,
  ...realPorts,
  ...thread,
  ...parts,
  ...check,
  ...service,
  ...roles,
  ...rest,
];
