import { mutationsOf } from './mutation.ts';

/** The emulator of the Robot web service, and the machines behind it. */
export const mutations = mutationsOf({
  'src/simulator/fakerobot/machine/machine.ts test/simulator/fakerobot/power.test.ts': {
    'fakerobot-sw-heeded-by-the-dead': 'sw: [-() => void (isAlive() && reboot())-]{+reboot+}',
    'fakerobot-hw-turns-on': "hw: [-() => void (power === 'on' && boot())-]{+boot+}",
    'fakerobot-power-comes-back': 'later([-timings.gracefulMs, powerOff-]{+0, boot+});',
    'fakerobot-armed-for-ever': '[-server.boot = null;\n      -]config.bootedMs',
    'fakerobot-crash-outlives-reset': '[-    isCrashed = false;\n-]',
  },
  'src/simulator/fakerobot/machine/machine.ts test/conformance/drivers.test.ts': {
    'fakerobot-first-boot-without-units': '[-await play(true);-]',
  },
  'src/simulator/fakerobot/world.ts test/simulator/fakerobot/power.test.ts': {
    'fakerobot-armed-over-an-hour': '[-nowMs - boot.armedMs >= ARMED_MS-]{+false+}',
  },
  'src/simulator/fakerobot/machine/rescue-programs.ts test/simulator/fakerobot/power.test.ts test/simulator/fakerobot/faults.test.ts':
    {
      'fakerobot-wiped-boots': '[-      wipe(found.drive);\n-]',
      'fakerobot-fails-and-boots': "if ([-fault === 'marksAndFails'-]{+!fault+}) return",
      'fakerobot-any-image': "[-host.files.find(path)?.kind !== 'file'-]{+false+}",
    },
  'src/simulator/fakerobot/machine/system.ts test/simulator/fakerobot/faults.test.ts': {
    'fakerobot-any-key-lets-in': '[-isAuthorized(attempt, keys)-]{+keys.length >= 0+}',
  },
  'src/simulator/fakerobot/api/limits.ts test/simulator/fakerobot/access.test.ts': {
    'fakerobot-one-too-many': 'times.length >[-=-] max',
    'fakerobot-limits-without-end': '[-atMs > nowMs - HOUR_MS-]{+true+}',
  },
  'src/simulator/fakerobot/api/logins.ts test/simulator/fakerobot/access.test.ts': {
    'fakerobot-wrong-login-never-forgotten': '[-atMs > nowMs - BLOCKED_MS-]{+true+}',
    'fakerobot-three-is-not-enough': 'wrong.length <{+=+} WRONG_MAX',
  },
  'src/simulator/fakerobot/http/pipeline.ts test/simulator/fakerobot/access.test.ts': {
    'fakerobot-keys-in-the-journal': "[-name === 'data' ? '***' : -]value",
  },
  'src/simulator/fakerobot/api/form.ts test/simulator/fakerobot/replies.test.ts': {
    'fakerobot-json-is-a-form': ' || {+FORM_TYPE === null && +}!FORM_TYPE',
    'fakerobot-empty-brackets-add-up': 'form.set(name, [{+...(form.get(name) ?? []), +}value]);',
  },
  'src/simulator/fakerobot/api/boot-routes.ts test/simulator/fakerobot/replies.test.ts': {
    'fakerobot-two-boots-at-once': 'if ([-armed(server, nowMs)-]{+false+}) {',
    'fakerobot-unknown-keys-armed': '[-keys.some((key) => key === undefined)-]{+false+}',
    'fakerobot-disarms-the-other': '[-?.kind === kind-]{+!== null+}) server.boot',
  },
  'src/simulator/fakerobot/api/views.ts test/simulator/fakerobot/replies.test.ts': {
    'fakerobot-lists-while-active': 'os: [-config ? config.system : -]RESCUE_SYSTEMS',
  },
  'src/simulator/fakerobot/shell/run.ts test/simulator/fakerobot/shell.test.ts': {
    'fakerobot-shell-goes-on': '[-state.exitsOnError && status !== 0-]{+false+}',
    'fakerobot-subshell-leaks': 'const own = [-subshellOf(state)-]{+state+};',
  },
  'src/simulator/fakerobot/shell/expand.ts test/simulator/fakerobot/shell.test.ts': {
    'fakerobot-quotes-are-patterns': 'part.isQuoted) append([-literalPattern(value)-]{+value+})',
    'fakerobot-unset-is-empty': "[-state.failsOnUnset-]{+false+} && !['@'",
  },
});
