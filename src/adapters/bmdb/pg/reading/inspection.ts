import pg from 'pg';
import type { MachineId, SessionId } from '../../../../domain/ids.ts';
import type {
  BmdbInspection,
  InspectedField,
  InspectedMachine,
  InspectedMachines,
  InspectionQuery,
} from '../../port.ts';
import { inspectField } from '../../reflection/fields.ts';
import { createMessageReader } from '../../reflection/messages.ts';
import type { MessageReader } from '../../reflection/messages.ts';
import { readEpisodes } from './episodes.ts';
import { readEvents } from './events.ts';
import { readHardware } from './hardware.ts';
import type { PgContext } from '../live.ts';
import { SNAPSHOT } from '../pool.ts';
import type { Queries } from '../pool.ts';
import { FIRST, LIVE, ms } from '../sql.ts';
import { selection, named, statement, valuesOf } from '../statement.ts';
import type { ArgsOf, Params, Statement } from '../statement.ts';
import { readSlotHistory } from './slot-history.ts';
import { readSessions } from './sessions.ts';
import { readStatistics, statementsFor } from './statistics.ts';
import { readSchema, readTagTypes, tagStatement } from './tag-types.ts';

const PAGE_MAX = 200;

const IDS = selection({
  machineId: ['machine', 'm.machine_id'],
  createdAtMs: ['float8', ms('m.machine_created_at')],
});
const RANGE = { first: 'uuid', last: 'uuid' } as const;

const LINE = selection({
  seq: ['int8', 'y.seq'],
  atMs: ['float8', ms('y."timestamp"')],
  process: ['process', 'y.process'],
  event: ['work_history_event', 'y.event'],
  cause: ['text?', 'y.failed_cause'],
  sessionId: ['session?', 'y.session_id'],
  component: ['text?', 'y.component'],
});

export const statements = named('inspect', {
  machine: statement({
    params: { id: 'uuid' },
    columns: IDS.columns,
    text: ({ id }) => `SELECT ${IDS.sql} FROM machines m WHERE m.machine_id = ${id}`,
  }),
  machinesAfter: statement({
    name: 'inspect-machines',
    params: { after: 'uuid', limit: 'int8' },
    columns: IDS.columns,
    text: ({ after, limit }) =>
      `SELECT ${IDS.sql} FROM machines m WHERE m.machine_id > ${after} ORDER BY m.machine_id LIMIT ${limit}`,
  }),
  backoffs: statement({
    params: { ...RANGE, expired: 'bool' },
    columns: { machine_id: 'uuid', process: 'process', until: 'float8', cause: 'text' },
    text: ({ first, last, expired }) =>
      `SELECT b.machine_id, b.process, ${ms('b.until')} AS until, b.cause
       FROM work_backoff b WHERE b.machine_id BETWEEN ${first} AND ${last}
         AND (${expired} OR b.until > now())
       ORDER BY b.machine_id, b.process`,
  }),
  work: statement({
    params: RANGE,
    columns: { machine_id: 'uuid', process: 'process', session_id: 'session' },
    text: ({ first, last }) =>
      `SELECT w.machine_id, w.process, s.session_id
       FROM work w JOIN sessions s USING (session_id)
       WHERE w.machine_id BETWEEN ${first} AND ${last} AND ${LIVE}
       ORDER BY w.machine_id, w.process`,
  }),
  history: statement({
    params: { machine: 'uuid' },
    columns: LINE.columns,
    text: ({ machine }) =>
      `SELECT ${LINE.sql}
       FROM work_history y WHERE y.machine_id = ${machine} ORDER BY y.seq`,
  }),
});

/** See `BmdbInspection`. Every answer comes from one snapshot. */
export function createInspection({ db, loss }: PgContext): BmdbInspection {
  const counting = statementsFor(loss);
  const messages = createMessageReader();
  const read = <T>(doing: string, signal: AbortSignal, body: (q: Queries) => Promise<T>) =>
    db.transact({ doing, isolation: SNAPSHOT, signal }, body);
  const count = <T>(doing: string, signal: AbortSignal, body: (q: Queries) => Promise<T>) =>
    db.transact({ doing, isolation: SNAPSHOT, signal, processor: 'scruffy-stats' }, body);
  return {
    statistics: (signal, only) =>
      count('count the fleet', signal, (q) => readStatistics(q, counting, only)),
    schema: (signal) => read('read the schema', signal, readSchema),
    machines: (query, signal) =>
      read('inspect machines', signal, (q) => inspect(q, query, messages)),
    hardware: (query, signal) =>
      count('inspect hardware', signal, (q) => readHardware(q, query, messages)),
    history: (machine, signal) =>
      read(`read the history of machine ${machine}`, signal, (q) =>
        q.rows(statements.history, { machine }),
      ),
    events: (query, signal) => read('read the log of a slot', signal, (q) => readEvents(q, query)),
    slotHistory: (query, signal) =>
      read('read the history of a slot', signal, (q) => readSlotHistory(q, query)),
    sessions: (signal) => read('read the sessions', signal, readSessions),
    episodes: (query, signal) =>
      count('read the recoveries', signal, (q) => readEpisodes(q, query)),
  };
}

/** A machine that is being put together. */
interface MachineDraft extends InspectedMachine {
  readonly tags: Record<string, readonly InspectedField[]>;
  readonly backoffs: Record<string, { untilMs: number; cause: string }>;
  readonly work: Record<string, SessionId>;
}

/** Runs one statement for each kind of fact, so that no join multiplies rows. */
async function inspect(
  queries: Queries,
  query: InspectionQuery,
  messages: MessageReader,
): Promise<InspectedMachines> {
  const { q, sql } = recording(queries);
  const { machines, next } = await readPage(q, query);
  const [first, last] = [machines.at(0)?.machineId, machines.at(-1)?.machineId];
  if (!first || !last) return { machines, sql, next };
  const byId = new Map<string, MachineDraft>(machines.map((each) => [each.machineId, each]));
  const range = { first, last };
  for (const type of await readTagTypes(q)) {
    for (const { machine_id, fields } of await q.rows(tagStatement(type), range)) {
      const raw = fields as readonly (string | null)[];
      byId.get(machine_id)!.tags[type.name] = type.columns.map((column, at) =>
        inspectField(column, raw[at] ?? null, messages),
      );
    }
  }
  const expired = query.expiredBackoffs ?? false;
  for (const row of await q.rows(statements.backoffs, { ...range, expired })) {
    const { process, until, cause } = row;
    byId.get(row.machine_id)!.backoffs[process] = { untilMs: until, cause };
  }
  for (const row of await q.rows(statements.work, range)) {
    byId.get(row.machine_id)!.work[row.process] = row.session_id;
  }
  return { machines, sql, next };
}

async function readPage(
  q: Pick<Queries, 'rows'>,
  { machineId: id, after, limit = PAGE_MAX }: InspectionQuery,
): Promise<{ machines: MachineDraft[]; next: MachineId | null }> {
  const size = Math.max(1, Math.min(limit, PAGE_MAX));
  const rows = id
    ? await q.rows(statements.machine, { id })
    : await q.rows(statements.machinesAfter, { after: after ?? FIRST, limit: size + 1 });
  const machines = rows
    .slice(0, size)
    .map((row): MachineDraft => ({ ...row, tags: {}, backoffs: {}, work: {} }));
  return { machines, next: rows.length > size ? (machines.at(-1)?.machineId ?? null) : null };
}

/** Wraps queries and records the SQL that they run, with the values filled in. */
function recording(q: Queries): { readonly q: Pick<Queries, 'rows'>; readonly sql: string[] } {
  const sql: string[] = [];
  const rows = (asked: Statement, args: ArgsOf<Params>) => {
    sql.push(effectiveSql(asked, args));
    return q.rows(asked, args);
  };
  return { q: { rows: rows as Queries['rows'] }, sql };
}

/** SQL with its values filled in, ready to run. */
function effectiveSql(asked: Statement, args: ArgsOf<Params>): string {
  const values = valuesOf(asked, args);
  const text = asked.text.replace(/\$(\d+)(?=::)/g, (_, place: string) => {
    const value = values[Number(place) - 1];
    return value === null ? 'NULL' : pg.escapeLiteral(String(value));
  });
  return text.replace(/\s+/g, ' ').trim();
}
