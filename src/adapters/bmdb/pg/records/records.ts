import {
  type RecordJson,
  recordDiffers,
  recordIsThere,
  type RecordName,
  RECORDS_MAX,
  recordsAreFull,
  recordText,
  requireRecordKey,
} from '../../../../domain/provisioning/records.ts';
import type { RecordRepository, RecordStore } from '../../port.ts';
import { commitAlive, liveSession } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Database } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { type As, named, statement } from '../statement.ts';
import type { ArgsOf, Columns, Params, RowOf, Statement } from '../statement.ts';

const NAME = { session: 'uuid', provider: 'text', key: 'text' } as const;
const me = (session: string) => `me AS MATERIALIZED (${liveSession(session)})`;
const row = ({ provider, key }: { readonly provider: string; readonly key: string }) =>
  `r.provider = ${provider} AND r.key = ${key}`;
const TOLD = { alive: 'bool', done: 'bool', there: 'bool' } as const;
const told = (changes: string, of: { readonly provider: string; readonly key: string }) =>
  `SELECT EXISTS (SELECT 1 FROM me) AS alive, EXISTS (SELECT 1 FROM ${changes}) AS done,
     EXISTS (SELECT 1 FROM provider_records r WHERE ${row(of)}) AS there`;

/**
 * The writer chooses the new version. So a statement whose answer was lost can be repeated: if the
 * row already has the version, the first attempt wrote it.
 */
export const statements = named('records', {
  read: statement({
    params: { provider: 'text' },
    columns: { key: 'text', value: 'json' as As<'json', RecordJson>, version: 'text' },
    text: ({ provider }) =>
      `SELECT r.key, r.value, r.version FROM provider_records r WHERE r.provider = ${provider}`,
  }),
  count: statement({
    columns: { provider: 'provider', records: 'int4' },
    text: () =>
      `SELECT r.provider, count(*)::int4 AS records FROM provider_records r GROUP BY r.provider`,
  }),
  /** Waits for a concurrent insert. An existing record is reported before a full shelf. */
  make: statement({
    params: { ...NAME, value: 'raw', version: 'text' },
    columns: { ...TOLD, room: 'bool' },
    text: ({ session, value, version, ...of }) => `
      WITH ${me(session)}, room AS MATERIALIZED (
        SELECT count(*) < ${RECORDS_MAX} AS is_left FROM (
          SELECT 1 FROM provider_records r WHERE r.provider = ${of.provider} LIMIT ${RECORDS_MAX}
        ) AS taken
      ), made AS (
        INSERT INTO provider_records AS r (provider, key, value, version)
        SELECT ${of.provider}, ${of.key}, ${value}::json, ${version} FROM me, room
        WHERE room.is_left OR EXISTS (SELECT 1 FROM provider_records r WHERE ${row(of)})
        ON CONFLICT (provider, key) DO UPDATE SET version = excluded.version
          WHERE r.version = excluded.version
        RETURNING r.version
      )
      SELECT told.*, room.is_left AS room FROM (${told('made', of)}) AS told, room`,
  }),
  replace: statement({
    params: { ...NAME, value: 'raw', before: 'text', version: 'text' },
    columns: TOLD,
    text: ({ session, value, before, version, ...of }) => `
      WITH ${me(session)}, changed AS (
        UPDATE provider_records r SET value = ${value}::json, version = ${version} FROM me
        WHERE ${row(of)} AND r.version IN (${before}, ${version}) RETURNING r.version
      )
      ${told('changed', of)}`,
  }),
  drop: statement({
    params: { ...NAME, before: 'text' },
    columns: TOLD,
    text: ({ session, before, ...of }) => `
      WITH ${me(session)}, dropped AS (
        DELETE FROM provider_records r USING me WHERE ${row(of)} AND r.version = ${before}
        RETURNING r.version
      )
      ${told('dropped', of)}`,
  }),
});

/** See `RecordStore`. */
export const createRecordStore = (db: Database): RecordStore => ({
  all: (provider, signal) => {
    const doing = `read the records of provider ${provider}`;
    return db.once({ doing, signal }, statements.read, { provider });
  },
  counts: async (signal) => {
    const doing = 'count the records of providers';
    const rows = await db.once({ doing, signal }, statements.count, {});
    return new Map(rows.map(({ provider, records }) => [provider, records]));
  },
});

/** See `RecordRepository`. */
export function createRecordRepository(session: LiveSession): RecordRepository {
  /** Returns the only row of the answer. */
  const write = async <P extends Params, C extends Columns & typeof TOLD>(
    what: string,
    { provider, key }: RecordName,
    sql: Statement<P, C>,
    args: object,
  ): Promise<RowOf<C>> => {
    const doing = `${what} record "${key}" of provider ${provider}`;
    const given = { ...args, session: session.sessionId, provider, key } as unknown as ArgsOf<P>;
    return (await commitAlive(session, { doing }, [sql, given]))[0]!;
  };
  return {
    async make(name, value) {
      const args = { value: recordText(name, value), version: session.random.uuid() };
      const { done, there, room } = await repeatedOnce(() =>
        write('make', name, statements.make, args),
      );
      if (done) return args.version;
      throw room || there ? recordIsThere(name) : recordsAreFull(name);
    },
    async replace(name, value, before) {
      const args = { value: recordText(name, value), before, version: session.random.uuid() };
      const { done, there } = await repeatedOnce(() =>
        write('replace', name, statements.replace, args),
      );
      if (done) return args.version;
      throw recordDiffers(name, there);
    },
    async drop(name, before) {
      requireRecordKey(name);
      let attempts = 0;
      const { done, there } = await repeatedOnce(() => {
        attempts += 1;
        return write('drop', name, statements.drop, { before });
      });
      // The first attempt, whose answer was lost, deleted the record; or somebody else has since.
      if (done || (attempts > 1 && !there)) return;
      throw recordDiffers(name, there);
    },
  };
}
