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
    'WHERE seen.refusal IS NULL AND seen.permitted AND seen.epoch',
    'WHERE seen.permitted AND seen.epoch',
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
    'AND (l.asked_at >= e.granted_at OR',
    'AND (false OR',
  ]),
  ...mistakesNamed({ file: `${PG}/tasks/ends.ts`, tests: [`${TESTS}/race-guards.test.ts`] }, [
    'ends-without-for-update',
    'w.exclusion_group FOR UPDATE OF w\n',
    'w.exclusion_group\n',
    'its end waited',
  ]),
  ...mistakesNamed(
    { file: `${PG}/tasks/ends.ts`, tests: [`${TESTS}/claims.test.ts`], named: 'old claim' },
    ['end-with-an-old-claim', 'w.epoch = e.epoch AND w.session_id', 'w.session_id'],
  ),
  ...mistakesNamed({ file: `${PG}/tasks/ends.ts`, tests: area('work'), named: 'backoff' }, [
    'backoff-of-all-processes-ends',
    ' AND b.process = r.process',
    '',
  ]),
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
  ...mistakesNamed(
    { file: `${PG}/tasks/notes.ts`, tests: [`${TESTS}/race-guards.test.ts`] },
    [
      'note-does-not-lock-the-lease',
      'AND session_id = ${session} FOR UPDATE`',
      'AND session_id = ${session}`',
      'keeps its lease',
    ],
    ['note-without-its-lease', '    await lockLease(q, held);\n', '', 'changes hands just'],
    [
      'note-under-an-order-does-not-hold-it',
      'AND expires_at > now() FOR SHARE`',
      'AND expires_at > now()`',
      'keeps the order',
    ],
  ),
  ...mistakesNamed(
    { file: `${PG}/tasks/notes.ts`, tests: [`${TESTS}/claims.test.ts`], named: 'old claim' },
    ['note-of-an-old-claim', 'AND epoch = ${epoch} AND session_id', 'AND session_id'],
  ),
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
      file: `${PG}/recovery/permits.ts`,
      tests: [`${TESTS}/claims.test.ts`],
      named: 'sessions that race',
    },
    ['guard-lock-removed', '    await lockGuard(q);\n', ''],
  ),
  ...mistakesNamed(
    { file: `${PG}/recovery/permits.ts`, tests: [`${TESTS}/permits-of-the-taken.test.ts`] },
    [
      'no-second-look-under-the-guard',
      '    rows = await readCandidates(q, asking, machines);\n  }',
      '  }',
    ],
  ),
  ...mistakesNamed(
    { file: `${PG}/tasks/claim.ts`, tests: [`${TESTS}/permits-of-the-taken.test.ts`] },
    [
      'permit-for-whom-somebody-else-has',
      'await grantPermits(q, takenOf(grants, verdicts));',
      'await grantPermits(q, grants);',
    ],
  ),
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
  ...mistakesNamed(
    { file: `${PG}/recovery/permits.ts`, tests: [`${TESTS}/permits.test.ts`] },

    ['a-batch-does-not-count-its-own', 'tally.recovering += 1;', ''],
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
    ['budget-of-locations-is-none', '...(location === null ? [] : [`location ${location}`]),', ''],
  ),
  ...mistakesNamed({ file: `${PG}/guard/guard-book.ts`, tests: area('guard'), named: 'permits' }, [
    'freeze-of-one-provider-is-of-all',
    'frozen.find(({ scope }) => scope === provider)',
    'frozen[0]',
  ]),
  ...mistakesNamed({ file: `${PG}/claims/cancel.ts`, tests: area('guard'), named: 'permits' }, [
    'permit-of-a-cool-down-is-given-back',
    ' OR l.next_at > now())',
    ')',
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

const intents: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${PG}/provisioning/intents.ts`, tests: area('recovery'), named: 'intents' },
    [
      'hold-of-another-provider-bars',
      'FROM slot_holds WHERE provider = ${provider} AND slot_id',
      'FROM slot_holds WHERE slot_id',
    ],
    [
      'no-allocate-with-an-end-is-none',
      "AND kind = 'no-allocate' AND (until IS NULL OR until > now())\n       UNION",
      "AND kind = 'no-allocate' AND until IS NULL\n       UNION",
    ],
    [
      'no-allocate-never-ends',
      "AND kind = 'no-allocate' AND (until IS NULL OR until > now())\n       UNION",
      "AND kind = 'no-allocate'\n       UNION",
    ],
    [
      'hold-of-another-provider-bars-an-attempt',
      'h.provider = i.provider AND h.slot_id',
      'h.slot_id',
    ],
    [
      'attempt-under-no-allocate-with-an-end',
      'AND (h.until IS NULL OR h.until > now())',
      'AND h.until IS NULL',
    ],
    [
      'attempt-under-no-allocate-that-ended',
      '\n         AND (h.until IS NULL OR h.until > now())',
      '',
    ],
    [
      'attempt-under-any-hold',
      "i.witness = ${witness} AND h.kind = 'no-allocate'",
      'i.witness = ${witness}',
    ],
    [
      'penalty-of-another-provider-bars',
      'FROM provider_holds WHERE provider = ${provider} AND key',
      'FROM provider_holds WHERE key',
    ],
    [
      'machine-of-another-provider-is-in-the-way',
      'WHERE provider = ${provider} AND provider_reservation_id',
      'WHERE provider_reservation_id',
    ],
    [
      'intent-of-the-living-is-resumed',
      'NOT EXISTS (SELECT 1 FROM sessions s\n           WHERE s.session_id = i.session_id AND ${LIVE})',
      'true',
    ],
    ['empty-since-is-the-last-time', 'coalesce(empty_since, now())', 'now()'],
    [
      'progress-of-anybody',
      'WHERE witness = ${witness} AND session_id = ${session} AND state IN',
      'WHERE witness = ${witness} AND state IN',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/provisioning/intents.ts`, tests: [`${TESTS}/intents.test.ts`] }, [
    'resume-does-not-wait',
    'await q.rows(statements.awaitIntent, { witness });',
    '',
  ]),
  ...mistakesNamed(
    { file: `${PG}/provisioning/intent-ends.ts`, tests: [`${TESTS}/intents.test.ts`] },
    [
      'end-of-an-intent-does-not-lock',
      'WHERE witness = ${witness} FOR UPDATE`',
      'WHERE witness = ${witness}`',
    ],
    ['settled-by-anybody', 'if (!isUnsettled || owner !== sessionId)', 'if (!isUnsettled)'],
  ),
  ...mistakesNamed(
    { file: `${PG}/provisioning/intent-ends.ts`, tests: area('recovery'), named: 'intents' },
    ['penalty-never-grows', 'least(h.level, 30)', '0'],
    [
      'adoption-forgives-no-penalty',
      'await q.run(statements.forgivePenalty,',
      'if (false) await q.run(statements.forgivePenalty,',
    ],
    ['adoption-forgives-all-penalties', "kind = 'penalty' AND key = ${slot}`", "kind = 'penalty'`"],
  ),
];

export const mutations: readonly Mutation[] = [claims, notes, permits, budget, intents].flat();
