import { mistakesNamed, type Mutation } from './mutation.ts';

/** Statements of PostgreSQL: who may do what, and who waits for whom. */
const PG = 'src/adapters/bmdb/pg';
const TESTS = 'test/adapters/bmdb/pg';
/** The contract of the port on PostgreSQL, by its areas. */
const area = (name: string) => [`${TESTS}/contract-${name}.test.ts`];

const claims: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${PG}/live.ts`, tests: [`${TESTS}/claims.test.ts`], named: 'dead by the clock' },
    ['session-dead-by-the-clock-is-alive', 'AND session_deadline > now() FOR KEY', 'FOR KEY'],
  ),
  ...mistakesNamed({ file: `${PG}/live.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'session-check-does-not-lock',
    '> now() FOR KEY SHARE`',
    '> now()`',
    'keeps the session',
  ]),
  ...mistakesNamed(
    { file: `${PG}/tasks/claim.ts`, tests: [`${TESTS}/claims.test.ts`] },
    [
      'claim-without-session-check',
      'WITH me AS MATERIALIZED (${liveSession(session)})',
      'WITH me AS MATERIALIZED (SELECT * FROM sessions WHERE session_id = ${session})',
    ],
    ['claim-on-an-old-look', ' AND w.epoch = seen.epoch', ''],
    [
      'claim-takes-a-dead-lease-without-a-word',
      'AND w.session_id IS NULL AND w.epoch',
      'AND w.epoch',
    ],
    ['claim-keeps-the-epoch', "epoch = nextval('work_epoch'), work_started_at", 'work_started_at'],
    [
      'claim-does-not-say-that-it-started',
      '        FROM taken, me\n',
      '        FROM taken, me WHERE false\n',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/tasks/claim.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'claim-waits-for-a-lease',
    'FOR UPDATE OF w SKIP LOCKED',
    'FOR UPDATE OF w',
    'not waited for',
  ]),
  ...mistakesNamed({ file: `${PG}/tasks/claim.ts`, tests: area('work'), named: 'never had' }, [
    'claim-of-what-was-refused',
    'WHERE seen.refusal IS NULL AND seen.epoch',
    'WHERE seen.epoch',
  ]),
  ...mistakesNamed(
    { file: `${PG}/claims/cancel.ts`, tests: [`${TESTS}/race-guards.test.ts`] },
    ['cancel-dead-without-not-live', ' AND NOT ${LIVE}\n', '\n', 'left to it'],
    [
      'cancel-what-was-taken-since',
      'WHERE w.epoch = seen.epoch AND w.session_id = seen.session_id AND ${only}',
      'WHERE ${only}',
      'its release waited',
    ],
  ),
  ...mistakesNamed(
    {
      file: `${PG}/claims/cancel.ts`,
      tests: [`${TESTS}/near-the-deadline.test.ts`],
      named: 'extended',
    },
    ['cancel-dead-does-not-lock-the-session', 'FOR NO KEY UPDATE SKIP LOCKED', ''],
  ),
  ...mistakesNamed(
    { file: `${PG}/claims/cancel.ts`, tests: [`${TESTS}/locked-rows.test.ts`], named: 'the sweep' },
    ['cancel-of-sessions-waits', "${wait ? '' : 'SKIP LOCKED'}", ''],
  ),
  ...mistakesNamed({ file: `${PG}/claims/cancel.ts`, tests: area('recovery'), named: 'recovery' }, [
    'used-permit-is-given-back',
    'AND l.asked_at >= e.granted_at',
    'AND false',
  ]),
  ...mistakesNamed(
    { file: `${PG}/tasks/held-works.ts`, tests: [`${TESTS}/race-guards.test.ts`] },
    ['ends-without-for-update', ' FOR UPDATE OF w\n', '\n', 'its end waited'],
    ['note-does-not-lock-the-lease', ' FOR UPDATE OF w\n', '\n', 'keeps its lease'],
  ),
  ...mistakesNamed({ file: `${PG}/tasks/held-works.ts`, tests: [`${TESTS}/claims.test.ts`] }, [
    'end-or-note-with-an-old-claim',
    'w.epoch = e.epoch AND w.session_id',
    'w.session_id',
    'old claim',
  ]),
  ...mistakesNamed({ file: `${PG}/tasks/held-works.ts`, tests: area('work'), named: 'backoff' }, [
    'backoff-of-all-processes-ends',
    ' AND b.process = ${of.process}',
    '',
  ]),
  ...mistakesNamed(
    { file: `${PG}/tasks/ambiguous-commits.ts`, tests: [`${TESTS}/batches.test.ts`] },
    [
      'claim-that-was-lost-is-an-earlier-one',
      ' AND w.epoch > ${newest} AS ours',
      ' AS ours',
      'had already',
    ],
    [
      'claim-that-was-lost-is-anybody-s',
      'w.session_id = ${session} AND w.process',
      'w.process',
      'of claims',
    ],
  ),
  ...mistakesNamed(
    { file: `${PG}/session.ts`, tests: [`${TESTS}/near-the-deadline.test.ts`], named: 'in time' },
    ['poke-brings-a-dead-session-back', ' AND session_deadline > clock_timestamp()', ''],
  ),
  ...mistakesNamed({ file: `${PG}/session.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'goodbye-does-not-wait-for-its-own',
    'WHERE session_id = ${session} FOR UPDATE`',
    'WHERE session_id = ${session}`',
    'goodbye',
  ]),
  ...mistakesNamed({ file: `${PG}/sweep.ts`, tests: area('work'), named: 'sessions' }, [
    'sweep-removes-a-session-early',
    'now() - 2 * session_interval_seconds',
    'now() - 0 * session_interval_seconds',
  ]),
];

const notes: readonly Mutation[] = [
  ...mistakesNamed({ file: `${PG}/tasks/notes.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'note-under-an-order-does-not-hold-it',
    'AND expires_at > now() FOR SHARE`',
    'AND expires_at > now()`',
    'keeps the order',
  ]),
  ...mistakesNamed({ file: `${PG}/tasks/notes.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'note-without-its-lease',
    'if (heldEpochs(held.session, doing, rows).size === 0) throw workLost(held);',
    'heldEpochs(held.session, doing, rows);',
    'changes hands just',
  ]),
  ...mistakesNamed({ file: `${PG}/claims/may-ask.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'note-does-not-hold-its-permit',
    'WHERE machine_id = ${machine} FOR KEY SHARE',
    'WHERE machine_id = ${machine}',
    'keeps its permit',
  ]),
];

const permits: readonly Mutation[] = [
  ...mistakesNamed(
    {
      file: `${PG}/tasks/notes.ts`,
      tests: [`${TESTS}/claims.test.ts`],
      named: 'sessions that race',
    },
    ['guard-lock-removed', '  if (needsPermit) await lockGuard(q);\n', ''],
  ),
  ...mistakesNamed({ file: `${PG}/tasks/tags.ts`, tests: area('guard'), named: 'permits' }, [
    'a-failed-attempt-keeps-its-permit',
    'if (ladder.length > 0) {',
    'if (false) {',
  ]),
  ...mistakesNamed(
    { file: `${PG}/recovery/permits.ts`, tests: area('guard'), named: 'permits|the budget' },
    ['the-ladder-takes-the-permit-of-orders', 'isOrder ? ORDERS_KEPT : 0', 'ORDERS_KEPT'],
    ['what-left-the-power-off-is-frozen', 'OR l.power_off_asked_at IS NOT NULL AS', 'AS'],
  ),
  ...mistakesNamed({ file: `${PG}/people/settle.ts`, tests: area('requests'), named: 'an order' }, [
    'an-order-expires-for-want-of-a-permit',
    'settlement.outcome === EXPIRED &&',
    'false &&',
  ]),
  ...mistakesNamed(
    {
      file: `${PG}/guard/guard-rows.ts`,
      tests: [`${TESTS}/claims.test.ts`],
      named: 'sessions that race',
    },
    [
      'guard-lock-locks-nothing',
      "WHERE scope = '${FLEET}' FOR UPDATE`",
      "WHERE scope = '${FLEET}'`",
    ],
  ),
  ...mistakesNamed({ file: `${PG}/guard/guard-book.ts`, tests: [`${TESTS}/guard.test.ts`] }, [
    'looks-wait-for-each-other',
    'FROM guard_pulse FOR UPDATE SKIP LOCKED',
    'FROM guard_pulse FOR UPDATE',
  ]),
  ...mistakesNamed(
    {
      file: `${PG}/guard/guard-book.ts`,
      tests: [`${TESTS}/race-guards.test.ts`],
      named: 'has thawed it meanwhile',
    },
    [
      'look-judges-what-somebody-decided',
      'if (!isDue || !isSameGuard(before, rows)) {',
      'if (!isDue) {',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/guard/guard-book.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'same-guard-ignores-thaws',
    'rows.map(({ scope, frozen, thawedAtMs }) => ({ scope, frozen, thawedAtMs }))',
    'rows.map(({ scope, frozen }) => ({ scope, frozen }))',
    'has thawed it meanwhile',
  ]),
  ...mistakesNamed(
    { file: `${PG}/guard/guard-book.ts`, tests: area('guard'), named: 'the guard' },

    [
      'grace-is-for-orders-too',
      'gate.frozen(provider) ?? (order === null ? gate.grace : null)',
      'gate.frozen(provider) ?? gate.grace',
    ],
  ),
];

const budget: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${PG}/recovery/permits.ts`, tests: area('guard'), named: 'permits' },
    [
      'permits-of-a-location-count-where-the-machine-is',
      'coalesce(e.location, p.provider_location)',
      'p.provider_location',
    ],
    [
      'started-ones-with-a-permit-count-twice',
      '      AND NOT EXISTS (SELECT 1 FROM recovery_permits e WHERE e.machine_id = a.machine_id)\n',
      '',
    ],
    [
      'budget-of-locations-is-none',
      'locations: location === null ? [] : [location],',
      'locations: [],',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/guard/guard-book.ts`, tests: area('guard'), named: 'permits' }, [
    'freeze-of-one-provider-is-of-all',
    'frozen.find(({ scope }) => scope === provider)',
    'frozen[0]',
  ]),
  ...mistakesNamed(
    {
      file: `${PG}/people/settle-effects.ts`,
      tests: [`${TESTS}/race-guards.test.ts`],
      named: 'not lifted',
    },
    ['a-conflict-is-lifted', "${machine} AND kind <> 'conflict'`", '${machine}`'],
  ),
];

const BEGINS = `${PG}/provisioning/intent-begins.ts`;
const ENDS = `${PG}/provisioning/intent-ends.ts`;
const STEPS = `${PG}/provisioning/intent-steps.ts`;
const intents: readonly Mutation[] = [
  ...mistakesNamed(
    { file: BEGINS, tests: area('recovery'), named: 'intents' },
    [
      'hold-of-another-provider-bars',
      'WHERE h.provider = ${at}.provider AND h.slot_id',
      'WHERE h.slot_id',
    ],
    [
      'no-allocate-with-an-end-is-none',
      "h.kind = 'no-allocate'\n      AND (h.until IS NULL OR h.until > now())",
      "h.kind = 'no-allocate'\n      AND h.until IS NULL",
    ],
    [
      'no-allocate-never-ends',
      "h.kind = 'no-allocate'\n      AND (h.until IS NULL OR h.until > now())",
      "h.kind = 'no-allocate'",
    ],
    ['any-hold-bars-creation', " AND h.kind = 'no-allocate'", ''],
    [
      'penalty-of-another-provider-bars',
      'WHERE h.provider = ${at}.provider AND h.key',
      'WHERE h.key',
    ],
    [
      'machine-of-another-provider-is-in-the-way',
      'WHERE p.provider = ${at}.provider AND p.provider_reservation_id',
      'WHERE p.provider_reservation_id',
    ],
    ['namesake-of-a-slot-is-in-the-way', '\n      AND p.provider_reservation_id IS NULL', ''],
    [
      'attempt-whatever-came-to-the-slot',
      'WHEN n.attempts IS NOT NULL AND n.ours THEN',
      'WHEN false THEN',
    ],
    ['nothing-noted-under-a-hold', 'n.attempts IS NOT NULL AND n.ours', 'n.ours'],
    ['empty-since-is-the-last-time', 'coalesce(i.empty_since, now())', 'now()'],
    ['refused-attempt-is-noted', 'n.ours AND n.obstacle IS NULL', 'n.ours'],
  ),
  ...mistakesNamed(
    { file: BEGINS, tests: [`${TESTS}/intents.test.ts`], named: 'while its intent ends' },
    ['attempt-on-a-slot-with-a-machine', "WHEN ${occupied('n')} THEN", 'WHEN false THEN'],
    ['attempt-on-a-shelved-slot', "ELSE ${barred('n')} END", 'END'],
  ),
  ...mistakesNamed(
    { file: BEGINS, tests: [`${TESTS}/leases.test.ts`], named: 'an intent of a job' },
    ['job-of-an-intent-is-not-locked', ' FOR SHARE OF l', ''],
    ['intent-without-its-job', 'w.leased AND NOT w.occupied', 'NOT w.occupied'],
    [
      'intent-that-was-opened-is-in-its-own-way',
      'DO UPDATE SET hostname = excluded.hostname WHERE i.witness = excluded.witness',
      'DO NOTHING',
    ],
  ),
  ...mistakesNamed(
    { file: STEPS, tests: [`${TESTS}/intents.test.ts`], named: 'was waiting' },
    ['intents-are-not-locked', ' FOR UPDATE OF i', ''],
    ['settled-by-anybody', 'i.session_id = me.session_id AND i.state', 'i.state'],
  ),
  ...mistakesNamed({ file: STEPS, tests: area('recovery'), named: 'intents' }, [
    'step-of-a-dead-session-is-none-of-its-business',
    'if (!rows[0]?.alive) throw declareDead(session, doing);',
    '',
  ]),
  ...mistakesNamed(
    { file: `${PG}/batches.ts`, tests: [`${TESTS}/intent-batches.test.ts`] },
    [
      'poisoned-item-costs-its-batch',
      'if (batch.length === 1 || !isOfItems(error)) throw',
      'throw',
    ],
    ['every-item-by-itself', 'sizeMax: SIZE_MAX', 'sizeMax: 1'],
  ),
  ...mistakesNamed({ file: `${PG}/batches.ts`, tests: [`${TESTS}/locked-rows.test.ts`] }, [
    'locked-item-is-lost',
    'if (!isPassing(error)) throw error;',
    'throw error;',
  ]),
  ...mistakesNamed({ file: `${PG}/provisioning/provided.ts`, tests: area('slots') }, [
    'any-news-of-a-machine-returns-its-permit',
    " AND c.status = 'Missing'",
    '',
  ]),
  ...mistakesNamed(
    { file: `${PG}/provisioning/intents.ts`, tests: area('recovery'), named: 'intents' },
    [
      'intent-of-the-living-is-resumed',
      'NOT EXISTS (SELECT 1 FROM sessions s\n           WHERE s.session_id = i.session_id AND ${LIVE})',
      'true',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/provisioning/intents.ts`, tests: [`${TESTS}/intents.test.ts`] }, [
    'resume-does-not-wait',
    'await q.rows(statements.awaitIntent, { witness });',
    '',
  ]),
  ...mistakesNamed(
    { file: ENDS, tests: area('recovery'), named: 'intents' },
    ['penalty-never-grows', 'least(h.level, 30)', '0'],
    [
      'adoption-forgives-no-penalty',
      'DELETE FROM provider_holds h USING',
      'SELECT FROM provider_holds h,',
    ],
    ['adoption-forgives-all-penalties', ' AND h.key = a.key', ''],
    [
      'taken-device-is-an-unknown-fault',
      'if (adoptions.length > 1 || !isUniqueViolation(error)) throw error',
      'if (adoptions.length > 0) throw error',
    ],
  ),
];

export const mutations: readonly Mutation[] = [claims, notes, permits, budget, intents].flat();
