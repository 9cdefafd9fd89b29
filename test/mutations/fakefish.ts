import { mutationsOf } from './mutation.ts';

/** The emulator of BMCs. */
export const mutations = mutationsOf({
  'emulators/redfish/power.ts test/emulators/redfish/requests.test.ts test/emulators/redfish/power.test.ts test/emulators/redfish/machines.test.ts':
    {
      'fakefish-once-for-ever': "[-boot.enabled === 'Once' && isSticky.length === 0-]{+false+}",
      'fakefish-cd-without-target': '[-target === profile.cdTarget && -]disc !== undefined',
      'fakefish-runs-though-host-failed': '[-end === undefined && -]system.progress === started',
      'fakefish-hung-system-heeds': '[-if (hooks?.heeds?.(system.name) !== false) -]then();',
      'fakefish-nothing-boots-at-start': "set(system, 'On');[-\n      handOver(bmc, system);-]",
      'fakefish-sessions-outlive-restart': '[-bmc.sessions.clear();-]',
    },
  'emulators/redfish/machines/machines.ts test/emulators/redfish/machines.test.ts': {
    'fakefish-half-installed-boots': "[-    machine.disk = 'none';\n-]",
    'fakefish-installer-outlives-power': '[-        end(machineOf(system));\n-]',
    'fakefish-silent-reports': "[-if (boot.installer !== 'silent') -]await",
    'fakefish-refusal-is-asked-again': '[-error instanceof SeedRefused || -]',
  },
  'emulators/redfish/resources/changes.ts test/emulators/redfish/requests.test.ts': {
    'fakefish-settings-are-optional': '[-boot !== undefined && profile.bootInSettings-]{+false+}',
    'fakefish-half-an-override': 'const wanted = [-isWhole-]{+false+} ? whole',
  },
  'emulators/redfish/resources/logs.ts test/emulators/redfish/requests.test.ts': {
    'fakefish-all-of-the-log': 'lines[-.slice(skip, skip + top)-]',
    'fakefish-oldest-first': '[-profile.logNewestFirst ? lines.toReversed() : -]lines',
  },
  'emulators/redfish/pipeline.ts test/emulators/redfish/requests.test.ts test/emulators/redfish/power.test.ts':
    {
      'fakefish-no-login-needed': 'if ([-!isOpen-]{+false+}) checkAccess',
      'fakefish-if-match-unheeded': "if (method === '[-PATCH-]{+PUT+}') requireMatch",
      'fakefish-systems-before-the-root':
        '[-if (!bmc.restart || nowMs >= bmc.restart.doneAtMs) -]return;',
      'fakefish-any-odata-version': "[-version !== undefined && version !== '4.0'-]{+false+}",
    },
  'emulators/redfish/resources/input.ts test/emulators/redfish/requests.test.ts': {
    'fakefish-read-only-is-unknown': '[-Object.hasOwn(shownAs, name)-]{+false+}',
    'fakefish-null-fits-everything': 'return [-nullable === -]true',
    'fakefish-any-type-fits': 'return [-typeof value === type-]{+true+};',
  },
  'emulators/redfish/resources/sessions.ts test/emulators/redfish/requests.test.ts test/emulators/redfish/faults.test.ts':
    {
      'fakefish-sessions-without-end': 'size >[-=-] profile.sessionsMax',
      'fakefish-sessions-never-time-out': '[-bmc.sessionTimeoutS * 1000-]{+Infinity+}',
      'fakefish-lock-opens-for-the-right': 'isRight[- && nowMs >= bmc.lockedUntilMs-]',
      'fakefish-wrong-logins-add-up': '[-    bmc.failedLogins = 0;\n-]',
    },
  'emulators/redfish/resources/media.ts test/emulators/redfish/requests.test.ts': {
    'fakefish-two-discs-in-one':
      "[-if (media.inserted) throw refusal(409, 'ResourceInUse');\n  -]insert(call, media, image, body",
    'fakefish-any-scheme': '[-profile.mediaSchemes.includes(scheme)-]{+true+}',
    'fakefish-nothing-refused': '[-!profile.mediaRefuses.includes(name)-]{+true+}',
  },
});
