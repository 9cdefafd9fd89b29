import { mistakesIn, type Mutation } from './mutation.ts';

/** Servers of Hetzner Robot: whose they are, how often they are reset, and when they are free. */
const SOURCE = 'src/adapters/provider/hetzner-robot';
const TESTS = 'test/adapters/provider/hetzner-robot';
const of = (name: string) => `${SOURCE}/${name}.ts`;
const by = (...names: readonly string[]) => names.map((name) => `${TESTS}/${name}.test.ts`);

export const mutations: readonly Mutation[] = [
  ...mistakesIn(of('creation'), by('creation', 'listing'), [
    [
      'robot-takes-anothers-claim',
      'if (found && !isDead(found)) {',
      'if (found && !isDead(found) && false) {',
    ],
    [
      'robot-unannounced',
      'await request.onAttempt({ attempts: 1, ambiguous: request.resumed });',
      '',
    ],
    ['robot-takes-any-name', 'if (!isFree) throw', 'if (false) throw'],
    [
      'robot-keeps-a-strangers-name',
      "if (!wanted.startsWith(now.name) || now.name === '') await loseTo",
      'if (false) await loseTo',
    ],
    [
      'robot-cut-name-stays',
      'await restoreName(claim, how);\n    await claims.drop(claim, how);\n    const what = `Robot shows',
      'await claims.drop(claim, how);\n    const what = `Robot shows',
    ],
    [
      'robot-installs-a-strangers',
      'claim = arrival.claim;\n    await keepName(claim, how);',
      'claim = arrival.claim;',
    ],
    ['robot-uses-what-is-cancelled', '(server.isCancelled &&', '(false &&'],
  ]),
  ...mistakesIn(of('creation'), by('kill'), [
    [
      'robot-resets-what-is-on-its-way',
      'if (claim.resetAtMs === null) {',
      'if (claim.resetAtMs !== 0) {',
    ],
  ]),
  ...mistakesIn(of('installing'), by('creation', 'kill'), [
    ['robot-installs-twice', 'const begun = answer.kind', 'const begun = null && answer.kind'],
    [
      'robot-start-is-not-noted',
      'await claims.change(claim, { startedAtMs: clock.now() }, how);',
      'claim;',
    ],
  ]),
  ...mistakesIn(of('rescue'), by('creation'), [
    ['robot-resets-for-ever', 'claim.hardResets >= HARD_RESETS_MAX', 'claim.hardResets >= 99'],
    [
      'robot-any-rescue-key',
      'claim.startedAtMs === null ? rescueKeyRule(claim) : ANY_NEW_KEY',
      'claim.startedAtMs === -1 ? rescueKeyRule(claim) : ANY_NEW_KEY',
    ],
    [
      'robot-rescue-of-anothers-key',
      "answer.kind === 'rescue' && !isRescueKey(claim, answer)",
      'false',
    ],
    ['robot-waits-for-the-wrong-system', 'sinceMs < OTHER_SYSTEM_MS', 'sinceMs < 6_000_000'],
    [
      'robot-cries-false-key-of-a-disk',
      "if (open.kind !== 'rescue') return true;",
      "if (open.kind === 'rescue' && false) return true;",
    ],
  ]),
  ...mistakesIn(of('systems'), by('creation'), [
    ['robot-believes-any-rescue-key', '? { told: claim.rescueKeys }', '? ANY_NEW_KEY'],
  ]),
  ...mistakesIn(of('changes'), by('changes'), [
    ['robot-reboots-into-rescue', 'if (!isOnItsWay) await', 'if (false) await'],
    [
      'robot-reboots-into-a-rescue-left-behind',
      "found.claim?.phase === 'rescue' && !isBrokenOff(found.claim)",
      "found.claim?.phase === 'rescue'",
    ],
    ['robot-force-is-gentle', "mode === 'force' ? ['hw'] : ['sw', 'hw']", "['sw', 'hw']"],
    ['robot-presses-what-runs', "if (running === (want === 'on')) return;", ''],
    ['robot-unknown-is-off', 'if (running === null) {', 'if (running === undefined) {'],
    [
      'robot-reboots-an-installation',
      "if (claim?.phase !== 'installing') return { server, claim };",
      'if (claim) return { server, claim };',
    ],
    [
      'robot-forgets-foreign-tags',
      'tags: { ...Object.fromEntries(foreign), ...tags }',
      'tags: { ...tags }',
    ],
  ]),
  ...mistakesIn(of('give-back'), by('give-back', 'kill'), [
    [
      'robot-free-before-wiped',
      "if (claim.phase === 'wiped' || config.wipe === 'none') {",
      'if (claim.resetAtMs !== null) {',
    ],
    ['robot-never-gives-up', 'claim.hardResets >= HARD_RESETS_MAX', 'claim.hardResets >= 99'],
    ['robot-one-word-is-absence', 'return !isThere &&', 'return true ||'],
    [
      'robot-absence-is-an-error-for-ever',
      "if (!isProviderError(error, 'not-found')) throw error;",
      'if (error) throw error;',
    ],
    [
      'robot-keeps-the-claim-of-what-has-left',
      "is forgotten');\n    await claims.drop(claim, how);",
      "is forgotten');",
    ],
    [
      'robot-believes-no-drive',
      '/^wiped [1-9]\\d*$/m.test(told)',
      'told.length >= 0',
      'the wipe fails where there is no drive',
    ],
    [
      'robot-claim-goes-before-the-name',
      'await rename(claim, freeName(config, claim.server), how);\n    await claims.drop(claim, how);',
      'await claims.drop(claim, how);\n    await rename(claim, freeName(config, claim.server), how);',
      'a server whose name alone says that it leaves is wiped once more, and then free',
    ],
  ]),
  ...mistakesIn(of('mapping'), by('listing', 'give-back', 'creation'), [
    ['robot-offers-the-cancelled', 'server.isReady && !server.isCancelled', 'server.isReady'],
    [
      'robot-leaving-by-name-is-free',
      "if (claim?.phase === 'leaving' || claim?.phase === 'wiped') return 'leaving';",
      '',
    ],
    ['robot-unfinished-is-a-machine', "(phase === 'claimed' || phase === 'rescue')", 'false'],
    ['robot-another-sets-is-ours', 'if (disputed) return', 'if (false) return'],
  ]),
  ...mistakesIn(of('watch'), by('creation', 'changes'), [
    [
      'robot-old-system-is-the-new-one',
      'if (installed?.witness !== claim.witness) return false;',
      'return true;',
    ],
    ['robot-waits-for-what-failed', "answer.seen.guard?.ended === 'failed'", 'false'],
    [
      'robot-installs-for-ever-what-is-left-behind',
      'return clock.now() - lastTouchedMs(claim) >= patienceMs;',
      'return false;',
    ],
    [
      'robot-lets-go-again-and-again',
      "phase !== 'rescue' || claim.resetAtMs === null",
      "phase !== 'rescue'",
    ],
  ]),
  ...mistakesIn(of('client/client'), by('client', 'budgets'), [
    [
      'robot-logs-in-at-once',
      'if (provenPassword === before) return send();',
      'if (before) return send();',
    ],
    ['robot-forgets-the-limit', 'noteAway(request, error);', ''],
    ['robot-logs-in-eight-at-once', 'maxConcurrency: LOGINS_FORGIVEN,', 'maxConcurrency: 8,'],
    ['robot-believes-a-revoked-password', 'provenPassword = null;\n    log', 'log'],
    ['robot-spends-what-others-spent', 'if (waitMs === 0) return;', 'if (waitMs >= 0) return;'],
    [
      'robot-repeats-a-reset',
      'attemptsMax: 1,',
      '',
      'a change that may have worked is never repeated',
    ],
  ]),
  ...mistakesIn(of('client/api'), by('client', 'budgets'), [
    ['robot-keeps-no-reset', 'keptForUrgent: RESETS_KEPT', 'keptForUrgent: 0'],
    ['robot-asks-again-after-401', 'authPauseMs: 600_000', 'authPauseMs: 60_000'],
    ['robot-one-class-for-all', 'name === RESET_CLASS &&', 'name !== RESET_CLASS &&'],
  ]),
  ...mistakesIn(of('client/errors'), by('client'), [
    [
      'robot-bare-403-is-a-right',
      "if (data && data.error.code !== 'RATE_LIMIT_EXCEEDED')",
      "if (data?.error.code !== 'RATE_LIMIT_EXCEEDED')",
    ],
    ['robot-limit-does-not-grow', '* 2 ** Math.min(inARow - 1, 12)', ''],
    ['robot-no-type-is-a-mistake', "told === 'invalid' && isAboutType(error)", 'false'],
  ]),
  ...mistakesIn(of('counts'), by('budgets'), [
    [
      'robot-forgets-its-past',
      'for (const name of CLASS_NAMES) api.recall(name, inherited[name] ?? []);',
      '',
    ],
    [
      'robot-counts-the-dead-twice',
      'await records.drop(row.key, row.version, { signal }).catch(unlessChanged);',
      'continue;',
    ],
    ['robot-takes-the-living-for-dead', 'Math.max(0, daemons() - 1)', '0'],
    [
      'robot-writes-counts-seldom',
      'const isDue = count >= UNWRITTEN_MAX || clock',
      'const isDue = clock',
    ],
    [
      'robot-knows-others-resets-of-late',
      'const isKnown = isFresh && className !== RESET_CLASS;',
      'const isKnown = known !== null;',
    ],
  ]),
  ...mistakesIn(of('install/scripts'), by('install/scripts'), [
    ['robot-reboots-without-the-marker', '"$guard/log" || fail', '"$guard/log" || true || fail'],
    ['robot-starts-twice', '2>/dev/null || exit ${ALREADY_BEGUN}', '2>/dev/null || true'],
    ['robot-runs-half-a-script', '`{\\n${script}\\n}\\n`', 'script'],
    ['robot-shows-the-secret', '| grep -vF -f "$guard/hidden"', ''],
  ]),
  ...mistakesIn(of('install/quote'), by('install/scripts'), [
    ['robot-quotes-nothing', "text.replaceAll(\"'\", `'\\\\''`)", 'text'],
  ]),
  ...mistakesIn(of('driver'), by('settings'), [
    ['robot-two-users-are-two-accounts', 'one.servers !== undefined &&', 'one.user !== null ||'],
  ]),
];
