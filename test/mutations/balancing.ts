import { mutationsOf } from './mutation.ts';

/** Who gets traffic, and what is changed at a balancer for it. */
export const mutations = mutationsOf`
src/actors/balancing/desired-members.ts test/actors/balancing/desired-members.test.ts
  wishes-keep-those-of-the-tenant-before: [-    if (tenants.get(slot) !== machineId) leave(slot);\n-]
  wishes-outlive-slots-that-no-read-has:
    [-      for (const slot of [...tenants.keys()]) if (!all.has(slot)) leave(slot);\n-]
  wishes-forget-who-hangs-on-the-guard:
    [-    if (restsOnGuard(view)) unsure.add(slot);\n    else unsure.delete(slot);\n-]
  wishes-are-told-though-they-are-the-same: [-    if (sameData(before, wish)) return;\n-]
  wishes-stay-what-they-were-when-only-time-goes-by:
    [-    dueTimes.set(slot, isWished ? wishDueAtMs(known, now) : null);\n-]
  wishes-wake-somebody-for-machines-of-no-pool:
    [-isWished ? wishDueAtMs(known, now) : null-]{+wishDueAtMs(known, now)+}
  wishes-are-told-each-by-itself: \_\_\_\_if ([-timers.has(pool) || -]!callbacks
src/domain/balancing/desired-member.ts test/actors/balancing/desired-members.test.ts
  wishes-outlive-orders: [-    row.order?.expiresAtMs,\n-]
  wishes-outlive-quarantines: [-    row.quarantine?.untilMs,\n-]
  wishes-outlive-holds: [-    ...holds.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]),\n-]
  wishes-do-not-see-silence: [-    lostAtMs(row, loss),\n-]
src/machines/balancer.ts test/model/balancer.rules.test.ts
  balancing-interrupts-what-it-does-when-else-is-desired:
    \_\_on: { 'desired.changed': { {+target: '.retrieving', +}actions: 'noteDesired' } },\n
  balancing-tells-to-be-settled-what-nobody-looked-for:
    [-        { guard: 'desiredIsNew', target: 'retrieving' },\n-]
  balancing-goes-on-without-the-job:
    [-          { guard: { type: 'leaseLost', params: errorOf }, target: '#balancer.awaitingLease' },\n-]          { target: 'backingOff',
  balancing-asks-for-the-job-again-and-again:
    target: 'barred', actions: [[-'keepStepFailure', -]reportStepFailure]
  balancing-hurries-though-it-is-to-be-left-alone: { [-guard: 'mayHurry', -]target: 'failed',
  balancing-ends-a-pause-when-members-change:
    on: { 'pool.resume': { target: 'tending' {+}, 'members.changed': { target: 'tending' +}} },
src/domain/balancing/plan.ts test/domain/balancing/plan.test.ts
  balancing-breaks-before-it-makes:
    \_\_\_\_['[-creating', makes-]{+leaving', leavers+}.length > 0, [-makes-]{+childrenFirst(leavers)+}],\n    ['[-waiting', unready-]{+creating', makes+}.length > 0, [-[]-]{+makes+}],\n    ['[-leaving', leavers-]{+waiting', unready+}.length > 0, [-childrenFirst(leavers)]-]{+[]]+},\n
  balancing-waits-for-what-is-refused: const makes = create[-.filter(isWelcome)-];
  balancing-takes-away-what-has-no-successor-yet:
    \_\_\_\_leavers[-: withoutStandIns(leavers, matches, places)-],\n
  balancing-drops-whatever-nobody-let-go:
    const dropping = mayDropAll ? [] : suspicious(input, [-sorted-]{+{ drops: [] }+});
src/domain/balancing/matches.ts test/domain/balancing/plan.test.ts
  balancing-makes-children-of-parents-that-are-not-ready:
    const isReady = over[-?.phase === 'ready'-]{+ !== null+} &&\_
  balancing-keeps-the-twin-with-the-higher-id: return ranks === 0 ? one.ref.id [-<-]{+>+} other.ref.id
src/actors/balancing/objects.ts test/actors/balancing/refusals.test.ts
  balancing-settles-though-changes-are-refused:
    \_\_if (plan.stage === 'settled' && plan.refused.length > [-0-]{+99+}) {
  balancing-forgets-what-was-refused: [-  service.refusals.set(key, refusedAgain(before, why, nowMs()));\n-]
src/actors/balancing/objects.ts test/actors/balancing/looks.test.ts
  balancing-destroys-by-what-it-remembers:
    [-!seen.isFull && NEEDS_FULL_LOOK.has(plan.stage)-]{+NEEDS_FULL_LOOK.size === 0+}
src/actors/balancing/pool-service.ts test/actors/balancing/daemons.test.ts
  balancing-calls-a-look-new-that-is-not: seen[-?.change === change && changing === 0 ? seen : null-]
  balancing-writes-on-after-its-session: [-stopping.aborted || -]isOver()
  balancing-acts-on-after-a-long-stop: stopping.aborted[- || isOver()-]
src/actors/balancing/pool-service.ts test/actors/balancing/looks.test.ts
  balancing-resyncs-from-memory: fullAtMs !== null[- && begunAtMs - fullAtMs < RECALL_MS-]
  balancing-recalls-after-a-look-that-failed: \_\_\_\_\_\_\_\_[-fullAtMs = null;\n        -]const code
src/actors/balancing/balancers.ts test/actors/balancing/daemons.test.ts test/actors/balancing/crash.test.ts
  balancing-makes-pools-anew-after-the-end: \_\_\_\_\_\_\_\_[-if (!isOver) -]timer
  balancing-makes-crashed-pools-anew-again-and-again: RESPAWN_FIRST_MS[- * 2 ** Math.min(crashes - 1, 20)-]
  balancing-lets-crashed-actors-go-on: [-      stopping.abort();\n-]
  balancing-gives-back-what-the-next-session-took: deps.leases.releaseAll([-session-])
src/actors/balancing/balancers.ts test/actors/balancing/looks.test.ts
  balancing-recalls-after-a-pause: [-      service.distrust();\n-]
src/actors/balancing/services.ts test/actors/balancing/vectors.test.ts
  balancing-begins-before-the-fleet-is-known:
    \_\_[-while-]{+if+} (!isKnown()) await sleep(clock, KNOWN_MS, ends);\n
src/actors/balancing/services.ts test/actors/balancing
  balancing-heirs-read-no-rows: service.rows.[-set(row.machineId, row)-]{+size+};
src/actors/balancing/services.ts test/actors/balancing/daemons.test.ts
  balancing-takes-over-under-another-mark: [-  await requireSameMark(deps, service, lease);\n-]
`;
