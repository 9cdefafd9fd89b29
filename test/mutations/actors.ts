import { mutationsOf } from './mutation.ts';

/** What daemons do: the actors. */
export const mutations = mutationsOf`
src/actors/tasks/task.ts test/actors/tasks/ended-turns.test.ts
  a-turn-that-ended-keeps-its-connection:
    \_\_if (turn.signal.aborted{+ && shell === undefined+}) {\n    shell.close();
  giving-up-leaves-the-connection-open: [-        shell?.close();\n-]
  a-turn-that-ended-keeps-its-work:
    [-    await work.cancel('the task ended while it claimed the machine');\n-]
src/actors/tasks/task.ts test/actors/tasks/agent-start-failures.test.ts
  foreign-device-is-taken-over: machine.ownership [-!== 'ours-]{+=== 'unmarked+}'
src/actors/tasks/agent-start.ts test/actors/tasks/agent-start.test.ts
  attempt-noted-after-the-agent-started:
    [-  await work.note({\n    kind: 'agentStartAttempt',\n    ...(newHostKey !== null && { hostKey: newHostKey }),\n  });\n-]
src/actors/tasks/agent-start.ts test/actors/tasks/agent-start.test.ts test/actors/tasks/host-key-proof.test.ts
  a-proved-host-key-is-pinned-later: return [-hostKey === row.hostKey ? null : hostKey-]{+null+};
  insecure-pins-what-it-saw: [-policyFor(given) === 'insecure' ? null : -]shellOf(given).hostKey
src/actors/tasks/agent-start.ts test/actors/tasks/agent-start-failures.test.ts
  a-refusal-backs-off-as-anything-else:
    [-if (NEEDS_PEOPLE.has(code)) return longBackoff(deps.backoff, work);-]
src/actors/tasks/host-key-proof.ts test/actors/tasks/host-key-proof.test.ts
  the-pin-passes-before-the-inventory:
    if (machine.hostKey !== undefined && {+pinned === null && +}policy !== 'insecure') {
  a-wrong-host-stays-connected: [-    question.session.close();\n-]
  any-hash-proves-the-secret: return timingSafeEqual(actual, [-Buffer.from(expected, 'hex')-]{+actual+});
src/actors/turns/turns.ts test/actors/turns/task-pool.test.ts
  an-ended-turn-keeps-its-connection: [-    entry.held.shell?.close();\n-]
  a-turn-nobody-begins-is-kept: if (entry?.controller === controller && [-!-]entry.begun) end(slot);
  a-place-is-given-twice: [-    if (!entry.placed) return;\n-]
  the-oldest-attempt-waits-longest:
    bySeniority([-each.seniority, next-]{+next.seniority, each+}.seniority) < 0
  who-gave-up-waiting-gets-a-place:
    [-signal.addEventListener('abort', waiter.refuse, { once: true });\n      -]}),
src/actors/cell-pool.ts test/actors/cell-pool.test.ts
  a-crashed-machine-keeps-its-work: \_\_\_\_[-dropWork(slot);\n    -]options.onCrash(slot, error);
  a-machine-respawns-as-soon-each-time: RESPAWN_FIRST_MS[- * 2 ** Math.min(count, 20)-]
  a-retired-machine-keeps-its-seat:
    \_\_\_\_\_\_cellOf.get(slot)?.ref.send({ type: 'machine.retire', slot });[-\n      leave(slot);-]
src/actors/fleet-state.ts test/actors/fleet-state.test.ts
  who-vanished-is-counted-on: \_\_\_\_\_\_[-count(entry, -1);\n      -]entries.delete(slot);
  who-changed-is-counted-twice: [-    if (before) count(before, -1);\n-]
  a-recovery-of-another-daemon-counts: [-working && -]entry.substate === 'claiming'
src/actors/provisioning/creations.ts test/actors/provisioning/population.test.ts
  a-creation-that-was-not-begun-counts: [-          terms.population.count -= added;\n-]
  a-creation-that-failed-counts: [-  if (intent === 'failed') terms.population.count -= 1;\n-]
src/actors/provisioning/record.ts test/actors/provisioning/record.test.ts test/actors/provisioning/resolve-intents.test.ts
  holds-of-a-found-device-are-forgotten: [-  await restoreHolds(at, { ...intent, device });\n-]
src/actors/provisioning/record.ts test/actors/provisioning/record.test.ts
  holds-of-an-orphan-are-forgotten:
    [-      await restoreHolds(at, { provider, slotId, witness, device: ours });\n-]
  an-orphan-is-taken-over-at-first-sight: [-    if (!state.orphansBefore.has(device!.id!)) return;\n-]
  missing-without-a-last-look:
    if ({+provided === null && (+}await isThere(at, [-provided!.providerId-]{+''+})){+)+} {
src/actors/provisioning/record.ts test/actors/provisioning/resolve-intents.test.ts
  a-creation-whose-device-was-found-is-given-up: return [-device !== null-]{+false+};
src/actors/provisioning/updater.ts test/actors/provisioning/idle-tags.test.ts
  idle-tags-of-foreign-devices: listed?.id !== id[- || listed.ownership !== 'ours'-]
  holds-that-are-over-are-tagged: isInForce(hold, [-nowMs-]{+0+})
src/actors/provisioning/updater.ts test/actors/provisioning/updater.test.ts
  a-look-names-no-reservation: { signal, timeoutMs: READ_MS[-, reservationId-] };
  a-look-past-the-holds:
    await [-holds.guard(-]provider.[-name, 'get', () => provider.-]getMachine(providerId, options)[-)-]
src/actors/leases.ts test/actors/leases.test.ts
  a-lease-of-a-dead-session-counts: found [-&& keeper.current() === found.session -]? found.lease : null
src/actors/providers/holds.ts test/actors/providers/holds.test.ts
  a-trial-lets-all-through:
    if (heldMs <= 0) return[- void trials.set(\`\${provider} \${call}\`, clock.monotonic())-];
  a-newer-hold-is-lifted-too: [-    if (known && known.untilMs > liftedUntilMs) return;\n-]
  holds-of-another-provider-count: if ([-owner !== provider || -]!own.has(key)) continue;
src/actors/tasks/recovery/boot.ts test/actors/tasks/recovery/asking.test.ts
  refused-before-sending-is-noted-as-refused: \_\_if ([-!attempt.asked-]{+attempt.asked === null+}) {\n
  asked-again-without-another-check:
    \_\_\_\_[-throw new ProviderError('transient', 'the last look at the machine is too old to ask again'-]{+await Promise.resolve(+});\n
src/actors/tasks/recovery/boot.ts test/actors/tasks/recovery/reboot.test.ts
  a-lost-reply-is-a-refusal: if ([-facetsOf(error).outcome === 'unknown' || -]isOurEnd) throw error;
  an-ignored-request-of-a-dead-daemon-is-awaited: isUnheard: [-isUnheard(operationRef) } };-]{+false } };+}
  an-outage-counts-as-an-attempt: const counts = [-!isOutage(error)-]{+true+};
src/actors/providers/holds.ts test/actors/providers/send-check.test.ts
  a-check-holds-for-ever: if (checkedAtMs !== null[- && clock.monotonic() - checkedAtMs <= HOLDS_MS-]) return;
src/actors/tasks/recovery/recovering.ts test/actors/tasks/recovery/evidence.test.ts
  a-closed-port-and-a-known-boot-prove-a-boot: if ([-before === null && -]seenClosed) return
src/actors/tasks/recovery/recovering.ts test/actors/tasks/recovery/evidence.test.ts test/actors/tasks/recovery/reboot.test.ts
  a-heartbeat-older-than-the-request-proves:
    return row.heartbeat.[-atMs > afterMs ? row.heartbeat.bootId : null-]{+bootId+};
src/actors/tasks/recovery/power-cycle.ts test/actors/tasks/recovery/power-cycle.test.ts
  unknown-power-counts-as-off: be read'))?.power [-=== 'off-]{+!== 'on+}';
  a-cycle-that-fails-leaves-it-off: \_\_if (attempt.power !== '[-off-]{+on+}') return;\n
src/actors/tasks/recovery/power-cycle.ts test/actors/tasks/recovery/left-off.test.ts
  a-late-shutdown-leaves-it-off: nowMs - offAtMs < [-REBOOT_OFF_MS-]{+Infinity+}) return;\n
  a-reboot-is-seen-off-at-once: nowMs - offAtMs < [-REBOOT_OFF_MS-]{+0+}) return;\n
  a-held-machine-is-switched-on: if ([-!mayRecover(given)-]{+false+}) return;\n
  a-power-button-is-pressed-twice: await powerOn(given, { forMs: 0, attempt });\n[-      triesLeft = 0;\n-]    } catch
src/actors/tasks/recovery/services.ts test/actors/tasks/recovery/restart-agent.test.ts
  an-order-gives-way-to-the-next-rung: [-  if (attempt.step.order !== null) throw found;\n-]
  an-agent-of-an-earlier-boot-is-stopped: [-if (!hasBooted) -]await inPatience(
src/actors/turns/turns.ts test/actors/turns/await-turn.test.ts
  a-permit-is-not-waited-for: [-    if (next === 'recovery') await deps.permits.wait(slot, signal);\n-]
  every-daemon-asks-at-once: if (rank [->-]{+<+} 0) await sleep(clock, rank * headStartMs, signal);
src/actors/tasks/deprovision.ts test/actors/tasks/deprovision.test.ts
  a-second-request-is-not-preceded-by-a-look: \_\_if (asked [->-]{+<+} 0) {
  a-look-that-fails-means-gone: requirePassing(given, error);\n    return { state: '[-there-]{+gone+}' };
src/actors/tasks/deprovision.ts test/actors/tasks/deprovision.test.ts test/actors/tasks/end-agent.test.ts
  a-machine-given-back-may-come-again: \_\_\_\_\_\_[-!returnToPool-]{+requestedBy === reason+} && {
`;
