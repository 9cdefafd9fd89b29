import {
  isEventType,
  EVENT_TYPES,
  type EventDetails,
  type FleetEvent,
  slotKindsOf,
  toldLine,
} from '../../../../domain/events/fleet-event.ts';
import { machineId, providerName } from '../../../../domain/ids.ts';
import { EVENTS_MAX } from '../../events-port.ts';
import type { EventBook, EventsPage, EventsQuery, LatestQuery } from '../../events-port.ts';
import type { Clock } from '../../../clock/port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import { horizonAfter, NOTHING_SEEN } from './horizon.ts';
import type { Horizon } from './horizon.ts';
import { eventArgs, statements as writing } from './write.ts';

/** So many rows are looked at for one page, however few of them match. */
const SCAN_MAX = 5_000;

const SIGHT = { newest: 'int8', xmin: 'int8', begun: 'int8' } as const;
/**
 * `age()` looks at the counter of transactions itself, after the snapshot was taken, and takes no id: so
 * `begun` is the first id that nobody had. It remembers that for the whole transaction, so this stands in
 * one of its own.
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
const of = (table: keyof typeof COLUMNS, after: string, scan: string) =>
  `(${selectFrom(table)} WHERE e.seq > ${after} ORDER BY e.seq LIMIT ${scan})`;

type Wanted = Readonly<Record<'provider' | 'slot' | 'machine', string>>;
const isWanted = (e: string, { provider, slot, machine }: Wanted) =>
  `(${provider} IS NULL OR ${e}.provider = ${provider})
   AND (${slot} IS NULL OR ${e}.slot_id = ${slot})
   AND (${machine} IS NULL OR ${e}.machine_id = ${machine})`;

/** A row with a later number may be of a transaction that began earlier, by so much at most. */
const DISORDER = "interval '5 min'";
/** The last rows of one log. Where `words` are none, or behind `since`, it is not looked at. */
const latestOf = (
  table: keyof typeof COLUMNS,
  { column, words, since, limit, ...wanted }: Wanted & Readonly<Record<LatestPart, string>>,
) => `(${selectFrom(table)}
    WHERE cardinality(${words}) > 0 AND e.${column} = ANY (${words}) AND ${isWanted('e', wanted)}
      AND (${since} IS NULL OR e.at >= to_timestamp(${since} / 1000))
      AND (${since} IS NULL OR e.seq > coalesce((SELECT b.seq FROM ${table} b
        WHERE b.at < to_timestamp(${since} / 1000) - ${DISORDER} ORDER BY b.seq DESC LIMIT 1), 0))
    ORDER BY e.seq DESC LIMIT ${limit})`;
type LatestPart = 'column' | 'words' | 'since' | 'limit';

/** An event of either log, or none. */
export const EVENT_COLUMNS = {
  seq: 'int8?',
  at: 'float8?',
  kind: 'text?',
  type: 'text?',
  from: 'text?',
  to: 'text?',
  details: 'jsonb?',
  provider: 'text?',
  slot_id: 'text?',
  machine_id: 'uuid?',
  actor: 'text?',
  reason: 'text?',
} as const;
export const eventSql = (e: string): string =>
  `${e}.seq, ${ms(`${e}.at`)} AS at, ${e}.kind, ${e}.type, ${e}."from", ${e}."to", ${e}.details,
   ${e}.provider, ${e}.slot_id, ${e}.machine_id, ${e}.actor, ${e}.reason`;

export const statements = {
  head: statement({ name: 'events-head', params: {}, columns: SIGHT, text: () => HEAD }),
  /** One snapshot by itself. The first columns are there where no event matched, too. */
  page: statement({
    name: 'events-page',
    params: {
      ...{ after: 'int8', scan: 'int8', limit: 'int8', kinds: 'text[]', types: 'text[]' },
      ...{ provider: 'text?', slot: 'text?', machine: 'uuid?' },
    },
    columns: {
      ...SIGHT,
      /** The last row that was looked at, and whether these were all. */
      scanned: 'int8?',
      rows: 'int8',
      ...EVENT_COLUMNS,
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
        (SELECT count(*) FROM scan) AS rows, ${eventSql('w')}
      FROM (${HEAD}) h LEFT JOIN wanted w ON true ORDER BY w.seq`,
  }),
  latest: statement({
    name: 'events-latest',
    params: {
      ...{ limit: 'int8', since: 'float8?', kinds: 'text[]', types: 'text[]' },
      ...{ provider: 'text?', slot: 'text?', machine: 'uuid?' },
    },
    columns: { ...SIGHT, ...EVENT_COLUMNS },
    text: ({ kinds, types, ...rest }) => `
      SELECT h.newest, h.xmin, h.begun, ${eventSql('w')}
      FROM (${HEAD}) h LEFT JOIN (
        SELECT * FROM (
          ${latestOf('slot_events', { ...rest, column: 'kind', words: kinds })}
          UNION ALL
          ${latestOf('fleet_events', { ...rest, column: 'type', words: types })}
        ) both_logs ORDER BY seq DESC LIMIT ${rest.limit}
      ) w ON true ORDER BY w.seq`,
  }),
};

type PageRow = RowOf<typeof statements.page.columns>;
const READING = { isolation: 'READ COMMITTED' } as const;

/** See `EventBook`. What one answer proves holds for those that are asked for after it. */
export function createEventBook(db: Database, clock: Pick<Clock, 'monotonic'>): EventBook {
  let horizon: Horizon = NOTHING_SEEN;
  /** Since when nothing more is told, though there is more. */
  let waitingSince: number | null = null;
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
      const doing = 'look for the newest event';
      const [row] = await db.transact({ doing, ...READING, signal }, (q) =>
        q.rows(statements.head, {}),
      );
      return String(learn(before, row!));
    },
    read: async (query, signal) => {
      const before = horizon;
      const args = { ...argsOf(query), after: query.after };
      const rows = await db.transact({ doing: 'read events', ...READING, signal }, (q) =>
        q.rows(statements.page, args),
      );
      return pageOf(query, args, rows, learn(before, rows[0]!));
    },
    latest: async (query, signal) => {
      const before = horizon;
      const { scan: _, ...args } = argsOf(query);
      const since = query.sinceMs ?? null;
      const doing = 'read the latest events';
      const rows = await db.transact({ doing, ...READING, signal }, (q) =>
        q.rows(statements.latest, { ...args, since }),
      );
      const end = learn(before, rows[0]!);
      const events = eventsUpTo(end, rows).filter(({ type }) => args.types.includes(type));
      return { events, next: String(end), more: false };
    },
    waitingMs: () => (waitingSince === null ? 0 : clock.monotonic() - waitingSince),
    append: async (event) => {
      const doing = `write event ${event.type}`;
      await db.commit({ doing }, writing.write, eventArgs([event]));
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

/** Cut where events are not known to be complete. */
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
  // A number that was never given here is of a database that was restored since.
  const isStrange = BigInt(after) > BigInt(newest);
  const next = end > BigInt(after) || isStrange ? end : BigInt(after);
  return {
    events: eventsUpTo(horizon, rows).filter(({ type }) => types.includes(type)),
    next: String(next),
    more: next < horizon,
  };
}

type EventRow = RowOf<typeof EVENT_COLUMNS>;

const eventsUpTo = (horizon: bigint, rows: readonly EventRow[]): FleetEvent[] =>
  rows
    .filter(({ seq }) => seq !== null && BigInt(seq) <= horizon)
    .map(eventOf)
    .filter((event) => event !== null);

/** Null: there is no row, or this program does not know what it tells. */
export function eventOf(row: EventRow): FleetEvent | null {
  if (row.seq === null) return null;
  const told =
    row.kind === null
      ? { type: row.type!, reason: row.reason!, details: row.details as EventDetails }
      : toldLine(row.kind, row.reason!);
  if (told === null || !isEventType(told.type)) return null;
  const { type, reason, details } = told;
  return {
    ...{ number: row.seq, type, atMs: row.at!, reason, details, actor: row.actor! },
    provider: row.provider === null ? null : providerName(row.provider),
    slotId: row.slot_id,
    machineId: row.machine_id === null ? null : machineId(row.machine_id),
    ...{ from: row.from, to: row.to },
  };
}
