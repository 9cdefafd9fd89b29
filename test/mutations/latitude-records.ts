import { mistakesIn, type Mutation } from './mutation.ts';

const DRIVER = 'src/adapters/provider/latitude';
const TESTS = 'test/adapters/provider/latitude';

/** Servers at Latitude.sh: how old records are, who wins a slot, and what only looks like another thing. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    `${DRIVER}/creation.ts`,
    [`${TESTS}/rivals.test.ts`],
    [
      [
        'latitude-rivals-are-not-seen',
        'if (rivals.length === 0 && (looks === 0 || complete)) return;',
        'if (rivals.length >= 0) return;',
      ],
      [
        'latitude-all-rivals-withdraw',
        'if (rivals.some(({ id }) => id < record.id)) break;',
        'if (rivals.length > 0) break;',
      ],
      [
        'latitude-no-rival-withdraws',
        'if (rivals.some(({ id }) => id < record.id)) break;',
        'if (!rivals.some(({ id }) => id < record.id)) return;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/client/answers.ts`,
    [`${TESTS}/creation.test.ts`],
    [
      [
        'latitude-any-limit-is-a-quota',
        "if (kind === 'Capacity' && says(messages, LIMIT)) return 'limit';",
        "if (kind !== 'NotFound' && says(messages, LIMIT)) return 'limit';",
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/stored-records.ts`,
    [`${TESTS}/times.test.ts`],
    [
      ['latitude-the-future-is-young', 'Math.min(toldMs, seenAtMs)', 'toldMs'],
      [
        'latitude-a-record-written-anew-is-old',
        'const key = `${data.id} ${toldMs}`;',
        'const key = data.id;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/ownership.ts`,
    [`${TESTS}/times.test.ts`],
    [
      [
        'latitude-the-future-needs-no-proof-yet',
        'clock.now() - writtenAtMs >= settleMs',
        'clock.now() - mark.t >= settleMs',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/driver.ts`,
    [`${TESTS}/settings.test.ts`],
    [['latitude-one-key-has-two-budgets', "return isOneKey ? 'token' : null;", 'return null;']],
  ),
  ...mistakesIn(
    `${DRIVER}/mapping.ts`,
    [`${TESTS}/give-back.test.ts`],
    [
      [
        'latitude-tells-no-day-of-leaving',
        'isLeaving(owner) && !Number.isNaN(leavesAtMs)',
        'false',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/tasks/deprovision.ts',
    ['test/actors/tasks/deprovision.test.ts'],
    [
      [
        'what-goes-on-a-day-is-asked-for-again',
        'if (isAwaited(deps, seen)) {\n        await pause',
        'if (deps === null) {\n        await pause',
      ],
      [
        'what-goes-on-a-day-is-asked-for-at-each-start',
        "if (seen.state === 'gone' || isAwaited(deps, seen)) return before;",
        "if (seen.state === 'gone') return before;",
      ],
    ],
  ),
];
