import { mistakesIn, type Mutation } from './mutation.ts';

const FILING = 'src/console/api/filing';
const API = ['test/console/api/filing'];
const MEM = ['test/adapters/bmdb/mem/mem-bmdb.test.ts'];
const PG = ['test/adapters/bmdb/pg/contract-requests.test.ts'];

/** What people may ask for, by the API: each once, whole, allowed, and told to whom it is known. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(`${FILING}/filing.ts`, API, [
    ['two-at-once-are-both-filed', 'if (filing.has(key)) {', 'if (filing.size < 0) {'],
    [
      'a-batch-of-other-content-is-the-same',
      'if (before.digest === digest && before.head.by === person.name) return before;',
      'if (before.head.by === person.name) return before;',
    ],
    [
      'a-batch-of-somebody-else-is-the-same',
      'before.digest === digest && before.head.by === person.name',
      'before.digest === digest',
    ],
    [
      'what-was-seen-is-not-compared',
      "if (seen === '*' || seen === etag) return;",
      'if (seen !== etag) return;',
    ],
    [
      'one-more-machine-does-not-matter',
      'if (!isUncounted) requireCounted(selected.length, expectCount);',
      '',
    ],
    [
      'what-was-filed-before-is-told-to-anybody',
      '    requireMachineRight(person, wish, [provider]);\n',
      '',
    ],
    [
      'who-asks-is-always-proved',
      'standing: { role: person.role, proven: person.proven },',
      'standing: { role: person.role, proven: true },',
    ],
    [
      'an-end-that-is-past-is-filed',
      'wish.untilMs === null || wish.untilMs > nowMs',
      'wish.untilMs === null || wish.untilMs > 0',
    ],
  ]),
  ...mistakesIn(`${FILING}/rights.ts`, API, [
    [
      'fifty-one-machines-are-few',
      'providers.length > OPERATOR_MACHINES_MAX;',
      'providers.length > OPERATOR_MACHINES_MAX + 1;',
    ],
    [
      'fifty-machines-are-many',
      'providers.length > OPERATOR_MACHINES_MAX;',
      'providers.length >= OPERATOR_MACHINES_MAX;',
    ],
    ['anybody-forgets-host-keys', " || (wish.verb === 'release' && wish.forgetHostKey)", ''],
    [
      'a-grant-is-for-every-provider',
      'if (barred.length > 0) throw',
      'if (barred.length > 9) throw',
    ],
    [
      'a-grant-for-a-provider-freezes-the-fleet',
      'if (mayDoAt(person, right, provider)) return;',
      'if (provider === null || mayDoAt(person, right, provider)) return;',
    ],
  ]),
  ...mistakesIn(`${FILING}/refusals.ts`, API, [
    ['a-lost-commit-is-internal', ' && !(error instanceof AmbiguousCommit)', ''],
    [
      'a-used-key-is-a-mistake-of-form',
      "if (error instanceof KeyReused) return new Problem('key-reused', error.message);",
      '',
    ],
  ]),
  ...mistakesIn('src/domain/filing/prospects.ts', API, [
    ['a-second-order-is-foreseen-as-fine', 'open === null', 'open !== undefined'],
    ['a-freeze-holds-nothing-up', 'frozen !== null && (scope', 'frozen === null && (scope'],
  ]),
  ...mistakesIn('src/adapters/bmdb/filed-requests.ts', MEM, [
    [
      'a-batch-is-whatever-has-its-key',
      'if (isSame && digestOf(before.parameters) === digest) return;',
      'if (isSame) return;',
    ],
    [
      'a-batch-is-filed-as-far-as-it-can-be',
      'if (first === undefined) return;\n  throw',
      'if (first === undefined || asked.length > 1) return;\n  throw',
    ],
  ]),
  ...mistakesIn('src/adapters/bmdb/pg/requests/requests.ts', PG, [
    [
      'a-batch-has-no-head',
      'if ((await insert(q, [head])).length === 0) {',
      'if ((await readBatch(q, key)) !== null) {',
    ],
    ['machines-that-are-elsewhere-are-asked', '...(await strayMachines(q, fresh)), ', ''],
    ['expired-orders-stand-in-the-way', '    .filter(({ row }) => !row.expired)\n', ''],
    ['a-page-begins-anew', 'y.idempotency_key) < (', 'y.idempotency_key) <> ('],
  ]),
];
