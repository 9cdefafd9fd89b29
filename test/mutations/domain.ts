import { mutationsOf } from './mutation.ts';

/** Decisions as pure functions. */
export const mutations = mutationsOf`
src/domain/labels.ts test/console/api/submit/submit.test.ts
  a-label-is-not-removed: if (value === null) [-labels.delete(key)-]{+labels.has(key)+};
  labels-are-of-any-length: part.length <= [-PART_MAX-]{+9_999+}
src/domain/labels.ts test/console/api/reading.test.ts
  any-value-of-a-label-will-do: (value === undefined [-|| found === value-]{+|| found !== value+})
src/domain/windows.ts test/config/windows.test.ts
  an-open-window-of-two-does-not-count: [-if (isOpen) return null;-]
  a-window-gates-other-providers: [-(!providers || providers.includes(place.provider)) &&-]
src/config/windows-schema.ts test/config/windows.test.ts
  a-window-opens-a-moment-late: Math.floor(nowMs)[- + 1-]
  a-window-never-closes: if (closesAtMs > [-nowMs-]{+0+}) return
src/domain/provisioning/replacement.ts test/domain/provisioning/replacement.test.ts
  a-replacement-waits-for-no-window: return [-input.replacementBar ??-] null;
src/domain/backoff.ts test/domain/backoff.test.ts
  backoff-never-grows-past-its-start: [-Math.trunc(last * descriptor.exponent)-]{+last+}
  backoff-maximum-below-the-start:
    Math.[-max(initial, Math.-]floor(descriptor.maximumMs / 1000) * SECOND_NS[-)-]
src/domain/eligibility.ts test/domain/eligibility.test.ts test/domain/view.test.ts
  a-heartbeat-of-an-earlier-agent-counts:
    agentStarted && heartbeat [-&& heartbeat.atMs >= agentStarted.atMs -]? heartbeat : null
  an-installation-that-failed-hands-over:
    return reportResult === [-'Success' ? 'DONE' : 'FAILED-]{+null ? 'FAILED' : 'DONE+}';
  a-hold-counts-before-its-begin: [-(row.fromMs ?? nowMs) <= nowMs && -]isUnended(row, nowMs)
  a-quarantine-that-ended-bars: quarantine !== null[- && isInForce(quarantine, nowMs)-];
src/domain/eligibility.ts test/domain/eligibility.test.ts
  lost-at-the-deadline-itself: return at !== null && nowMs >{+=+} at;
  an-agent-that-installs-is-lost-as-any:
    return [-Math.max(silence, handedOutAtMs + loss.handOutMs)-]{+silence+};
  a-machine-handed-over-is-worked-on: [-  'it was handed over',\n-]
  holds-of-another-slot-bar: [-      hold.slotId === slotId &&\n-]
src/domain/eligibility.ts test/domain/eligibility.test.ts test/actors/provisioning/provider-vectors.test.ts
  a-start-is-given-up-one-failure-late: return count >[-=-] failuresMax ||
src/domain/eligibility.ts test/domain/eligibility.test.ts test/domain/recovery/ladder.test.ts
  preserve-lets-a-reinstallation-through: ShepherdReinstall: ['no-recover'[-, 'preserve'-], 'retired'],
src/domain/eligibility.ts test/domain/eligibility.test.ts test/domain/requests.test.ts test/actors/tasks/orders.test.ts
  an-order-goes-past-a-hold: LIFTED_BY_ORDER: ReadonlySet<Ineligibility> = new Set([{+'a hold forbids it', +}
src/domain/eligibility.ts test/domain/eligibility.test.ts test/domain/requests.test.ts test/domain/recovery/ladder.test.ts
  an-order-that-expired-is-carried-out:
    PROCESS_FOR[order.verb] === process [-&& order.expiresAtMs > nowMs -]? order : null
src/domain/recovery/ladder.ts test/domain/recovery/ladder.test.ts
  a-preserved-machine-is-reinstalled:
    return [-erases && preserved ? 'a hold preserves its data' : -]null;
  a-second-reboot-is-asked-as-the-first: mode: [-isUnproved(recovery, rung) ? 'force' : -]'graceful',
  one-attempt-too-many-on-each-rung: if (tried >[-=-] now.policy[rung].attempts ||
  a-resumed-request-may-be-preserved-meanwhile:
    [-  if (RUNG_FACTS[rung].erases && preserved) return false;\n-]
  an-order-is-asked-for-again: \_\_if (order !== null) return [-true-]{+false+};\n
src/domain/recovery/ladder.ts test/domain/recovery/ladder.test.ts test/config/ladder.test.ts
  erasing-is-on-by-default: RUNG_FACTS[[-rung].erases ? 0 : RUNG_FACTS[-]rung].attempts
src/domain/recovery/ladder.ts test/domain/recovery/ladder.test.ts test/actors/tasks/recovery/reboot.test.ts
  a-quick-machine-is-hardly-waited-for:
    return Math.min(patienceMs, [-Math.max(SHORTEST_WAIT_MS, usualMs)-]{+usualMs+});
src/domain/recovery/guard-judgement.ts test/domain/recovery/guard-judgement.test.ts
  the-guard-never-sees-a-small-scope: [-Math.min(least, Math.max(1, machines / 2))-]{+least+}
  calm-that-nobody-watched-counts: if (row.calmSinceMs === null[- || !isWatched-])
  the-guard-thaws-what-an-operator-froze: [-  if (row.frozen?.kind === 'manual' && !isOver) return row;\n-]
  a-freeze-never-ends-by-itself: [-frozen.untilMs <= nowMs-]{+false+};
  a-freeze-that-ended-hides-an-alarm: const frozen = [-alarm && -]{+isOver ? null : alarm && +}{ ...alarm, atMs: nowMs,
test/doubles/mem-bmdb/guard-counts.ts test/domain/recovery/guard-counts.test.ts test/domain/recovery/guard-judgement.test.ts
  an-operator-that-thaws-is-overruled: [-  if (lostAt <= lastThawMs(provider, counting)) return false;\n-]
test/doubles/mem-bmdb/silence.ts test/adapters/bmdb/mem/mem-bmdb.test.ts
  a-machine-that-comes-and-goes-is-heard:
    [-(-]isHeartbeating(row, nowMs, loss)[- && unbroken.count >= PERMIT_RETURNED_AFTER)-]
src/domain/recovery/permits.ts test/domain/recovery/permits.test.ts test/actors/turns/permit-queue.test.ts
  takes-are-not-counted-against-the-budget: tallyOf(scope).recovering[- + takenIn(scope)-];
  power-that-was-left-off-is-not-under-way: [-  if (powerOffAskedAtMs !== null) return true;\n-]
src/domain/recovery/guard-status.ts test/domain/recovery/guard-status.test.ts
  an-order-goes-past-a-freeze: const isHeeded = [-state === 'frozen' || state === 'blind' || -]!isOrder;
src/domain/provisioning/reconcile.ts test/domain/provisioning/reconcile.test.ts
  no-allocate-that-ended-bars: if (isInForce(hold, [-nowMs-]{+0+})) barring.set
  no-allocate-with-an-end-bars-nothing: if ([-isInForce(hold, nowMs)-]{+hold.untilMs === null+}) barring.set
  holds-of-another-provider-bar: if ([-hold.provider !== provider || -]!BARRING_CREATION.includes
  penalties-of-another-provider-shelve:
    if ([-penalty.provider !== provider || -]penalty.untilMs <= nowMs) continue;
  the-limit-is-one-too-many: !intent && machines >[-=-] machinesMax
src/domain/recovery/retirement.ts test/domain/recovery/retirement.test.ts
  every-end-retires: when === 'chronic' &&[- cause === 'chronic'-]{+ true+}
src/domain/provisioning/scaling.ts test/domain/provisioning/scaling.test.ts
  a-preserved-machine-is-chosen: state === 'HandedOver' || substate === 'conflict'[- || holds.includes('preserve')-]
src/domain/provisioning/replacement.ts test/domain/provisioning/replacement.test.ts
  replacements-have-no-cap: [-if (replaced < replacementsMax) -]return input.replacementBar
  a-frozen-fleet-is-replaced: [-if (isFrozen) return 'recovery is frozen, so nothing is replaced';\n-]
  the-first-filling-is-a-replacement: lost > 0 [-&& filled >= target.machines-]
  replacements-of-yesterday-count: each.provider === provider[- && each.atMs > nowMs - REPLACEMENT_MS-]
  a-lost-machine-is-in-service: let [inService, filled] = [managed[- - out.length-] - outIntents
  a-pause-by-a-person-is-a-loss: row.quarantine!.kind === 'byOperator'[- && row.quarantine!.cause !== null-]
  a-round-forgets-its-replacements: [-if (replaces) replaced += 1;-]
src/domain/eligibility.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t retiring
  a-retired-machine-is-recovered: ShepherdRecovery: ['no-recover'[-, 'retired'-]],
  a-retired-machine-is-started: ShepherdAgentStart: ['no-start'[-, 'retired'-]],
src/domain/eligibility.ts test/domain/provisioning/replacement.test.ts
  a-retired-slot-is-picked-again: BARRING_CREATION: readonly HoldKind[] = ['no-allocate'[-, 'retired'-]]
src/domain/provisioning/findings.ts test/actors/provisioning/record.test.ts test/domain/provisioning/findings.test.ts
  missing-after-two-listings: missing.seen + [-1-]{+2+} >= seenMin && nowMs
  missing-within-a-minute: [- && nowMs - missing.sinceMs >= overMs-]
src/domain/provisioning/findings.ts test/domain/provisioning/reconcile.test.ts test/domain/provisioning/findings.test.ts test/actors/provisioning/record.test.ts
  an-empty-listing-is-believed: if (listed === 0 && expected [->-]{+<+} 0) {
src/domain/provisioning/update.ts test/domain/provisioning/update.test.ts test/actors/provisioning/updater.test.ts
  missing-is-back-without-being-seen: [-seen.status !== 'Missing' && -]row.missing !== null
  an-address-is-cleared-at-once:
    seen[field] !== provided[field][- && (seen[field] !== null || doubtful.includes(field))-]
src/domain/provisioning/provider-tags.ts test/domain/provisioning/provider-tags.test.ts
  a-lost-reply-frees-the-slot: if (outcome === 'unknown') return end('[-unresolved-]{+failed+}', 'unknown');
src/domain/provisioning/provider-holds.ts test/domain/provisioning/provider-holds.test.ts
  a-shorter-throttle-ends-a-longer-one:
    if (before && before.untilMs [->= context.nowMs + forMs-]{+< context.nowMs+}) return [];
  all-try-a-quota-that-is-over:
    [-if (input.running > 0 || input.onTrial.has(id)) return \`one trial at a time (\${id})\`;\n-]
src/domain/request-outcome.ts test/domain/request-outcome.test.ts
  a-quarantine-hides-a-conflict:
    [-  if (isInConflict(row, now.nowMs)) return refused(\`\${quarantineText(row)} already\`);\n-]
  a-preserved-machine-is-given-back:
    [-  if (isHeld(row, 'preserve', now)) return refused('a hold preserves it');\n-]
  an-installation-that-an-agent-has-is-cancelled: if ([-handedOutAtMs !-]{+requestGeneration =+}== null) {
  a-generation-is-used-twice: [requestGeneration[-, reportGeneration-]].reduce
src/adapters/bmdb/submitted-requests.ts test/adapters/bmdb/pg/requests.test.ts
  what-cannot-be-read-is-a-thaw: if (data === undefined) return [-null-]{+{ verb: 'thaw' }+};
`;
