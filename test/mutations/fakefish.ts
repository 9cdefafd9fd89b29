import { mutationsOf } from './mutation.ts';

/** The emulator of BMCs. */
export const mutations = mutationsOf({
  'src/simulator/fakefish/power.ts test/simulator/fakefish/requests.test.ts test/simulator/fakefish/power.test.ts test/simulator/fakefish/machines.test.ts':
    {
      'fakefish-once-for-ever': "[-boot.enabled === 'Once' && isSticky.length === 0-]{+false+}",
      'fakefish-cd-without-target': '[-target === profile.cdTarget && -]disc !== undefined',
      'fakefish-runs-though-host-failed': '[-end === undefined && -]system.progress === started',
      'fakefish-hung-system-heeds': '[-if (hooks?.heeds?.(system.name) !== false) -]then();',
      'fakefish-nothing-boots-at-start': "set(system, 'On');[-\n      handOver(bmc, system);-]",
      'fakefish-sessions-outlive-restart': '[-bmc.sessions.clear();-]',
    },
  'src/simulator/fakefish/machines/machines.ts test/simulator/fakefish/machines.test.ts': {
    'fakefish-half-installed-boots': "[-    machine.disk = 'none';\n-]",
    'fakefish-installer-outlives-power': '[-        end(machineOf(system));\n-]',
    'fakefish-silent-reports': "[-if (boot.installer !== 'silent') -]await",
    'fakefish-refusal-is-asked-again': '[-error instanceof SeedRefused || -]',
  },
  'src/simulator/fakefish/resources/changes.ts test/simulator/fakefish/requests.test.ts': {
    'fakefish-settings-are-optional': '[-boot !== undefined && profile.bootInSettings-]{+false+}',
    'fakefish-half-an-override': 'const wanted = [-isWhole-]{+false+} ? whole',
  },
  'src/simulator/fakefish/resources/logs.ts test/simulator/fakefish/requests.test.ts': {
    'fakefish-all-of-the-log': 'lines[-.slice(skip, skip + top)-]',
    'fakefish-oldest-first': '[-profile.logNewestFirst ? lines.toReversed() : -]lines',
  },
  'src/simulator/fakefish/pipeline.ts test/simulator/fakefish/requests.test.ts test/simulator/fakefish/power.test.ts':
    {
      'fakefish-no-login-needed': 'if ([-!isOpen-]{+false+}) checkAccess',
      'fakefish-if-match-unheeded': "if (method === '[-PATCH-]{+PUT+}') requireMatch",
      'fakefish-systems-before-the-root':
        '[-if (!bmc.restart || nowMs >= bmc.restart.doneAtMs) -]return;',
      'fakefish-any-odata-version': "[-version !== undefined && version !== '4.0'-]{+false+}",
    },
  'src/simulator/fakefish/resources/input.ts test/simulator/fakefish/requests.test.ts': {
    'fakefish-read-only-is-unknown': '[-Object.hasOwn(shownAs, name)-]{+false+}',
    'fakefish-null-fits-everything': 'return [-nullable === -]true',
    'fakefish-any-type-fits': 'return [-typeof value === type-]{+true+};',
  },
  'src/simulator/fakefish/resources/sessions.ts test/simulator/fakefish/requests.test.ts test/simulator/fakefish/faults.test.ts':
    {
      'fakefish-sessions-without-end': 'size >[-=-] profile.sessionsMax',
      'fakefish-sessions-never-time-out': '[-bmc.sessionTimeoutS * 1000-]{+Infinity+}',
      'fakefish-lock-opens-for-the-right': 'isRight[- && nowMs >= bmc.lockedUntilMs-]',
      'fakefish-wrong-logins-add-up': '[-    bmc.failedLogins = 0;\n-]',
    },
  'src/simulator/fakefish/resources/media.ts test/simulator/fakefish/requests.test.ts': {
    'fakefish-two-discs-in-one':
      "[-if (media.inserted) throw refusal(409, 'ResourceInUse');\n  -]insert(call, media, image, body",
    'fakefish-any-scheme': '[-profile.mediaSchemes.includes(scheme)-]{+true+}',
    'fakefish-nothing-refused': '[-!profile.mediaRefuses.includes(name)-]{+true+}',
  },
});
