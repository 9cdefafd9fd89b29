import { mistakesIn, type Mutation } from './mutation.ts';

const FISH = 'src/simulator/fakefish';
const TESTS = [
  'test/simulator/fakefish/service.test.ts',
  'test/simulator/fakefish/power.test.ts',
  'test/simulator/fakefish/profiles.test.ts',
  'test/simulator/fakefish/faults.test.ts',
  'test/simulator/fakefish/machines.test.ts',
  'test/simulator/fakefish/standard.test.ts',
];

/** The emulator of BMCs. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(`${FISH}/power.ts`, TESTS, [
    ['fakefish-once-for-ever', "boot.enabled === 'Once' && isSticky.length === 0", 'false'],
    [
      'fakefish-cd-without-target',
      'target === profile.cdTarget && disc !== undefined',
      'disc !== undefined',
    ],
    [
      'fakefish-runs-though-host-failed',
      'end === undefined && system.progress === started',
      'system.progress === started',
    ],
    ['fakefish-hung-system-heeds', 'if (hooks?.heeds?.(system.name) !== false) then();', 'then();'],
    [
      'fakefish-nothing-boots-at-start',
      "set(system, 'On');\n      handOver(bmc, system);",
      "set(system, 'On');",
    ],
    ['fakefish-sessions-outlive-restart', 'bmc.sessions.clear();', ''],
  ]),
  ...mistakesIn(`${FISH}/machines/machines.ts`, TESTS, [
    ['fakefish-half-installed-boots', "    machine.disk = 'none';\n", ''],
    ['fakefish-installer-outlives-power', '        end(machineOf(system));\n', ''],
    ['fakefish-silent-reports', "if (boot.installer !== 'silent') await", 'await'],
    ['fakefish-refusal-is-asked-again', 'error instanceof SeedRefused || ', ''],
  ]),
  ...mistakesIn(`${FISH}/resources/changes.ts`, TESTS, [
    ['fakefish-settings-are-optional', 'boot !== undefined && profile.bootInSettings', 'false'],
    ['fakefish-half-an-override', 'const wanted = isWhole ? whole', 'const wanted = false ? whole'],
  ]),
  ...mistakesIn(`${FISH}/resources/logs.ts`, TESTS, [
    ['fakefish-all-of-the-log', 'lines.slice(skip, skip + top)', 'lines'],
    ['fakefish-oldest-first', 'profile.logNewestFirst ? lines.toReversed() : lines', 'lines'],
  ]),
  ...mistakesIn(`${FISH}/pipeline.ts`, TESTS, [
    ['fakefish-no-login-needed', 'if (!isOpen) checkAccess', 'if (false) checkAccess'],
    [
      'fakefish-if-match-unheeded',
      "if (method === 'PATCH') requireMatch",
      "if (method === 'PUT') requireMatch",
    ],
    [
      'fakefish-systems-before-the-root',
      'if (!bmc.restart || nowMs >= bmc.restart.doneAtMs) return;',
      'return;',
    ],
    ['fakefish-any-odata-version', "version !== undefined && version !== '4.0'", 'false'],
  ]),
  ...mistakesIn(`${FISH}/resources/input.ts`, TESTS, [
    ['fakefish-read-only-is-unknown', 'Object.hasOwn(shownAs, name)', 'false'],
    ['fakefish-null-fits-everything', 'return nullable === true', 'return true'],
    ['fakefish-any-type-fits', 'return typeof value === type;', 'return true;'],
  ]),
  ...mistakesIn(`${FISH}/resources/sessions.ts`, TESTS, [
    ['fakefish-sessions-without-end', 'size >= profile.sessionsMax', 'size > profile.sessionsMax'],
    ['fakefish-sessions-never-time-out', 'bmc.sessionTimeoutS * 1000', 'Infinity'],
    ['fakefish-lock-opens-for-the-right', 'isRight && nowMs >= bmc.lockedUntilMs', 'isRight'],
    ['fakefish-wrong-logins-add-up', '    bmc.failedLogins = 0;\n', ''],
  ]),
  ...mistakesIn(`${FISH}/resources/media.ts`, TESTS, [
    [
      'fakefish-two-discs-in-one',
      "if (media.inserted) throw refusal(409, 'ResourceInUse');\n  insert(call, media, image, body",
      'insert(call, media, image, body',
    ],
    ['fakefish-any-scheme', 'profile.mediaSchemes.includes(scheme)', 'true'],
    ['fakefish-nothing-refused', '!profile.mediaRefuses.includes(name)', 'true'],
  ]),
];
