import { mutationsOf } from './mutation.ts';

/** The emulator of the Robot web service, and the machines behind it. */
export const mutations = mutationsOf({
  'emulators/hetzner-robot/machine/machine.ts test/emulators/hetzner-robot/power.test.ts': {
    'fakerobot-sw-heeded-by-the-dead': 'sw: [-() => void (isAlive() && reboot())-]{+reboot+}',
    'fakerobot-hw-turns-on': "hw: [-() => void (power === 'on' && boot())-]{+boot+}",
    'fakerobot-power-comes-back': 'later([-timings.gracefulMs, powerOff-]{+0, boot+});',
    'fakerobot-armed-for-ever': '[-server.boot = null;\n      -]config.bootedMs',
    'fakerobot-crash-outlives-reset': '[-    isCrashed = false;\n-]',
  },
  'emulators/hetzner-robot/machine/machine.ts test/conformance/drivers.test.ts': {
    'fakerobot-first-boot-without-units': '[-await play(true);-]',
  },
  'emulators/hetzner-robot/world.ts test/emulators/hetzner-robot/power.test.ts': {
    'fakerobot-armed-over-an-hour': '[-nowMs - boot.armedMs >= ARMED_MS-]{+false+}',
  },
  'emulators/hetzner-robot/machine/rescue-programs.ts test/emulators/hetzner-robot/power.test.ts test/emulators/hetzner-robot/faults.test.ts':
    {
      'fakerobot-wiped-boots': '[-      wipe(found.drive);\n-]',
      'fakerobot-fails-and-boots': "if ([-fault === 'marksAndFails'-]{+!fault+}) return",
      'fakerobot-any-image': "[-host.files.find(path)?.kind !== 'file'-]{+false+}",
    },
  'emulators/hetzner-robot/machine/system.ts test/emulators/hetzner-robot/faults.test.ts': {
    'fakerobot-any-key-lets-in': '[-isAuthorized(attempt, keys)-]{+keys.length >= 0+}',
  },
  'emulators/hetzner-robot/api/limits.ts test/emulators/hetzner-robot/access.test.ts': {
    'fakerobot-one-too-many': 'times.length >[-=-] max',
    'fakerobot-limits-without-end': '[-atMs > nowMs - HOUR_MS-]{+true+}',
  },
  'emulators/hetzner-robot/api/logins.ts test/emulators/hetzner-robot/access.test.ts': {
    'fakerobot-wrong-login-never-forgotten': '[-atMs > nowMs - BLOCKED_MS-]{+true+}',
    'fakerobot-three-is-not-enough': 'wrong.length <{+=+} WRONG_MAX',
  },
  'emulators/hetzner-robot/http/pipeline.ts test/emulators/hetzner-robot/access.test.ts': {
    'fakerobot-keys-in-the-journal': "[-name === 'data' ? '***' : -]value",
  },
  'emulators/hetzner-robot/api/form.ts test/emulators/hetzner-robot/replies.test.ts': {
    'fakerobot-json-is-a-form': ' || {+FORM_TYPE === null && +}!FORM_TYPE',
    'fakerobot-empty-brackets-add-up': 'form.set(name, [{+...(form.get(name) ?? []), +}value]);',
  },
  'emulators/hetzner-robot/api/boot-routes.ts test/emulators/hetzner-robot/replies.test.ts': {
    'fakerobot-two-boots-at-once': 'if ([-armed(server, nowMs)-]{+false+}) {',
    'fakerobot-unknown-keys-armed': '[-keys.some((key) => key === undefined)-]{+false+}',
    'fakerobot-disarms-the-other': '[-?.kind === kind-]{+!== null+}) server.boot',
  },
  'emulators/hetzner-robot/api/views.ts test/emulators/hetzner-robot/replies.test.ts': {
    'fakerobot-lists-while-active': 'os: [-config ? config.system : -]RESCUE_SYSTEMS',
  },
  'emulators/hetzner-robot/shell/run.ts test/emulators/hetzner-robot/shell.test.ts': {
    'fakerobot-shell-goes-on': '[-state.exitsOnError && status !== 0-]{+false+}',
    'fakerobot-subshell-leaks': 'const own = [-subshellOf(state)-]{+state+};',
  },
  'emulators/hetzner-robot/shell/expand.ts test/emulators/hetzner-robot/shell.test.ts': {
    'fakerobot-quotes-are-patterns': 'part.isQuoted) append([-literalPattern(value)-]{+value+})',
    'fakerobot-unset-is-empty': "[-state.failsOnUnset-]{+false+} && !['@'",
  },
});
