import type { ConditionRow } from '../../../../domain/conditions.ts';
import type { LeaseRow } from '../../../../domain/daemons.ts';
import type { Cursor, ProviderName } from '../../../../domain/ids.ts';
import { PROVIDER_HOLD_KINDS } from '../../../../domain/machine.ts';
import type {
  GuardRow,
  HoldKind,
  HoldRow,
  IntentRow,
  PenaltyRow,
  ProviderHoldKind,
  ProviderHoldRow,
} from '../../../../domain/machine.ts';
import type { PoolRow } from '../../../../domain/balancing/pool-row.ts';
import { REPLACEMENT_MS, type Replacement } from '../../../../domain/provisioning/replacement.ts';
import type { BmdbSurroundings } from '../../port.ts';
import { statements as pools } from '../balancing/pool-rows.ts';
import { statements as conditions } from '../conditions/repository.ts';
import { statements as guard } from '../guard/guard-rows.ts';
import type { Queries } from '../pool.ts';
import { statements as requests, toRequest, type FlatRequest } from '../requests/requests.ts';
import { LIVE, ms, texts } from '../sql.ts';
import { type As, selection, statement } from '../statement.ts';
import type { RowOf, Statement } from '../statement.ts';

/**
 * `ReadingMoment`, for SELECT. If an ended transaction was in xip, xip gets shorter by one. If it
 * was beyond xmax, xmax moves past it; transactions running below the new xmax do not count. So
 * each end of a writing transaction increases the difference, and nothing decreases it.
 * Subtransactions are never in xip and need no place: their writes become visible when the
 * transaction ends, which counts. On a standby xip is always empty, but there the feed of changes
 * cannot be read either.
 */
export const MOMENT = selection({
  nowMs: ['float8', ms('now()')],
  version: [
    'float8',
    `(pg_snapshot_xmax(pg_current_snapshot())::text::int8
      - (SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot())))::float8`,
  ],
});

/** An open or unresolved intent; the table must have the alias `i`. */
export const INTENT = selection({
  witness: ['witness', 'i.witness'],
  machineId: ['machine', 'i.machine_id'],
  provider: ['provider', 'i.provider'],
  slotId: ['text', 'i.slot_id'],
  hostname: ['text', 'i.hostname'],
  state: ['intent_state' as As<'intent_state', IntentRow['state']>, 'i.state'],
  ambiguous: ['bool', 'i.ambiguous'],
  attempts: ['float8', 'i.attempts::float8'],
  sessionId: ['session', 'i.session_id'],
  sessionAlive: [
    'bool',
    `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = i.session_id AND ${LIVE})`,
  ],
  createdAtMs: ['float8', ms('i.created_at')],
  emptySinceMs: ['float8?', ms('i.empty_since')],
  lastError: ['text?', 'i.last_error'],
});

const HOLD = selection({
  provider: ['provider', 'provider'],
  slotId: ['text', 'slot_id'],
  kind: ['text' as As<'text', HoldKind>, 'kind'],
  setBy: ['text', 'set_by'],
  reason: ['text', 'reason'],
  fromMs: ['float8?', ms('from_at')],
  untilMs: ['float8?', ms('until')],
  force: ['bool', 'force'],
});
const HOLDS = `SELECT ${HOLD.sql} FROM slot_holds WHERE (until IS NULL OR until > now())`;

/** The last time that a date can represent. */
const NEVER_MS = 8_640_000_000_000_000;
const UNTIL = `coalesce(${ms('until')}, ${NEVER_MS})`;
const PENALTY = selection({
  provider: ['provider', 'provider'],
  slotId: ['text', 'key'],
  untilMs: ['float8', UNTIL],
  cause: ['text', 'cause'],
});
const PROVIDER_HOLD = selection({
  provider: ['provider', 'provider'],
  kind: ['text' as As<'text', ProviderHoldKind>, 'kind'],
  key: ['text', 'key'],
  untilMs: ['float8', UNTIL],
  level: ['float8', 'level::float8'],
  amount: ['float8?', 'amount::float8'],
  cause: ['text', 'cause'],
});
const REPLACEMENT = selection({
  provider: ['provider', 'provider'],
  atMs: ['float8', ms('created_at')],
});
const LEASE = selection({
  name: ['text', 'l.name'],
  sessionId: ['session', 'l.session_id'],
  held: ['bool', `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = l.session_id AND ${LIVE})`],
});
const SESSION = selection({
  sessionId: ['session', 's.session_id'],
  component: ['text', 's.session_component_name'],
});

/** Everything besides machines. Each statement reads one list; `SURROUNDINGS` reads them all. */
export const statements = {
  intents: statement({
    name: 'intents',
    columns: INTENT.columns,
    text: () =>
      `SELECT ${INTENT.sql} FROM provision_intents i WHERE i.state IN ('open', 'unresolved')`,
  }),
  holds: statement({ name: 'holds', params: {}, columns: HOLD.columns, text: () => HOLDS }),
  holdsOf: statement({
    name: 'holds-of-slot',
    params: { provider: 'text', slot: 'text' },
    columns: HOLD.columns,
    text: ({ provider, slot }) => `${HOLDS} AND provider = ${provider} AND slot_id = ${slot}`,
  }),
  replacements: statement({
    name: 'replacements',
    columns: REPLACEMENT.columns,
    text: () =>
      `SELECT ${REPLACEMENT.sql} FROM provision_intents
       WHERE replaces AND state NOT IN ('failed', 'abandoned')
         AND created_at > now() - ${REPLACEMENT_MS} * interval '1 millisecond'`,
  }),
  penalties: statement({
    name: 'penalties',
    columns: PENALTY.columns,
    text: () =>
      `SELECT ${PENALTY.sql} FROM provider_holds
       WHERE kind = 'penalty' AND (until IS NULL OR until > now())`,
  }),
  providerHolds: statement({
    name: 'provider-holds',
    columns: PROVIDER_HOLD.columns,
    text: () =>
      `SELECT ${PROVIDER_HOLD.sql} FROM provider_holds WHERE kind IN (${texts(PROVIDER_HOLD_KINDS)})`,
  }),
  leases: statement({
    name: 'leases',
    columns: LEASE.columns,
    text: () => `SELECT ${LEASE.sql} FROM leases l`,
  }),
  sessions: statement({
    name: 'sessions',
    columns: SESSION.columns,
    text: () => `SELECT ${SESSION.sql} FROM sessions s WHERE ${LIVE}`,
  }),
};

const listOf = <Row>({ text }: Statement) =>
  [
    'json' as As<'json', readonly Row[]>,
    `(SELECT coalesce(json_agg(each), '[]') FROM (${text}) each)`,
  ] as const;
type FlatHold = RowOf<typeof HOLD.columns>;

/**
 * Everything that is read whole each time, and the position in the feed of changes. One statement,
 * because it runs every few seconds.
 */
export const SURROUNDINGS = selection({
  cursor: [
    'text?' as As<'text?', Cursor | null>,
    `(SELECT f.era || ' ' || pg_snapshot_xmin(pg_current_snapshot()) FROM change_feed f)`,
  ],
  intents: listOf<IntentRow>(statements.intents),
  holds: listOf<FlatHold>(statements.holds),
  penalties: listOf<PenaltyRow>(statements.penalties),
  conditions: listOf<ConditionRow>(conditions.open),
  providerHolds: listOf<ProviderHoldRow>(statements.providerHolds),
  leases: listOf<LeaseRow>(statements.leases),
  requests: listOf<FlatRequest>(requests.open),
  guard: listOf<GuardRow>(guard.read),
  replacements: listOf<Replacement>(statements.replacements),
  pools: listOf<PoolRow>(pools.read),
  sessions: listOf<BmdbSurroundings['sessions'][number]>(statements.sessions),
});
export const SURROUNDINGS_COLUMNS = { ...MOMENT.columns, ...SURROUNDINGS.columns };
export const SURROUNDINGS_SQL = `${MOMENT.sql}, ${SURROUNDINGS.sql}`;

export const toSurroundings = (row: RowOf<typeof SURROUNDINGS_COLUMNS>): BmdbSurroundings => ({
  ...row,
  holds: row.holds.map(toHold),
  requests: row.requests.map(toRequest),
});

/** Holds of one slot. */
export const readHoldsOf = async (
  q: Queries,
  provider: ProviderName,
  slot: string,
): Promise<HoldRow[]> => (await q.rows(statements.holdsOf, { provider, slot })).map(toHold);

const toHold = ({ force, fromMs, ...hold }: FlatHold): HoldRow => ({
  ...hold,
  ...(force && { force }),
  ...(fromMs !== null && { fromMs }),
});
