import { mutationsOf } from './mutation.ts';

/** Statements of PostgreSQL: who may do what, and who waits for whom. */
export const mutations = mutationsOf`
src/adapters/bmdb/pg/live.ts test/adapters/bmdb/pg/claims.test.ts -t clock says it is dead
  session-dead-by-the-clock-is-alive: [-AND session_deadline > now() -]FOR KEY
src/adapters/bmdb/pg/live.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t intents
  step-of-a-dead-session-is-none-of-its-business:
    [-if (!rows[0]?.alive) throw declareDead(session, what.doing);-]
src/adapters/bmdb/pg/live.ts test/adapters/bmdb/pg/race-guards.test.ts -t keeps the session
  session-check-does-not-lock: > now()[- FOR KEY SHARE-]\`
src/adapters/bmdb/pg/tasks/claim.ts test/adapters/bmdb/pg/claims.test.ts
  claim-without-session-check:
    WITH me AS MATERIALIZED ([-\${liveSession(session)-]{+SELECT * FROM sessions WHERE session_id = \${session+}})
  claim-on-an-old-look: [- AND w.epoch = seen.epoch-]
  claim-takes-a-dead-lease-without-a-word: AND [-w.session_id IS NULL AND -]w.epoch
  claim-keeps-the-epoch: [-epoch = nextval('work_epoch'), -]work_started_at
  claim-does-not-say-that-it-started: \_\_\_\_\_\_\_\_FROM taken, me{+ WHERE false+}\n
src/adapters/bmdb/pg/tasks/claim.ts test/adapters/bmdb/pg/race-guards.test.ts -t is skipped while
  claim-waits-for-a-lease: FOR UPDATE OF w[- SKIP LOCKED-]
src/adapters/bmdb/pg/tasks/claim.ts test/adapters/bmdb/pg/contract-work.test.ts -t never worked on
  claim-of-what-was-refused: WHERE [-seen.refusal IS NULL AND -]seen.epoch
src/adapters/bmdb/pg/claims/cancel.ts test/adapters/bmdb/pg/race-guards.test.ts -t stays with its session
  cancel-dead-without-not-live: [- AND NOT \${LIVE}-]\n
src/adapters/bmdb/pg/claims/cancel.ts test/adapters/bmdb/pg/race-guards.test.ts -t while the release waited
  cancel-what-was-taken-since: WHERE [-w.epoch = seen.epoch AND w.session_id = seen.session_id AND -]\${only}
src/adapters/bmdb/pg/claims/cancel.ts test/adapters/bmdb/pg/near-the-deadline.test.ts -t extended
  cancel-dead-does-not-lock-the-session: [-FOR NO KEY UPDATE SKIP LOCKED-]
src/adapters/bmdb/pg/claims/cancel.ts test/adapters/bmdb/pg/locked-rows.test.ts -t the sweep
  cancel-of-sessions-waits: [-\${wait ? '' : 'SKIP LOCKED'}-]
src/adapters/bmdb/pg/claims/cancel.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t recovery
  used-permit-is-given-back: AND [-l.asked_at >= e.granted_at-]{+false+}
src/adapters/bmdb/pg/tasks/held-works.ts test/adapters/bmdb/pg/race-guards.test.ts -t its end waited
  ends-without-for-update: [- FOR UPDATE OF w-]\n
src/adapters/bmdb/pg/tasks/held-works.ts test/adapters/bmdb/pg/race-guards.test.ts -t keeps its lease
  note-does-not-lock-the-lease: [- FOR UPDATE OF w-]\n
src/adapters/bmdb/pg/tasks/held-works.ts test/adapters/bmdb/pg/claims.test.ts -t a new claim with an old one
  end-or-note-with-an-old-claim: [-w.epoch = works.epoch AND -]w.session_id
src/adapters/bmdb/pg/tasks/held-works.ts test/adapters/bmdb/pg/contract-work.test.ts -t backoff
  backoff-of-all-processes-ends: [- AND b.process = \${of.process}-]
src/adapters/bmdb/pg/tasks/ambiguous-commits.ts test/adapters/bmdb/pg/lost-answers.test.ts -t had already
  claim-that-was-lost-is-an-earlier-one: \_[-AND w.epoch > \${newest} -]AS ours
src/adapters/bmdb/pg/tasks/ambiguous-commits.ts test/adapters/bmdb/pg/lost-answers.test.ts -t of claims
  claim-that-was-lost-is-anybody-s: [-w.session_id = \${session} AND -]w.process
src/adapters/bmdb/pg/session.ts test/adapters/bmdb/pg/near-the-deadline.test.ts -t in time
  poke-brings-a-dead-session-back: [- AND session_deadline > clock_timestamp()-]
src/adapters/bmdb/pg/session.ts test/adapters/bmdb/pg/race-guards.test.ts -t the closing of a session
  goodbye-does-not-wait-for-its-own: WHERE session_id = \${session}[- FOR UPDATE-]\`
src/adapters/bmdb/pg/sweep.ts test/adapters/bmdb/pg/contract-work.test.ts -t sessions
  sweep-removes-a-session-early: now() - [-2-]{+0+} * session_interval_seconds
src/adapters/bmdb/pg/tasks/notes.ts test/adapters/bmdb/pg/race-guards.test.ts -t keeps the operator request open
  note-under-an-order-does-not-hold-it: AND expires_at > now()[- FOR SHARE-]\`
src/adapters/bmdb/pg/tasks/notes.ts test/adapters/bmdb/pg/race-guards.test.ts -t when its lease changes hands
  note-without-its-lease: [-if (-]heldEpochs(held.session, doing, rows)[-.size === 0) throw workLost(held)-];
src/adapters/bmdb/pg/tasks/notes.ts test/adapters/bmdb/pg/claims.test.ts -t racing sessions
  guard-lock-removed: [-  if (needsPermit) await lockGuard(q);\n-]
src/adapters/bmdb/pg/claims/held-claim.ts test/adapters/bmdb/pg/race-guards.test.ts -t keeps its permit
  note-does-not-hold-its-permit: WHERE machine_id = \${machine}[- FOR KEY SHARE-]
src/adapters/bmdb/pg/tasks/tags.ts test/adapters/bmdb/pg/contract-guard.test.ts -t permits
  a-failed-attempt-keeps-its-permit: if ([-ladder.length > 0-]{+false+}) {
src/adapters/bmdb/pg/recovery/permits.ts test/adapters/bmdb/pg/permits.test.ts
  the-ladder-takes-the-permit-of-orders: [-isOrder ? ORDERS_KEPT : 0-]{+ORDERS_KEPT+}
src/adapters/bmdb/pg/recovery/permits.ts test/adapters/bmdb/pg/contract-guard.test.ts -t permits
  what-left-the-power-off-is-frozen: [-OR l.power_off_asked_at IS NOT NULL -]AS
  permits-of-a-location-count-where-the-machine-is:
    [-coalesce(e.location, p.provider_location)-]{+p.provider_location+}
  started-ones-with-a-permit-count-twice:
    [-      AND NOT EXISTS (SELECT 1 FROM recovery_permits e WHERE e.machine_id = a.machine_id)\n-]
  budget-of-locations-is-none: locations: [-location === null ? [] : [location-]{+[+}],
src/adapters/bmdb/pg/people/apply.ts test/adapters/bmdb/pg/contract-requests.test.ts -t an order
  an-order-expires-for-want-of-a-permit: [-ended.outcome === EXPIRED-]{+false+} &&
src/adapters/bmdb/pg/guard/guard-rows.ts test/adapters/bmdb/pg/claims.test.ts -t racing sessions
  guard-lock-locks-nothing: WHERE scope = '\${FLEET}'[- FOR UPDATE-]\`
src/adapters/bmdb/pg/guard/guard-repository.ts test/adapters/bmdb/pg/guard.test.ts
  looks-wait-for-each-other: FROM guard_pulse FOR UPDATE[- SKIP LOCKED-]
src/adapters/bmdb/pg/guard/guard-repository.ts test/adapters/bmdb/pg/race-guards.test.ts -t freezes nothing if an operator
  look-judges-what-somebody-decided: if (!isDue[- || !isSameGuard(before, rows)-]) {
  same-guard-ignores-thaws:
    rows.map(({ scope, frozen[-, thawedAtMs -]{+ +}}) => ({ scope, frozen[-, thawedAtMs -]{+ +}}))
src/adapters/bmdb/pg/guard/guard-repository.ts test/adapters/bmdb/pg/contract-guard.test.ts -t the guard
  grace-is-for-orders-too: gate.frozen(provider) ?? [-(order === null ? gate.grace : null)-]{+gate.grace+}
src/adapters/bmdb/pg/guard/guard-repository.ts test/adapters/bmdb/pg/contract-guard.test.ts -t frozen until an end
  the-end-of-a-freeze-waits-for-its-turn: [-  !pulse.freezeOver &&\n-]
src/adapters/bmdb/schema/migrations/20251101000800_freeze-end.sql test/adapters/bmdb/pg/guard.test.ts -t that an older daemon thawed
  an-end-outlives-its-freeze: NEW.frozen_until := [-NULL-]{+OLD.frozen_until+};
src/adapters/bmdb/pg/guard/guard-repository.ts test/adapters/bmdb/pg/contract-guard.test.ts -t permits
  freeze-of-one-provider-is-of-all: frozen[-.find(({ scope }) => scope === provider)-]{+[0]+}
src/adapters/bmdb/pg/people/apply-effects.ts test/adapters/bmdb/pg/race-guards.test.ts -t does not lift a contradiction
  a-conflict-is-lifted: \${machine}[- AND kind <> 'conflict'-]\`
src/adapters/bmdb/pg/people/apply-effects.ts test/adapters/bmdb/pg/contract-requests.test.ts -t release
  release-forgets-what-an-order-did: AND y.state = '[-open-]{+done+}'
  release-forgets-an-order-whose-power-is-owed: power_off_asked_at IS NOT NULL[- AND NOT \${IS_ORDERED}-]
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t intents
  hold-of-another-provider-bars: WHERE [-h.provider = at.provider AND -]h.slot_id
  no-allocate-with-an-end-is-none:
    h.kind IN (\${texts(BARRING_CREATION)})\n      AND [-\${holdsNow('h')}-]{+h.until IS NULL+}
  no-allocate-never-ends:
    h.kind IN (\${texts(BARRING_CREATION)})[-\n      AND \${holdsNow('h')}-]
  any-hold-bars-creation: [-\n      AND h.kind IN (\${texts(BARRING_CREATION)})-]
  penalty-of-another-provider-bars: WHERE [-h.provider = at.provider AND -]h.key
  machine-of-another-provider-is-in-the-way: WHERE [-p.provider = at.provider AND -]p.provider_reservation_id
  namesake-of-a-slot-is-in-the-way: [-\n      AND p.provider_reservation_id IS NULL-]
  attempt-whatever-came-to-the-slot: WHEN [-at.attempts IS NOT NULL AND at.ours-]{+false+} THEN
  nothing-noted-under-a-hold: [-at.attempts IS NOT NULL AND -]at.ours
  empty-since-is-the-last-time: [-coalesce(i.empty_since, now()-]{+now(+})
  refused-attempt-is-noted: n.ours[- AND n.obstacle IS NULL-]
  intent-of-the-living-is-resumed:
    [-NOT EXISTS (SELECT 1 FROM sessions s\n           WHERE s.session_id = i.session_id AND \${LIVE})-]{+true+}
  penalty-never-grows: [-least(h.level, 30)-]{+0+}
  adoption-forgives-no-penalty: [-DELETE FROM provider_holds h USING-]{+SELECT FROM provider_holds h,+}
  adoption-forgives-all-penalties: [- AND h.key = a.key-]
  taken-device-is-an-unknown-fault: if ([-!isUniqueViolation(error)-]{+true+}) throw error
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/leases.test.ts -t whose intent ends while
  attempt-on-a-slot-with-a-machine: WHEN [-\${OCCUPIED}-]{+false+} THEN
  attempt-on-a-shelved-slot: [-ELSE \${BARRED} -]END
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/leases.test.ts -t takes over its job
  job-of-an-intent-is-not-locked: [- FOR SHARE OF l-]
  intent-without-its-job: [-w.leased AND -]NOT w.occupied
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/lost-answers.test.ts -t of an intent of a job
  intent-that-was-opened-is-in-its-own-way:
    DO [-UPDATE SET hostname = excluded.hostname WHERE i.witness = excluded.witness-]{+NOTHING+}
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/leases.test.ts -t ignores a waiting step
  intents-are-not-locked: [- FOR UPDATE OF i-]
  settled-by-anybody: [-i.session_id = me.session_id AND -]i.state
src/adapters/bmdb/pg/provisioning/intents.ts test/adapters/bmdb/pg/leases.test.ts
  resume-does-not-wait: [-await q.rows(statements.awaitIntent, { witness });-]
src/adapters/bmdb/pg/batches.ts test/adapters/bmdb/pg/batches.test.ts
  poisoned-item-costs-its-batch: [-if (batch.length === 1 || !isOfItems(error)) -]throw
src/adapters/bmdb/pg/batches.ts test/adapters/bmdb/pg/statement-costs.test.ts
  every-item-by-itself: sizeMax: [-SIZE_MAX-]{+1+}
src/adapters/bmdb/pg/batches.ts test/adapters/bmdb/pg/locked-rows.test.ts
  locked-item-is-lost: [-if (!isLocked(error)) -]throw error;
src/adapters/bmdb/pg/provisioning/provided.ts test/adapters/bmdb/pg/contract-slots.test.ts
  any-news-of-a-machine-returns-its-permit: [- AND c.status = 'Missing'-]
src/adapters/bmdb/pg/recovery/retiring.ts test/adapters/bmdb/pg/contract-requests.test.ts -t retiring
  retiring-hides-a-contradiction: [-WHERE q.kind <> 'conflict' OR q.until <= now()\n-]
  the-ladder-gives-a-preserved-machine-back: AND x.kind = [-'preserve'-]{+'no-start'+}
`;
