import { mutationsOf } from './mutation.ts';

/** The emulator of the Robot web service, and the machines behind it. */
export const mutations = mutationsOf`
emulators/hetzner-robot/machine/machine.ts test/emulators/hetzner-robot/power.test.ts
  robot-emulator-sw-heeded-by-the-dead: sw: [-() => void (isAlive() && reboot())-]{+reboot+}
  robot-emulator-hw-turns-on: hw: [-() => void (power === 'on' && boot())-]{+boot+}
  robot-emulator-power-comes-back: later([-timings.gracefulMs, powerOff-]{+0, boot+});
  robot-emulator-armed-for-ever: [-server.boot = null;\n      -]phase
  robot-emulator-crash-outlives-reset: [-    isCrashed = false;\n-]
emulators/hetzner-robot/machine/machine.ts test/adapters/provider/hetzner-robot/creation.test.ts
  robot-emulator-first-boot-without-units: [-await wantedUnits(tree.files)-]{+[]+}
emulators/hetzner-robot/world.ts test/emulators/hetzner-robot/power.test.ts
  robot-emulator-armed-over-an-hour: [-nowMs - boot.armedMs >= ARMED_MS-]{+false+}
emulators/hetzner-robot/machine/programs.ts test/emulators/hetzner-robot/power.test.ts test/emulators/hetzner-robot/faults.test.ts
  robot-emulator-wiped-boots: if (found) [-wipe(found)-]{+continue+};
  robot-emulator-fails-and-boots: if ([-fault === 'marksAndFails'-]{+!fault+}) {
  robot-emulator-any-image: if (![-isThere-]{+true+}) throw
emulators/hetzner-robot/machine/system.ts test/emulators/hetzner-robot/faults.test.ts
  robot-emulator-any-key-lets-in: [-isAuthorized(attempt, keys)-]{+keys.length >= 0+}
emulators/hetzner-robot/machine/shell.ts test/emulators/hetzner-robot/faults.test.ts test/adapters/provider/hetzner-robot/creation.test.ts
  robot-emulator-waits-for-jobs: node.background === [-true-]{+null+}
  robot-emulator-log-at-the-end: [-parse(script)-]{+parse(\`{ \${script}\\n}\`)+}
emulators/hetzner-robot/limits.ts test/emulators/hetzner-robot/api.test.ts
  robot-emulator-one-too-many: recent.length >[-=-] max
  robot-emulator-limits-without-end: [-atMs > nowMs - HOUR_MS-]{+true+}
emulators/hetzner-robot/api.ts test/emulators/hetzner-robot/api.test.ts
  robot-emulator-wrong-login-never-forgotten: [-atMs > nowMs - BLOCKED_MS-]{+true+}
  robot-emulator-three-is-not-enough: wrongAtMs.length <{+=+} WRONG_MAX
  robot-emulator-keys-in-the-journal: if (fields.has('data')[--]{+ && false+}) fields.set
emulators/hetzner-robot/form.ts test/emulators/hetzner-robot/api.test.ts
  robot-emulator-json-is-a-form: if ({+FORM_TYPE === null && +}!FORM_TYPE
  robot-emulator-empty-brackets-add-up: form.set(name, [{+...(form.get(name) ?? []), +}value]);
emulators/hetzner-robot/routes.ts test/emulators/hetzner-robot/api.test.ts
  robot-emulator-two-boots-at-once: if ([-armed(server, nowMs)-]{+false+}) {
  robot-emulator-unknown-keys-armed:
    if (!key) [-throw invalidInput({ invalid: ['authorized_key'] })-]{+return [...keys.values()][0]!+};
emulators/hetzner-robot/views.ts test/emulators/hetzner-robot/api.test.ts
  robot-emulator-lists-while-active: os: [-boot ? boot.system : -]RESCUE_SYSTEMS
`;
