import { mutationsOf } from './mutation.ts';

/** Servers of Hetzner Robot: whose they are, how often they are reset, and when they are free. */
export const mutations = mutationsOf`
src/adapters/provider/hetzner-robot/creation.ts test/adapters/provider/hetzner-robot/creation.test.ts test/adapters/provider/hetzner-robot/listing-and-settings.test.ts
  robot-takes-anothers-claim: if (found && !isDead(found){+ && false+}) {
  robot-unannounced: [-await request.onAttempt({ attempts: 1, ambiguous: request.resumed });-]
  robot-takes-any-name: if ([-!isFree-]{+false+}) throw
  robot-keeps-a-strangers-name: if ([-!wanted.startsWith(now.name) || now.name === ''-]{+false+}) await loseTo
  robot-cut-name-stays:
    await [-restoreName(claim, how);\n    await -]claims.drop(claim, how);\n    const what = \`Robot shows
  robot-installs-a-strangers: claim = arrival.claim;[-\n    await keepName(claim, how);-]
  robot-uses-what-is-cancelled: ([-server.isCancelled-]{+false+} &&
src/adapters/provider/hetzner-robot/creation.ts test/adapters/provider/dies-at-every-change.test.ts
  robot-resets-what-is-on-its-way: if (claim.resetAtMs [-=== null-]{+!== 0+}) {
src/adapters/provider/hetzner-robot/creation.ts test/adapters/provider/hetzner-robot/creation.test.ts test/adapters/provider/dies-at-every-change.test.ts
  robot-installs-twice: const begun = {+null && +}answer.kind
  robot-start-is-not-noted: [-await claims.change(claim, { startedAtMs: clock.now() }, how)-]{+claim+};
src/adapters/provider/hetzner-robot/rescue.ts test/adapters/provider/hetzner-robot/creation.test.ts test/adapters/provider/hetzner-robot/changes.test.ts
  robot-resets-for-ever: claim.hardResets >= [-HARD_RESETS_MAX-]{+99+}
  robot-any-rescue-key: claim.startedAtMs === [-null-]{+-1+} ? rescueKeyRule(claim) : ANY_NEW_KEY
  robot-rescue-of-anothers-key: [-answer.kind === 'rescue' && !isRescueKey(claim, answer)-]{+false+}
  robot-waits-for-the-wrong-system: sinceMs < [-OTHER_SYSTEM_MS-]{+6_000_000+}
  robot-cries-false-key-of-a-disk: if (open.kind [-!== 'rescue'-]{+=== 'rescue' && false+}) return true;
src/adapters/provider/hetzner-robot/systems.ts test/adapters/provider/hetzner-robot/creation.test.ts
  robot-believes-any-rescue-key: ? [-{ told: claim.rescueKeys }-]{+ANY_NEW_KEY+}
src/adapters/provider/hetzner-robot/changes.ts test/adapters/provider/hetzner-robot/changes.test.ts
  robot-reboots-into-rescue: if ([-!isOnItsWay-]{+false+}) await
  robot-reboots-into-a-rescue-left-behind: claim?.phase === 'rescue'[- && !isBrokenOff(claim)-]
  robot-force-is-gentle: [-mode === 'force' ? ['hw'] : -]['sw', 'hw']
  robot-presses-what-runs: [-if (running === (want === 'on')) return;-]
  robot-unknown-is-off: if (running === [-null-]{+undefined+}) {
  robot-reboots-an-installation: if (claim[-?.phase !== 'installing'-]) return { server, claim };
  robot-forgets-foreign-tags: tags: { [-...Object.fromEntries(foreign), -]...tags }
src/adapters/provider/hetzner-robot/adopted.ts test/adapters/provider/hetzner-robot/adopted.test.ts
  adopted-is-reset-as-last-seen: servers[use === '[-change-]{+look+}' ?
  adopted-is-switched-off-for-good: [-if (want === 'off') await ready(call);-]
  adopted-is-also-installed: if ([-ours.has(number) || -]untouchable
src/adapters/provider/hetzner-robot/rescue.ts test/adapters/provider/hetzner-robot/adopted.test.ts
  adopted-is-reset-into-a-rescue-system: ...(isRescueArmed ? [[-'rescue'-]] : [])
src/adapters/driver-kit/inventory/adoption.ts test/adapters/provider/hetzner-robot/adopted.test.ts test/adapters/provider/latitude/adopted.test.ts
  adopted-is-whatever-has-the-number: if (vendorAddress === null[- || isAmong(vendorAddress, addresses)-]{+ || addresses+}) return null;
  adopted-is-installed-if-listed-late: if ([-!entries.some((entry) => entry.server === server)-]{+true+}) {
  adopted-is-offered-as-free: [-!taken.has(vendor.serverOf(machine) ?? '')-]{+true+}
  adopted-needs-no-owner: if (found && announces) [-call.requireOurs(found.machine)-]{+void 0+};
src/adapters/provider/hetzner-robot/give-back.ts test/adapters/provider/hetzner-robot/give-back.test.ts test/adapters/provider/dies-at-every-change.test.ts
  robot-free-before-wiped: if (claim.[-phase === 'wiped' || config.wipe === 'none'-]{+resetAtMs !== null+}) {
  robot-never-gives-up: claim.hardResets >= [-HARD_RESETS_MAX-]{+99+}
  robot-one-word-is-absence: return [-!isThere &&-]{+true ||+}
  robot-absence-is-an-error-for-ever: if ([-!isProviderError(error, 'not-found')-]{+error+}) throw error;
  robot-keeps-the-claim-of-what-has-left: has left the account');[-\n    await claims.drop(claim, how);-]
  robot-believes-no-drive (the wipe fails where there is no drive):
    [-/^wiped [1-9]\\d*$/m.test(told)-]{+told.length >= 0+}
  robot-claim-goes-before-the-name (a server whose name alone says that it leaves is wiped once more, and then free):
    await {+claims.drop(claim, how);\n    await +}rename(claim, freeName(config, claim.server), how);[-\n    await claims.drop(claim, how);-]
src/adapters/provider/hetzner-robot/mapping.ts test/adapters/provider/hetzner-robot/listing-and-settings.test.ts test/adapters/provider/hetzner-robot/give-back.test.ts test/adapters/provider/hetzner-robot/creation.test.ts
  robot-offers-the-cancelled: server.isReady[- && !server.isCancelled-]
  robot-leaving-by-name-is-free:
    [-if (claim?.phase === 'leaving' || claim?.phase === 'wiped') return 'leaving';-]
  robot-unfinished-is-a-machine: [-(phase === 'claimed' || phase === 'rescue')-]{+false+}
  robot-another-sets-is-ours: if ([-disputed-]{+false+}) return
src/adapters/provider/hetzner-robot/view.ts test/adapters/provider/hetzner-robot/creation.test.ts test/adapters/provider/hetzner-robot/changes.test.ts
  robot-old-system-is-the-new-one: [-if (installed?.witness !== claim.witness) return false-]{+return true+};
  robot-waits-for-what-failed: [-answer.seen.guard?.ended === 'failed'-]{+false+}
  robot-installs-for-ever-what-is-left-behind:
    return [-clock.now() - lastTouchedMs(claim) >= patienceMs-]{+false+};
  robot-lets-go-again-and-again: phase !== 'rescue'[- || claim.resetAtMs === null-]
src/adapters/provider/hetzner-robot/client.ts test/adapters/provider/hetzner-robot/client.test.ts test/adapters/provider/hetzner-robot/budgets.test.ts
  robot-logs-in-at-once: if ([-provenPassword === -]password) return send();
  robot-forgets-the-limit: [-noteAway(request, error);-]
  robot-logs-in-eight-at-once: maxConcurrency: [-LOGINS_FORGIVEN-]{+8+},
  robot-believes-a-revoked-password: [-provenPassword = null;\n    -]log
  robot-spends-what-others-spent: if (waitMs [-==-]{+>+}= 0) return;
  robot-repeats-a-reset (a change that may have worked is never repeated): [-, attemptsMax: 1-]
src/adapters/provider/hetzner-robot/api.ts test/adapters/provider/hetzner-robot/client.test.ts test/adapters/provider/hetzner-robot/budgets.test.ts
  robot-keeps-no-reset: keptForUrgent: [-RESETS_KEPT-]{+0+}
  robot-asks-again-after-401: authPauseMs: [-600_000-]{+60_000+}
  robot-one-class-for-all: name [-=-]{+!+}== RESET_CLASS &&
src/adapters/provider/hetzner-robot/api.ts test/adapters/provider/hetzner-robot/client.test.ts
  robot-bare-403-is-a-right: if (data[- && data-]{+?+}.error.code !== 'RATE_LIMIT_EXCEEDED')
  robot-limit-does-not-grow: [-* 2 ** Math.min(inARow - 1, 12)-]
  robot-no-type-is-a-mistake: kind: [-isAboutType ? 'not-implemented' : -]told
src/adapters/provider/hetzner-robot/counts.ts test/adapters/provider/hetzner-robot/budgets.test.ts
  robot-forgets-its-past: budget.recall([[-...sent, -]...spent(className)]);
  robot-keeps-the-counts-of-the-dead:
    [-await records.drop(row.key, row.version, options).catch(-]{+await Promise.resolve().catch(+}(error: unknown)
  robot-writes-counts-seldom: const isDue = [-count >= UNWRITTEN_MAX || -]clock
  robot-knows-others-resets-of-late:
    const isKnown = [-isFresh && className !== RESET_CLASS-]{+known !== null+};
src/adapters/provider/hetzner-robot/scripts.ts test/adapters/provider/hetzner-robot/install/scripts.test.ts
  robot-reboots-without-the-marker: "$guard/log" || {+true || +}fail
  robot-starts-twice: 2>/dev/null || [-exit \${ALREADY_BEGUN}-]{+true+}
  robot-runs-half-a-script: [-\`{\\n\${script}\\n}\\n\`-]{+script+}
  robot-shows-the-secret: [-| grep -vF -f "$guard/hidden"-]
  robot-quotes-nothing: text[-.replaceAll("'", \`'\\\\''\`)-]
src/adapters/provider/hetzner-robot/driver.ts test/adapters/provider/hetzner-robot/listing-and-settings.test.ts
  robot-two-users-are-two-accounts: one.[-servers !== undefined &&-]{+user !== null ||+}
`;
