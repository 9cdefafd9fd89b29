import type { Mutation } from './mutation.ts';

const BUDGET = 'test/adapters/kit/budget.test.ts';
const GROUPS = 'test/adapters/kit/turn-groups.test.ts';
const CLASSES = 'test/adapters/http/call-classes.test.ts';
const REQUESTS = 'test/adapters/http/requests.test.ts';

const SHELL = 'test/adapters/ssh/driver-shell.test.ts';
const SSHD = 'test/adapters/ssh/sshd-driver.test.ts';

/** Budgets, classes of calls, turns for each of many, whom TLS believes, and drivers' SSH. */
export const mutations: readonly Mutation[] = [
  {
    id: 'any-host-key-is-told',
    file: 'src/adapters/ssh/host-key-rule.ts',
    find: '    if (!isNamed) {',
    replace: '    if (!isNamed && named.length === 0) {',
    tests: [SHELL, SSHD],
  },
  {
    id: 'the-old-host-key-will-do',
    file: 'src/adapters/ssh/host-key-rule.ts',
    find: '} else if (isNamed) {',
    replace: '} else if (isNamed && named.length === 0) {',
    tests: [SHELL],
  },
  {
    id: 'a-driver-notes-afterwards',
    file: 'src/adapters/ssh/driver-shell.ts',
    find: '  await rule.note(seen);',
    replace: '  void rule.note(seen).catch(() => undefined);',
    tests: [SHELL],
  },
  {
    id: 'the-key-of-the-driver-is-not-used',
    file: 'src/adapters/ssh/driver-shell.ts',
    find: 'keyFile === undefined ? signers()',
    replace: 'keyFile !== null ? signers()',
    tests: [SSHD],
  },
  {
    id: 'the-environment-takes-some-of-the-input',
    file: 'src/adapters/ssh/driver-shell.ts',
    find: 'dd bs=1 count="$0" 2>/dev/null',
    replace: 'head -c 100000',
    tests: [SSHD],
  },
  {
    id: 'nothing-is-kept-for-what-is-urgent',
    file: 'src/adapters/kit/budget.ts',
    find: 'Math.ceil(keptForUrgent / count)',
    replace: '0',
    tests: [BUDGET],
  },
  {
    id: 'a-budget-is-not-shared',
    file: 'src/adapters/kit/budget.ts',
    find: 'const count = Math.max(1, daemons());',
    replace: 'const count = Math.max(1, 0 * daemons());',
    tests: [BUDGET],
  },
  {
    id: 'what-was-kept-is-forgotten-too-early',
    file: 'src/adapters/kit/budget.ts',
    find: 'Math.ceil((startMs + toEpochMs) / stepMs)',
    replace: 'Math.floor((startMs + toEpochMs) / stepMs)',
    tests: [BUDGET],
  },
  {
    id: 'a-start-in-the-future-stays-there',
    file: 'src/adapters/kit/budget.ts',
    find: 'Math.min(nowMs, atMs + toMonotonicMs)',
    replace: 'atMs + toMonotonicMs',
    tests: [BUDGET],
  },
  {
    id: 'an-empty-budget-is-told-as-a-pause-of-the-server',
    file: 'src/adapters/kit/turns.ts',
    find: "waiter.paused(lackMs, 'budget');",
    replace: "waiter.paused(lackMs, 'paused');",
    tests: [CLASSES],
  },
  {
    id: 'polls-come-first',
    file: 'src/adapters/kit/turns.ts',
    find: 'limits.bulkLast ? queue',
    replace: 'false ? queue',
    tests: [GROUPS],
  },
  {
    id: 'no-rest-after-a-task',
    file: 'src/adapters/kit/turns.ts',
    find: 'end: () => void (endedMs = clock.monotonic()),',
    replace: 'end: () => undefined,',
    tests: [GROUPS],
  },
  {
    id: 'idle-keys-are-kept',
    file: 'src/adapters/kit/turn-groups.ts',
    find: 'if (group.isIdle()) group.stop();',
    replace: 'if (group.isIdle() && key === used) group.stop();',
    tests: [GROUPS],
  },
  {
    id: 'a-pause-is-everybodys',
    file: 'src/adapters/http/call-classes.ts',
    find: 'named(classOf(exchange) ?? OTHERS)',
    replace: 'named((classOf(exchange) ?? OTHERS) && OTHERS)',
    tests: [CLASSES],
  },
  {
    id: 'answers-in-a-row-are-not-counted',
    file: 'src/adapters/http/call.ts',
    find: 'callClass.askedAway = askedMs === null ? 0 : callClass.askedAway + 1;',
    replace: 'callClass.askedAway = 0;',
    tests: [CLASSES],
  },
  {
    id: 'a-refused-token-is-only-one-of-401',
    file: 'src/adapters/http/call.ts',
    find: 'outcome.status === 401 || isRefused',
    replace: 'outcome.status === 401',
    tests: [CLASSES],
  },
  {
    id: 'once-is-not-once',
    file: 'src/adapters/http/call.ts',
    find: 'attemptsMax: request.attemptsMax ?? Infinity,',
    replace: 'attemptsMax: Infinity,',
    tests: [REQUESTS],
  },
  {
    id: 'another-certificate-will-do',
    file: 'src/adapters/http/trust.ts',
    find: 'if (sha256 === undefined && socket.authorized) return null;',
    replace: 'if (sha256 !== undefined || socket.authorized) return null;',
    tests: [REQUESTS],
  },
  {
    id: 'an-authority-is-not-asked-for',
    file: 'src/adapters/http/trust.ts',
    find: 'if (sha256 === undefined && socket.authorized) return null;',
    replace: 'if (sha256 === undefined) return null;',
    tests: [REQUESTS],
  },
];
