import { cursor, machineId, providerName, sessionId, witness } from '../../../../domain/ids.ts';
import type { ProviderName } from '../../../../domain/ids.ts';
import { PROVIDER_HOLD_KINDS } from '../../../../domain/machine.ts';
import type {
  HoldKind,
  HoldRow,
  IntentRow,
  PenaltyRow,
  ProviderHoldKind,
  ProviderHoldRow,
} from '../../../../domain/machine.ts';
import type { LeaseRow } from '../../../../domain/daemons.ts';
import type { BmdbSurroundings } from '../../port.ts';
import { statements as pools, toPool } from '../balancing/pool-rows.ts';
import { statements as guard, toGuardRow } from '../guard/guard-rows.ts';
import type { Queries } from '../pool.ts';
import { statements as requests, toRequest } from '../requests/requests.ts';
import { LIVE, ms, texts } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/**
 * `ReadingMoment`, for SELECT. A transaction ends either within xip, which then is one shorter, or
 * beyond xmax, which then moves past it, and whatever runs below the new xmax counts for nothing: so
 * each end of a transaction that wrote makes the difference greater, and nothing makes it less.
 * Subtransactions are never in xip, hence need not fit anywhere; what they wrote is seen when the
 * transaction ends, which counts. On a standby xip is always empty, but there the feed of changes
 * cannot be read either.
 */
export const MOMENT = `${ms('now()')} AS at,
  (pg_snapshot_xmax(pg_current_snapshot())::text::int8
    - (SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot())))::float8 AS version`;
export const MOMENT_COLUMNS = { at: 'float8', version: 'float8' } as const;

/** Columns of an intent, for SELECT and RETURNING; the table must be called `i`. */
export const INTENT = `i.witness, i.machine_id, i.provider, i.slot_id, i.hostname, i.state,
  i.ambiguous, i.attempts, i.session_id, ${ms('i.created_at')} AS created_at,
  ${ms('i.empty_since')} AS empty_since, i.last_error,
  EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = i.session_id AND ${LIVE}) AS alive`;
/** What `INTENT` is read as. */
export const INTENT_COLUMNS = {
  witness: 'uuid',
  machine_id: 'uuid',
  provider: 'text',
  slot_id: 'text',
  hostname: 'text',
  state: 'intent_state',
  ambiguous: 'bool',
  attempts: 'int8',
  session_id: 'uuid',
  created_at: 'float8',
  empty_since: 'float8?',
  last_error: 'text?',
  alive: 'bool',
} as const;

export type FlatIntent = RowOf<typeof INTENT_COLUMNS>;

/** The row must be open or unresolved. */
export const toIntent = (row: FlatIntent): IntentRow => ({
  witness: witness(row.witness),
  machineId: machineId(row.machine_id),
  provider: providerName(row.provider),
  slotId: row.slot_id,
  hostname: row.hostname,
  state: row.state as IntentRow['state'],
  ambiguous: row.ambiguous,
  attempts: Number(row.attempts),
  sessionId: sessionId(row.session_id),
  sessionAlive: row.alive,
  createdAtMs: row.created_at,
  emptySinceMs: row.empty_since,
  lastError: row.last_error,
});

/** The last moment that there is a date for. */
const NEVER_MS = 8_640_000_000_000_000;
const UNTIL = `coalesce(${ms('until')}, ${NEVER_MS})`;

const HOLD = `provider, slot_id, kind, set_by, reason, ${ms('until')} AS until, force
  FROM slot_holds WHERE (until IS NULL OR until > now())`;
const HOLD_COLUMNS = {
  provider: 'text',
  slot_id: 'text',
  kind: 'text',
  set_by: 'text',
  reason: 'text',
  until: 'float8?',
  force: 'bool',
} as const;

/** What surrounds the machines: each is a list of its own, and `SURROUNDINGS` reads all of them. */
export const statements = {
  intents: statement({
    name: 'intents',
    params: {},
    columns: INTENT_COLUMNS,
    text: () => `SELECT ${INTENT} FROM provision_intents i WHERE i.state IN ('open', 'unresolved')`,
  }),
  holds: statement({
    name: 'holds',
    params: {},
    columns: HOLD_COLUMNS,
    text: () => `SELECT ${HOLD}`,
  }),
  holdsOf: statement({
    name: 'holds-of-slot',
    params: { provider: 'text', slot: 'text' },
    columns: HOLD_COLUMNS,
    text: ({ provider, slot }) => `SELECT ${HOLD} AND provider = ${provider} AND slot_id = ${slot}`,
  }),
  penalties: statement({
    name: 'penalties',
    params: {},
    columns: { provider: 'text', key: 'text', until: 'float8', cause: 'text' },
    text: () => `
      SELECT provider, key, ${UNTIL} AS until, cause
      FROM provider_holds WHERE kind = 'penalty' AND (until IS NULL OR until > now())`,
  }),
  providerHolds: statement({
    name: 'provider-holds',
    params: {},
    columns: {
      provider: 'text',
      kind: 'text',
      key: 'text',
      until: 'float8',
      level: 'int8',
      amount: 'int8?',
      cause: 'text',
    },
    text: () => `
      SELECT provider, kind, key, ${UNTIL} AS until, level, amount, cause
      FROM provider_holds WHERE kind IN (${texts(PROVIDER_HOLD_KINDS)})`,
  }),
  leases: statement({
    name: 'leases',
    params: {},
    columns: { name: 'text', session_id: 'uuid', held: 'bool' },
    text: () => `
      SELECT l.name, l.session_id, EXISTS (SELECT 1 FROM sessions s
        WHERE s.session_id = l.session_id AND ${LIVE}) AS held
      FROM leases l`,
  }),
  sessions: statement({
    name: 'sessions',
    params: {},
    columns: { session_id: 'uuid', component: 'text' },
    text: () =>
      `SELECT s.session_id, s.session_component_name AS component FROM sessions s WHERE ${LIVE}`,
  }),
};

const LISTS = {
  intents: statements.intents,
  holds: statements.holds,
  penalties: statements.penalties,
  provider_holds: statements.providerHolds,
  leases: statements.leases,
  requests: requests.open,
  guard: guard.read,
  pools: pools.read,
  sessions: statements.sessions,
} as const;
type Lists = typeof LISTS;
type ListName = keyof Lists;

/**
 * What is read whole each time, and how far the changes have come, for SELECT: one statement, since
 * it is read every few seconds for ever.
 */
export const SURROUNDINGS = `${MOMENT},
  (SELECT f.era || ' ' || pg_snapshot_xmin(pg_current_snapshot()) FROM change_feed f) AS cursor,
  ${Object.entries(LISTS)
    .map(([name, { text }]) => `(SELECT json_agg(each) FROM (${text}) each) AS ${name}`)
    .join(',\n')}`;
/** What `SURROUNDINGS` is read as; a list of nothing is null. */
export const SURROUNDINGS_COLUMNS = {
  ...MOMENT_COLUMNS,
  cursor: 'text?',
  intents: 'json?',
  holds: 'json?',
  penalties: 'json?',
  provider_holds: 'json?',
  leases: 'json?',
  requests: 'json?',
  guard: 'json?',
  pools: 'json?',
  sessions: 'json?',
} as const;
type FlatSurroundings = RowOf<typeof SURROUNDINGS_COLUMNS>;

/** Numbers of the database's int8 come as numbers here, which `Number` leaves as they are. */
const listOf = <Name extends ListName>(row: FlatSurroundings, name: Name) =>
  (row[name] ?? []) as readonly RowOf<Lists[Name]['columns']>[];

export const toSurroundings = (row: FlatSurroundings): BmdbSurroundings => ({
  nowMs: row.at,
  version: row.version,
  cursor: row.cursor === null ? null : cursor(row.cursor),
  intents: listOf(row, 'intents').map(toIntent),
  holds: listOf(row, 'holds').map(toHold),
  penalties: listOf(row, 'penalties').map(toPenalty),
  providerHolds: listOf(row, 'provider_holds').map(toProviderHold),
  leases: listOf(row, 'leases').map(toLease),
  requests: listOf(row, 'requests').map(toRequest),
  guard: listOf(row, 'guard').map(toGuardRow),
  pools: listOf(row, 'pools').map(toPool),
  sessions: listOf(row, 'sessions').map((each) => ({
    sessionId: sessionId(each.session_id),
    component: each.component,
  })),
});

/** Those of one slot. */
export const readHoldsOf = async (
  q: Queries,
  provider: ProviderName,
  slot: string,
): Promise<HoldRow[]> => (await q.rows(statements.holdsOf, { provider, slot })).map(toHold);

const toHold = (row: RowOf<typeof HOLD_COLUMNS>): HoldRow => ({
  provider: providerName(row.provider),
  slotId: row.slot_id,
  kind: row.kind as HoldKind,
  setBy: row.set_by,
  reason: row.reason,
  untilMs: row.until,
  ...(row.force && { force: true }),
});

const toPenalty = (row: RowOf<Lists['penalties']['columns']>): PenaltyRow => ({
  provider: providerName(row.provider),
  slotId: row.key,
  untilMs: row.until,
  cause: row.cause,
});

const toProviderHold = (row: RowOf<Lists['provider_holds']['columns']>): ProviderHoldRow => ({
  provider: providerName(row.provider),
  kind: row.kind as ProviderHoldKind,
  key: row.key,
  untilMs: row.until,
  level: Number(row.level),
  amount: row.amount === null ? null : Number(row.amount),
  cause: row.cause,
});

const toLease = (row: RowOf<Lists['leases']['columns']>): LeaseRow => ({
  name: row.name,
  held: row.held,
  sessionId: sessionId(row.session_id),
});
