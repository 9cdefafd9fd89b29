import { mistakesIn, mistakesNamed, type Mutation } from './mutation.ts';

/** Records of drivers: who may write over what, and what a driver hears. */
const FILE = 'src/adapters/bmdb/pg/records/records.ts';
const TESTS = 'test/adapters/bmdb/pg';
const CONTRACT = [`${TESTS}/contract-slots.test.ts`];

export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/daemon/parts.ts',
    ['test/daemon/records.test.ts'],
    [
      [
        'records-of-the-wrong-provider',
        'createRecords(name, { bmdb, book })',
        'createRecords(`not-${name}` as typeof name, { bmdb, book })',
      ],
    ],
  ),
  ...mistakesIn(
    'src/commands/provider-subject.ts',
    ['test/commands/provider-subject.test.ts'],
    [
      [
        'records-forgotten-between-instances',
        '      const { driven, provider } =',
        '      Object.assign(all, { records: createMemoryRecords(means.random) });\n      const { driven, provider } =',
      ],
    ],
  ),
  ...mistakesNamed(
    { file: FILE, tests: CONTRACT, named: 'records of a provider' },
    ['record-made-over-another', '\n          WHERE r.version = excluded.version\n', '\n'],
    ['record-replaced-whatever-it-is', ' AND r.version IN (${before}, ${version})', ''],
    [
      'record-dropped-whatever-it-is',
      'WHERE ${row(of)} AND r.version = ${before}',
      'WHERE ${row(of)}',
    ],
    ['record-of-the-dead', 'if (!found.alive) throw', 'if (false) throw'],
    [
      'record-written-by-the-dead',
      'me AS MATERIALIZED (${liveSession(session)})',
      'me AS MATERIALIZED (SELECT ${session})',
    ],
    ['record-beyond-the-limit', 'WHERE room.is_left OR EXISTS', 'WHERE true OR EXISTS'],
    ['record-there-but-no-room', 'room || there', 'room'],
    ['record-of-another-provider', 'r.provider = ${provider} AND r.key', 'r.key'],
  ),
  ...mistakesIn(
    FILE,
    [`${TESTS}/records.test.ts`],
    [
      ['record-replaced-twice', 'r.version IN (${before}, ${version})', 'r.version IN (${before})'],
      ['record-dropped-twice', 'attempts > 1 && !there', 'false'],
    ],
  ),
  ...mistakesIn(
    'src/actors/providers/records.ts',
    ['test/actors/providers/records.test.ts'],
    [
      [
        'record-asked-for-though-called-off',
        'if (signal.aborted) throw calledOff',
        'if (false) throw calledOff',
      ],
      ['record-lost-answer-is-a-refusal', '{ ...options, outcome: begun }', 'options'],
      [
        'record-replaced-is-not-done',
        "LATER: Outcomes = { before: 'unknown'",
        "LATER: Outcomes = { before: 'not-done'",
      ],
      ['record-database-down-is-for-good', 'return isRetryable(error)', 'return false'],
    ],
  ),
];
