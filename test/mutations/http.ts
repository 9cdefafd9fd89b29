import { mutationsOf } from './mutation.ts';

/** Budgets, classes of calls, turns for each of many, whom TLS believes, and drivers' SSH. */
export const mutations = mutationsOf`
src/adapters/ssh/ssh2-link.ts test/adapters/ssh/driver-shell.test.ts
  any-host-key-is-told: \_\_\_\_if (!isNamed{+ && named.length === 0+}) {
  the-old-host-key-will-do: } else if (isNamed{+ && named.length === 0+}) {
src/adapters/ssh/driver-shell.ts test/adapters/ssh/driver-shell.test.ts
  a-driver-notes-afterwards: \_\_[-await rule.note(seen-]{+void rule.note(seen).catch(() => undefined+});
src/adapters/ssh/driver-shell.ts test/adapters/ssh/sshd-driver.test.ts
  the-key-of-the-driver-is-not-used: keyFile [-=== undefined-]{+!== null+} ? signers()
  the-environment-takes-some-of-the-input: [-dd bs=1 count="$0" 2>/dev/null-]{+head -c 100000+}
src/adapters/driver-kit/call-classes.ts test/adapters/driver-kit/time-limit.test.ts
  nothing-is-kept-for-what-is-urgent: [-Math.ceil(keptForUrgent / count)-]{+0+}
  a-budget-is-not-shared: const count = Math.max(1, {+0 * +}daemons());
  what-was-kept-is-forgotten-too-early: Math.[-ceil-]{+floor+}((startMs + toEpochMs) / stepMs)
  a-start-in-the-future-stays-there: [-Math.min(nowMs, atMs + toMonotonicMs)-]{+atMs + toMonotonicMs+}
src/adapters/driver-kit/turns.ts test/adapters/driver-kit/requests.test.ts
  an-empty-budget-is-told-as-a-pause-of-the-server: waiter.paused(lackMs, '[-budget-]{+paused+}');
src/adapters/driver-kit/turns.ts test/adapters/driver-kit/turns.test.ts
  polls-come-first: [-limits.bulkLast-]{+false+} ? queue
  no-rest-after-a-task: end: () => [-void (endedMs = clock.monotonic())-]{+undefined+},
  idle-keys-are-kept: if (group.isIdle(){+ && key === used+}) group.stop();
src/adapters/driver-kit/call-classes.ts test/adapters/driver-kit/requests.test.ts
  a-pause-is-everybodys: named([-classOf(exchange) ??-]{+(classOf(exchange) ?? OTHERS) &&+} OTHERS)
src/adapters/driver-kit/call.ts test/adapters/driver-kit/requests.test.ts
  answers-in-a-row-are-not-counted:
    callClass.askedAway = [-askedMs === null ? 0 : callClass.askedAway + 1-]{+0+};
  once-is-not-once: attemptsMax: [-request.attemptsMax ?? -]Infinity,
src/adapters/driver-kit/outcome.ts test/adapters/driver-kit/requests.test.ts
  a-refused-token-is-only-one-of-401: status === 401[- || told?.kind === 'auth'-];
src/adapters/driver-kit/exchange.ts test/adapters/driver-kit/requests.test.ts
  another-certificate-will-do:
    if (sha256 [-=== undefined &&-]{+!== undefined ||+} socket.authorized) return null;
  an-authority-is-not-asked-for: if (sha256 === undefined[- && socket.authorized-]) return null;
`;
