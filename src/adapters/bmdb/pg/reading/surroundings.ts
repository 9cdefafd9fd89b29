import { cursor, machineId, providerName, sessionId, witness } from '../../../../domain/ids.ts';
import type { ProviderName } from '../../../../domain/ids.ts';
import { PROVIDER_HOLD_KINDS } from '../../../../domain/machine.ts';
import type {
  HoldKind,
  HoldRow,
  IntentRow,
  LeaseRow,
  PenaltyRow,
  ProviderHoldKind,
  ProviderHoldRow,
} from '../../../../domain/machine.ts';
import type { BmdbSurroundings } from '../../port.ts';
import { readGuardRows } from '../guard/guard-rows.ts';
import type { Queries } from '../pool.ts';
import { readOpenRequests } from '../requests/requests.ts';
import { LIVE, ms } from '../sql.ts';
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

const HOLD = `provider, slot_id, kind, set_by, reason, ${ms('until')} AS until
  FROM slot_holds WHERE (until IS NULL OR until > now())`;
const HOLD_COLUMNS = {
  provider: 'text',
  slot_id: 'text',
  kind: 'text',
  set_by: 'text',
  reason: 'text',
  until: 'float8?',
} as const;

export const statements = {
  moment: statement({
    name: 'moment',
    params: {},
    columns: { ...MOMENT_COLUMNS, cursor: 'text?' },
    text: () => `
      SELECT ${MOMENT},
        (SELECT f.era || ' ' || pg_snapshot_xmin(pg_current_snapshot()) FROM change_feed f)
          AS cursor`,
  }),
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
    params: { kinds: 'text[]' },
    columns: {
      provider: 'text',
      kind: 'text',
      key: 'text',
      until: 'float8',
      level: 'int8',
      amount: 'int8?',
      cause: 'text',
    },
    text: ({ kinds }) => `
      SELECT provider, kind, key, ${UNTIL} AS until, level, amount, cause
      FROM provider_holds WHERE kind = ANY (${kinds})`,
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

/** What is read whole each time, and how far the changes have come; in the caller's snapshot. */
export async function readSurroundings(q: Queries): Promise<BmdbSurroundings> {
  const [moment] = await q.rows(statements.moment, {});
  const intents = await q.rows(statements.intents, {});
  const sessions = await q.rows(statements.sessions, {});
  return {
    nowMs: moment!.at,
    version: moment!.version,
    cursor: moment!.cursor === null ? null : cursor(moment!.cursor),
    intents: intents.map(toIntent),
    holds: await readHolds(q),
    penalties: await readPenalties(q),
    providerHolds: await readProviderHolds(q),
    leases: await readLeases(q),
    requests: await readOpenRequests(q),
    guard: await readGuardRows(q),
    sessions: sessions.map((row) => ({
      sessionId: sessionId(row.session_id),
      component: row.component,
    })),
  };
}

const readHolds = async (q: Queries): Promise<HoldRow[]> =>
  (await q.rows(statements.holds, {})).map(toHold);

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
});

async function readPenalties(q: Queries): Promise<PenaltyRow[]> {
  const rows = await q.rows(statements.penalties, {});
  return rows.map((row) => ({
    provider: providerName(row.provider),
    slotId: row.key,
    untilMs: row.until,
    cause: row.cause,
  }));
}

async function readProviderHolds(q: Queries): Promise<ProviderHoldRow[]> {
  const rows = await q.rows(statements.providerHolds, { kinds: PROVIDER_HOLD_KINDS });
  return rows.map((row) => ({
    provider: providerName(row.provider),
    kind: row.kind as ProviderHoldKind,
    key: row.key,
    untilMs: row.until,
    level: Number(row.level),
    amount: row.amount === null ? null : Number(row.amount),
    cause: row.cause,
  }));
}

async function readLeases(q: Queries): Promise<LeaseRow[]> {
  const rows = await q.rows(statements.leases, {});
  return rows.map((row) => ({
    name: row.name,
    held: row.held,
    sessionId: sessionId(row.session_id),
  }));
}
