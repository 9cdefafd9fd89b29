import { NotFound, NothingToDo } from '../../../../domain/errors.ts';
import { isUuid, machineId, providerName } from '../../../../domain/ids.ts';
import type { RequestRow, Verb } from '../../../../domain/machine.ts';
import { EXPIRED, isOrder } from '../../../../domain/requests.ts';
import type { RequestBook, RequestState } from '../../port.ts';
import { filedRequest, isKey, poolOf, requireSame } from '../../filed-requests.ts';
import type { FiledRequest } from '../../filed-requests.ts';
import { refused, VERBS } from '../../../../domain/settlement.ts';
import { OPEN_ORDER, SLOT_ID } from '../eligibility.ts';
import { endRequests } from './request-ends.ts';
import type { Database, Queries } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { ms, texts } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** Lines of one answer at most. */
const LIST_MAX = 1_000;
const DOING = { isolation: 'READ COMMITTED' } as const;

/** Columns of a request, for SELECT; the table must be called `y`. */
const REQUEST = `y.idempotency_key AS key, y.verb, y.provider, y.slot_id, y.machine_id,
  y.actor AS by, y.reason, ${ms('y.created_at')} AS created_at,
  ${ms('y.expires_at')} AS expires_at, y.state, y.outcome, ${ms('y.settled_at')} AS settled_at,
  y.parameters`;
const COLUMNS = {
  key: 'text',
  verb: 'text',
  provider: 'text?',
  slot_id: 'text?',
  machine_id: 'uuid?',
  by: 'text',
  reason: 'text',
  created_at: 'float8',
  expires_at: 'float8',
  state: 'text',
  outcome: 'text?',
  settled_at: 'float8?',
  parameters: 'jsonb',
} as const;
export type FlatRequest = RowOf<typeof COLUMNS>;

export const statements = {
  /** Of the verbs that this program knows, oldest first. */
  open: statement({
    name: 'requests-open',
    params: {},
    columns: COLUMNS,
    text: () =>
      `SELECT ${REQUEST} FROM operator_intents y
       WHERE y.state = 'open' AND y.verb IN (${texts(VERBS)})
       ORDER BY y.created_at, y.idempotency_key`,
  }),
  named: statement({
    name: 'requests-named',
    params: { keys: 'text[]' },
    columns: COLUMNS,
    text: ({ keys }) =>
      `SELECT ${REQUEST} FROM operator_intents y WHERE y.idempotency_key = ANY (${keys})`,
  }),
  /** Whoever settles it waits for whoever else does. */
  lock: statement({
    name: 'request-lock',
    params: { key: 'text' },
    columns: COLUMNS,
    text: ({ key }) =>
      `SELECT ${REQUEST} FROM operator_intents y WHERE y.idempotency_key = ${key} FOR UPDATE`,
  }),
  list: statement({
    name: 'requests-list',
    params: { provider: 'text?', slot: 'text?', limit: 'int8' },
    columns: COLUMNS,
    text: ({ provider, slot, limit }) =>
      `SELECT ${REQUEST} FROM operator_intents y
       WHERE (${provider} IS NULL OR y.provider = ${provider})
         AND (${slot} IS NULL OR y.slot_id = ${slot})
       ORDER BY y.created_at DESC, y.idempotency_key DESC LIMIT ${limit}`,
  }),
  listOfSlot: statement({
    name: 'requests-list-of-slot',
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: COLUMNS,
    text: ({ provider, slot, limit }) =>
      `SELECT ${REQUEST} FROM operator_intents y
       WHERE y.provider = ${provider} AND y.slot_id = ${slot}
       ORDER BY y.created_at DESC, y.idempotency_key DESC LIMIT ${limit}`,
  }),
  slotOfMachine: statement({
    name: 'request-slot-of-machine',
    params: { machine: 'uuid' },
    columns: { provider: 'text?', slot_id: 'text?' },
    text: ({ machine }) =>
      `SELECT p.provider, ${SLOT_ID}::text AS slot_id
       FROM machines m LEFT JOIN machine_provided p USING (machine_id)
       WHERE m.machine_id = ${machine}`,
  }),
  openOrder: statement({
    name: 'request-open-order',
    params: { machine: 'uuid' },
    columns: { ...COLUMNS, expired: 'bool' },
    text: ({ machine }) =>
      `SELECT ${REQUEST}, y.expires_at <= now() AS expired FROM operator_intents y
       WHERE y.machine_id = ${machine} AND ${OPEN_ORDER}`,
  }),
  /** Nothing is written where the key is used, or the machine has an open order. */
  insert: statement({
    name: 'request-insert',
    params: {
      key: 'text',
      verb: 'text',
      provider: 'text?',
      slot: 'text?',
      machine: 'uuid?',
      parameters: 'jsonb',
      by: 'text',
      reason: 'text',
      valid: 'float8',
    },
    columns: COLUMNS,
    text: ({ key, verb, provider, slot, machine, parameters, by, reason, valid }) =>
      `INSERT INTO operator_intents AS y (idempotency_key, verb, provider, slot_id, machine_id,
         parameters, actor, reason, expires_at)
       VALUES (${key}, ${verb}, ${provider}, ${slot}, ${machine}, ${parameters}, ${by}, ${reason},
         now() + ${valid} * interval '1 millisecond')
       ON CONFLICT DO NOTHING RETURNING ${REQUEST}`,
  }),
};

/** See `RequestBook`. Requests are filed by people, so no session is needed. */
export const createRequests = (db: Database): RequestBook => ({
  file: async (request) => {
    const asked = filedRequest(request);
    const options = { doing: `ask for ${asked.verb}`, ...DOING };
    return repeatedOnce(() => db.transact(options, (q) => file(q, asked)));
  },
  read: (keys, signal) =>
    db.transact({ doing: 'read requests', ...DOING, signal }, async (q) =>
      (await q.rows(statements.named, { keys: keys.filter(isKey) })).map(toState),
    ),
  list: ({ provider = null, slotId = null, limit }, signal) =>
    db.transact({ doing: 'list requests', ...DOING, signal }, async (q) => {
      const most = Math.max(0, Math.min(LIST_MAX, Math.floor(limit)));
      const rows =
        provider !== null && slotId !== null
          ? await q.rows(statements.listOfSlot, { provider, slot: slotId, limit: most })
          : await q.rows(statements.list, { provider, slot: slotId, limit: most });
      return rows.map(toState);
    }),
});

export const toRequest = (row: FlatRequest): RequestRow => ({
  key: row.key,
  verb: row.verb as Verb,
  provider: row.provider === null ? null : providerName(row.provider),
  slotId: row.slot_id,
  machineId: row.machine_id === null ? null : machineId(row.machine_id),
  by: row.by,
  reason: row.reason,
  createdAtMs: row.created_at,
  expiresAtMs: row.expires_at,
  ...poolOf(row.verb as Verb, row.parameters),
});

export const toState = (row: FlatRequest): RequestState => ({
  ...toRequest(row),
  state: row.state as RequestState['state'],
  outcome: row.outcome,
  settledAtMs: row.settled_at,
});

/** Tries so often to file what others file, or settle, at the same time. */
const TURNS = 5;

async function file(q: Queries, asked: FiledRequest): Promise<RequestState> {
  for (let turn = 1; ; turn++) {
    const before = await readBefore(q, asked);
    if (before) return before;
    await requireMachine(q, asked);
    if (isOrder(asked.verb)) await refuseSecondOrder(q, asked);
    const { provider, slotId: slot, machineId: machine, validForMs: valid, ...rest } = asked;
    const [row] = await q.rows(statements.insert, { ...rest, provider, slot, machine, valid });
    if (row) return toState(row);
    if (turn === TURNS) throw new NothingToDo(`somebody else is asking for ${asked.verb}, too`);
  }
}

/** @throws {UsageError} the key was used for something else. */
async function readBefore(q: Queries, asked: FiledRequest): Promise<RequestState | null> {
  const [row] = await q.rows(statements.named, { keys: [asked.key] });
  if (!row) return null;
  requireSame(asked, {
    ...toRequest(row),
    parameters: row.parameters as FiledRequest['parameters'],
  });
  return toState(row);
}

/** One without hardware is on no slot, which settling finds. @throws {NotFound} */
async function requireMachine(q: Queries, asked: FiledRequest): Promise<void> {
  const { machineId: machine, provider, slotId } = asked;
  if (machine === null) return;
  const [found] = isUuid(machine) ? await q.rows(statements.slotOfMachine, { machine }) : [];
  if (!found) throw new NotFound(`there is no machine ${machine}`);
  if (found.provider === null) return;
  if (found.provider !== provider || found.slot_id !== slotId) {
    const where = `${found.provider}/${found.slot_id}`;
    throw new NotFound(`machine ${machine} is on slot ${where}, not on ${provider}/${slotId}`);
  }
}

/** One that has expired makes room. @throws {NothingToDo} */
async function refuseSecondOrder(q: Queries, asked: FiledRequest): Promise<void> {
  const [open] = await q.rows(statements.openOrder, { machine: asked.machineId! });
  // The same may have been filed a moment ago.
  if (!open || open.key === asked.key) return;
  const request = toRequest(open);
  if (!open.expired) {
    const what = `${request.verb} by ${request.by}: ${request.reason}`;
    throw new NothingToDo(`something is open for machine ${asked.machineId} already (${what})`);
  }
  await endRequests(q, null, [{ key: request.key, ...refused(EXPIRED) }]);
}
