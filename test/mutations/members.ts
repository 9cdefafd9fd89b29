import { mistakesIn, type Mutation } from './mutation.ts';

/** Members of pools: who serves is not interrupted, and who is interrupted does not begin to serve. */
const PG = 'src/adapters/bmdb/pg';
const TESTS = 'test/adapters/bmdb/pg';

export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/domain/balancing/members.ts',
    ['test/domain/serving.test.ts'],
    [
      [
        'who-drains-serves-nobody',
        "state !== 'drained' && !waived",
        "state === 'active' && !waived",
      ],
      ['what-is-waived-serves', "state !== 'drained' && !waived", "state !== 'drained'"],
    ],
  ),
  ...mistakesIn(
    'src/domain/eligibility.ts',
    ['test/domain/serving.test.ts'],
    [
      [
        'who-serves-gets-a-system',
        "return serves(row) ? 'it still serves' : null;",
        'return null;',
      ],
      ['a-dead-machine-waits-for-ever', 'now.nowMs <= endMs;', 'true;'],
      ['an-order-waits-though-it-skips', "if (order?.drain === 'skip') return false;", ''],
      [
        'a-lost-machine-is-given-back-undrained',
        "return row.deprovision?.drain !== 'skip';",
        'return row.agentStarted === null;',
      ],
    ],
  ),
  ...mistakesIn(
    `${PG}/eligibility.ts`,
    [`${TESTS}/eligibility.test.ts`],
    [
      ['sql-interrupts-who-serves', ', ...serving(process, loss)]', ']'],
      [
        'sql-gives-who-serves-a-system',
        "{ when: servesSql('p.machine_id'), then: 'it still serves' },",
        '',
      ],
      [
        'sql-forgets-the-waived',
        "AND g.state <> 'drained' AND NOT g.waived",
        "AND g.state <> 'drained'",
      ],
    ],
  ),
  ...mistakesIn(
    `${PG}/balancing/member-writes.ts`,
    [`${TESTS}/member-races.test.ts`],
    [
      [
        'a-join-leaves-the-lease-as-it-was',
        "UPDATE work w SET epoch = nextval('work_epoch') FROM free",
        'UPDATE work w SET epoch = w.epoch FROM free',
      ],
      ['a-join-on-an-old-look', 'AND w.epoch = judged.lease_epoch', ''],
      ['a-join-waits-for-a-claim', 'FOR UPDATE OF w SKIP LOCKED', 'FOR UPDATE OF w'],
      [
        'a-join-leaves-no-lease-behind',
        'NOT judged.installing AND judged.lease_epoch IS NULL',
        'NOT judged.installing AND false',
      ],
    ],
  ),
  ...mistakesIn(
    `${PG}/balancing/member-writes.ts`,
    [`${TESTS}/contract-balancing.test.ts`],
    [
      ['a-join-beside-work', 'AND w.session_id IS NULL\n', '\n'],
      ['a-join-before-an-installation', 'AND NOT judged.installing AND w.s', 'AND w.s'],
      ['a-member-is-written-without-the-job', 'AND l.epoch = ${epoch} FOR SHARE', 'FOR SHARE'],
      ['any-state-follows-any', 'OR (was, state) IN (${SUCCESSIONS})', 'OR true'],
      [
        'a-deadline-moves-away',
        'THEN least(was_deadline, now() + grace',
        'THEN greatest(now() + grace',
      ],
    ],
  ),
  ...mistakesIn(
    `${PG}/balancing/book.ts`,
    [`${TESTS}/contract-balancing.test.ts`],
    [['dead-work-keeps-a-member-out', "result === 'busy' && dead", 'false && dead']],
  ),
];
