import { mistakesIn, type Mutation } from './mutation.ts';

const ROBOT = 'src/simulator/fakerobot';
const TESTS = 'test/simulator/fakerobot';

/** The emulator of the Robot web service, and the machines behind it. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    `${ROBOT}/machine/machine.ts`,
    [`${TESTS}/power.test.ts`],
    [
      ['fakerobot-sw-heeded-by-the-dead', 'sw: () => void (isAlive() && reboot())', 'sw: reboot'],
      ['fakerobot-hw-turns-on', "hw: () => void (power === 'on' && boot())", 'hw: boot'],
      ['fakerobot-power-comes-back', 'later(timings.gracefulMs, powerOff);', 'later(0, boot);'],
      ['fakerobot-armed-for-ever', 'server.boot = null;\n      config.bootedMs', 'config.bootedMs'],
      ['fakerobot-crash-outlives-reset', '    isCrashed = false;\n', ''],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/world.ts`,
    [`${TESTS}/power.test.ts`],
    [['fakerobot-armed-over-an-hour', 'nowMs - boot.armedMs >= ARMED_MS', 'false']],
  ),
  ...mistakesIn(
    `${ROBOT}/machine/rescue-programs.ts`,
    [`${TESTS}/power.test.ts`, `${TESTS}/faults.test.ts`],
    [
      ['fakerobot-wiped-boots', '      wipe(found.drive);\n', ''],
      ['fakerobot-fails-and-boots', "if (fault === 'marksAndFails') return", 'if (!fault) return'],
      ['fakerobot-any-image', "host.files.find(path)?.kind !== 'file'", 'false'],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/machine/machine.ts`,
    [`${TESTS}/machine.test.ts`],
    [['fakerobot-first-boot-without-units', 'await play(true);', '']],
  ),
  ...mistakesIn(
    `${ROBOT}/machine/system.ts`,
    [`${TESTS}/faults.test.ts`],
    [['fakerobot-any-key-lets-in', 'isAuthorized(attempt, keys)', 'keys.length >= 0']],
  ),
  ...mistakesIn(
    `${ROBOT}/api/limits.ts`,
    [`${TESTS}/access.test.ts`],
    [
      ['fakerobot-one-too-many', 'times.length >= max', 'times.length > max'],
      ['fakerobot-limits-without-end', 'atMs > nowMs - HOUR_MS', 'true'],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/api/logins.ts`,
    [`${TESTS}/access.test.ts`],
    [
      ['fakerobot-wrong-login-never-forgotten', 'atMs > nowMs - BLOCKED_MS', 'true'],
      ['fakerobot-three-is-not-enough', 'wrong.length < WRONG_MAX', 'wrong.length <= WRONG_MAX'],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/http/pipeline.ts`,
    [`${TESTS}/access.test.ts`],
    [['fakerobot-keys-in-the-journal', "name === 'data' ? '***' : value", 'value']],
  ),
  ...mistakesIn(
    `${ROBOT}/api/form.ts`,
    [`${TESTS}/replies.test.ts`],
    [
      ['fakerobot-json-is-a-form', ' || !FORM_TYPE', ' || FORM_TYPE === null && !FORM_TYPE'],
      [
        'fakerobot-empty-brackets-add-up',
        'form.set(name, [value]);',
        'form.set(name, [...(form.get(name) ?? []), value]);',
      ],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/api/boot-routes.ts`,
    [`${TESTS}/replies.test.ts`],
    [
      ['fakerobot-two-boots-at-once', 'if (armed(server, nowMs)) {', 'if (false) {'],
      ['fakerobot-unknown-keys-armed', 'keys.some((key) => key === undefined)', 'false'],
      ['fakerobot-disarms-the-other', '?.kind === kind) server.boot', '!== null) server.boot'],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/api/views.ts`,
    [`${TESTS}/replies.test.ts`],
    [
      [
        'fakerobot-lists-while-active',
        'os: config ? config.system : RESCUE_SYSTEMS',
        'os: RESCUE_SYSTEMS',
      ],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/shell/run.ts`,
    [`${TESTS}/shell.test.ts`],
    [
      ['fakerobot-shell-goes-on', 'state.exitsOnError && status !== 0', 'false'],
      ['fakerobot-subshell-leaks', 'const own = subshellOf(state);', 'const own = state;'],
    ],
  ),
  ...mistakesIn(
    `${ROBOT}/shell/expand.ts`,
    [`${TESTS}/shell.test.ts`],
    [
      [
        'fakerobot-quotes-are-patterns',
        'part.isQuoted) append(literalPattern(value))',
        'part.isQuoted) append(value)',
      ],
      ['fakerobot-unset-is-empty', "state.failsOnUnset && !['@'", "false && !['@'"],
    ],
  ),
];
