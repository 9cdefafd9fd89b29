import {
  isEventType,
  EVENT_TYPES,
  type EventDetails,
  type FleetEvent,
  slotKindsOf,
  eventOfLine,
} from '../../../../domain/events/fleet-event.ts';
import { EVENTS_MAX } from '../../events-port.ts';
import type { EventRepository, EventsPage, EventsQuery, LatestQuery } from '../../events-port.ts';
import type { Clock } from '../../../clock/port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';
import type { ArgsOf, Columns, Params, RowOf, Statement } from '../statement.ts';
import { horizonAfter, NOTHING_SEEN } from './horizon.ts';
import type { Horizon } from './horizon.ts';
import { statements as writing } from './write.ts';

/** Maximum rows scanned for one page, however few of them match. */
const SCAN_MAX = 5_000;

const SIGHT = { newest: 'int8', xmin: 'int8', begun: 'int8' } as const;
/**
 * `age()` reads the transaction counter itself, after the snapshot, without assigning an id. So
 * `begun` is the first unassigned id. The value is cached for the whole transaction, so this query
 * must run in a transaction of its own.
 */
const HEAD = `SELECT greatest(0, (SELECT max(seq) FROM slot_events),
    (SELECT max(seq) FROM fleet_events)) AS newest,
  pg_snapshot_xmin(pg_current_snapshot())::text::int8 AS xmin,
  pg_snapshot_xmax(pg_current_snapshot())::text::int8
    + age(pg_snapshot_xmax(pg_current_snapshot())::xid) AS begun`;
const COLUMNS = {
  slot_events: 'e.kind, NULL::text AS type, e."from", e."to", NULL::jsonb AS details',
  fleet_events: 'NULL AS kind, e.type, NULL AS "from", NULL AS "to", e.details',
} as const;
const selectFrom = (table: keyof typeof COLUMNS) =>
  `SELECT e.seq, e.at, ${COLUMNS[table]}, e.provider, e.slot_id, e.machine_id, e.actor, e.reason
    FROM ${table} e`;
/** Rows of both logs, with the given end of each query. */
export const unitedSql = (end: string): string =>
  `${selectFrom('slot_events')} ${end} UNION ALL ${selectFrom('fleet_events')} ${end}`;
const of = (table: keyof typeof COLUMNS, after: string, scan: string) =>
  `(${selectFrom(table)} WHERE e.seq > ${after} ORDER BY e.seq LIMIT ${scan})`;

type EventFilter = Readonly<Record<'provider' | 'slot' | 'machine', string>>;
const isWanted = (e: string, { provider, slot, machine }: EventFilter) =>
  `(${provider} IS NULL OR ${e}.provider = ${provider})
   AND (${slot} IS NULL OR ${e}.slot_id = ${slot})
   AND (${machine} IS NULL OR ${e}.machine_id = ${machine})`;

/** Upper bound of how much earlier a row with a later number may have been written. */
const DISORDER = "interval '5 min'";
/** The last rows of one log; skips a log without `words`, or that ends before `since`. */
const latestOf = (
  table: keyof typeof COLUMNS,
  { column, words, since, limit, ...wanted }: EventFilter & Readonly<Record<LatestPart, string>>,
) => `(${selectFrom(table)}
    WHERE cardinality(${words}) > 0 AND e.${column} = ANY (${words}) AND ${isWanted('e', wanted)}
      AND (${since} IS NULL OR e.at >= to_timestamp(${since} / 1000))
      AND (${since} IS NULL OR e.seq > coalesce((SELECT b.seq FROM ${table} b
        WHERE b.at < to_timestamp(${since} / 1000) - ${DISORDER} ORDER BY b.seq DESC LIMIT 1), 0))
    ORDER BY e.seq DESC LIMIT ${limit})`;
type LatestPart = 'column' | 'words' | 'since' | 'limit';

/** An event of either log, or nulls. */
export const eventIn = (e: string) =>
  selection({
    seq: ['int8?', `${e}.seq`],
    atMs: ['float8?', ms(`${e}.at`)],
    kind: ['text?', `${e}.kind`],
    type: ['text?', `${e}.type`],
    from: ['text?', `${e}."from"`],
    to: ['text?', `${e}."to"`],
    details: ['jsonb?' as As<'jsonb?', EventDetails | null>, `${e}.details`],
    provider: ['provider?', `${e}.provider`],
    slotId: ['text?', `${e}.slot_id`],
    machineId: ['machine?', `${e}.machine_id`],
    actor: ['text?', `${e}.actor`],
    reason: ['text?', `${e}.reason`],
  });
const EVENT = eventIn('w');

export const statements = named('events', {
  head: statement({ name: 'events-head', params: {}, columns: SIGHT, text: () => HEAD }),
  /** One statement is one snapshot. The first columns are present even if no event matched. */
  page: statement({
    params: {
      ...{ after: 'int8', scan: 'int8', limit: 'int8', kinds: 'text[]', types: 'text[]' },
      ...{ provider: 'text?', slot: 'text?', machine: 'uuid?' },
    },
    columns: {
      ...SIGHT,
      /** Number of the last scanned row, and how many rows were scanned. */
      scanned: 'int8?',
      rows: 'int8',
      ...EVENT.columns,
    },
    text: ({ after, scan, limit, kinds, types, provider, slot, machine }) => `
      WITH scan AS MATERIALIZED (
        SELECT * FROM (
          ${of('slot_events', after, scan)}
          UNION ALL
          ${of('fleet_events', after, scan)}
        ) both_logs ORDER BY seq LIMIT ${scan}
      ), wanted AS (
        SELECT * FROM scan s
        WHERE (s.kind = ANY (${kinds}) OR s.type = ANY (${types}))
          AND ${isWanted('s', { provider, slot, machine })}
        ORDER BY s.seq LIMIT ${limit}
      )
      SELECT h.newest, h.xmin, h.begun, (SELECT max(seq) FROM scan) AS scanned,
        (SELECT count(*) FROM scan) AS rows, ${EVENT.sql}
      FROM (${HEAD}) h LEFT JOIN wanted w ON true ORDER BY w.seq`,
  }),
  latest: statement({
    params: {
      ...{ limit: 'int8', since: 'float8?', kinds: 'text[]', types: 'text[]' },
      ...{ provider: 'text?', slot: 'text?', machine: 'uuid?' },
    },
    columns: { ...SIGHT, ...EVENT.columns },
    text: ({ kinds, types, ...rest }) => `
      SELECT h.newest, h.xmin, h.begun, ${EVENT.sql}
      FROM (${HEAD}) h LEFT JOIN (
        SELECT * FROM (
          ${latestOf('slot_events', { ...rest, column: 'kind', words: kinds })}
          UNION ALL
          ${latestOf('fleet_events', { ...rest, column: 'type', words: types })}
        ) both_logs ORDER BY seq DESC LIMIT ${rest.limit}
      ) w ON true ORDER BY w.seq`,
  }),
});

type PageRow = RowOf<typeof statements.page.columns>;

/** See `EventRepository`. What one answer proves also holds for every read requested after it. */
export function createEventRepository(
  db: Database,
  clock: Pick<Clock, 'monotonic'>,
): EventRepository {
  let horizon: Horizon = NOTHING_SEEN;
  /** Since when reads have been stuck although more events exist; null if they are not. */
  let waitingSince: number | null = null;
  const read = <P extends Params, C extends Columns>(
    doing: string,
    signal: AbortSignal,
    what: Statement<P, C>,
    args: ArgsOf<P>,
  ) => db.transact({ doing, isolation: 'READ COMMITTED', signal }, (q) => q.rows(what, args));
  const learn = (before: Horizon, row: RowOf<typeof SIGHT>): bigint => {
    const [newest, xmin, begun] = [row.newest, row.xmin, row.begun].map(BigInt);
    const found = horizonAfter(before, { newest: newest!, xmin: xmin!, begun: begun! });
    if (before === horizon) {
      const isStill = found.number === before.number && waitingSince !== null;
      if (found.number >= newest!) waitingSince = null;
      else if (!isStill) waitingSince = clock.monotonic();
      horizon = found;
    }
    return found.number;
  };
  return {
    newest: async (signal) => {
      const before = horizon;
      const [row] = await read('read the newest event', signal, statements.head, {});
      return String(learn(before, row!));
    },
    read: async (query, signal) => {
      const before = horizon;
      const args = { ...argsOf(query), after: query.after };
      const rows = await read('read events', signal, statements.page, args);
      return pageOf(query, args, rows, learn(before, rows[0]!));
    },
    latest: async (query, signal) => {
      const before = horizon;
      const { scan: _, ...args } = argsOf(query);
      const asked = { ...args, since: query.sinceMs };
      const rows = await read('read the latest events', signal, statements.latest, asked);
      const end = learn(before, rows[0]!);
      const events = eventsUpTo(end, rows).filter(({ type }) => args.types.includes(type));
      return { events, next: String(end), more: false };
    },
    waitingMs: () => (waitingSince === null ? 0 : clock.monotonic() - waitingSince),
    append: async (event) => {
      const doing = `write event ${event.type}`;
      await db.commit({ doing }, writing.write, { events: [event] });
    },
  };
}

function argsOf({ limit, types = EVENT_TYPES, ...only }: LatestQuery) {
  const most = Math.max(1, Math.min(EVENTS_MAX, Math.floor(limit)));
  const { provider = null, slotId: slot = null, machineId: machine = null } = only;
  const isAll = provider === null && slot === null && machine === null;
  const scan = isAll && types.length === EVENT_TYPES.length ? most : SCAN_MAX;
  return { limit: most, scan, types, kinds: slotKindsOf(types), provider, slot, machine };
}

/** Cuts the page where events stop being complete. */
function pageOf(
  { after, types = EVENT_TYPES }: EventsQuery,
  { limit, scan }: ReturnType<typeof argsOf>,
  rows: readonly PageRow[],
  horizon: bigint,
): EventsPage {
  const { newest, scanned, rows: looked } = rows[0]!;
  const isFull = rows.filter(({ seq }) => seq !== null).length === limit;
  const last = BigInt(isFull ? rows.at(-1)!.seq! : Number(looked) === scan ? scanned! : newest);
  const end = last < horizon ? last : horizon;
  // This database never issued the number, so it was restored from a backup since.
  const isStrange = BigInt(after) > BigInt(newest);
  const next = end > BigInt(after) || isStrange ? end : BigInt(after);
  return {
    events: eventsUpTo(horizon, rows).filter(({ type }) => types.includes(type)),
    next: String(next),
    more: next < horizon,
  };
}

type EventRow = RowOf<typeof EVENT.columns>;

const eventsUpTo = (horizon: bigint, rows: readonly EventRow[]): FleetEvent[] =>
  rows
    .filter(({ seq }) => seq !== null && BigInt(seq) <= horizon)
    .map(eventOf)
    .filter((event) => event !== null);

/** Null if there is no row, or this program does not know the event's type. */
export function eventOf(row: EventRow): FleetEvent | null {
  const { seq: number, kind, atMs, actor, provider, slotId, machineId, from, to } = row;
  if (number === null) return null;
  const { type, reason, details } = row;
  const line =
    kind === null
      ? { type: type!, reason: reason!, details: details! }
      : eventOfLine({ kind, reason: reason!, actor: actor!, to });
  if (line === null || !isEventType(line.type)) return null;
  const about = { provider, slotId, machineId, from, to };
  return { number, ...line, type: line.type, atMs: atMs!, actor: actor!, ...about };
}
