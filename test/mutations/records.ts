import { mutationsOf } from './mutation.ts';

/** Records of drivers: who may write over what, and what a driver hears. */
export const mutations = mutationsOf`
src/daemon/parts.ts test/daemon/records.test.ts
  records-of-the-wrong-provider: createRecords({+\`not-\${name}\` as typeof +}name, { bmdb, repository })
src/commands/provider-subject.ts test/commands/provider-subject.test.ts
  records-forgotten-between-instances:
    \_\_\_\_\_\_{+Object.assign(all, { records: createMemoryRecords(means.random) });\n      +}const { driven, provider } =
src/adapters/bmdb/pg/live.ts test/adapters/bmdb/pg/contract-slots.test.ts -t records of a provider
  record-of-the-dead: if ([-!rows[0]?.alive-]{+false+}) throw
src/adapters/bmdb/pg/records/records.ts test/adapters/bmdb/pg/contract-slots.test.ts -t records of a provider
  record-made-over-another: [-\n          WHERE r.version = excluded.version-]\n
  record-replaced-whatever-it-is: [- AND r.version IN (\${before}, \${version})-]
  record-dropped-whatever-it-is: WHERE \${row(of)}[- AND r.version = \${before}-]
  record-written-by-the-dead: me AS MATERIALIZED ([-\${liveSession(session)-]{+SELECT \${session+}})
  record-beyond-the-limit: WHERE [-room.is_left-]{+true+} OR EXISTS
  record-there-but-no-room: room[- || there-]
  record-of-another-provider: [-r.provider = \${provider} AND -]r.key
src/adapters/bmdb/pg/records/records.ts test/adapters/bmdb/pg/lost-answers.test.ts -t of a record
  record-replaced-twice: r.version IN (\${before}[-, \${version}-])
  record-dropped-twice: [-attempts > 1 && !there-]{+false+}
src/actors/providers/records.ts test/actors/providers/records.test.ts
  record-asked-for-though-called-off: if ([-signal.aborted-]{+false+}) throw calledOff
  record-lost-answer-is-a-refusal: [-{ ...options, outcome: begun }-]{+options+}
  record-replaced-is-not-done: LATER: Outcomes = { before: '[-unknown-]{+not-done+}'
  record-database-down-is-for-good: return [-isRetryable(error)-]{+false+}
`;
