import { NotFound, NothingToDo } from '../../../../domain/errors.ts';
import type { BatchRefusal } from '../../../../domain/errors.ts';
import { isUuid } from '../../../../domain/ids.ts';
import type { RequestRow } from '../../../../domain/machine.ts';
import { isOrder, VERB_NAMES, type Verb } from '../../../../domain/verbs.ts';
import { EXPIRED, openOrderText } from '../../../../domain/requests.ts';
import type { RequestBatch, RequestRepository, RequestQuery, RequestState } from '../../port.ts';
import {
  digestOf,
  submittedBatch,
  submittedRequest,
  isKey,
  poolOf,
  requireAll,
  requireSame,
  requireSameBatch,
} from '../../submitted-requests.ts';
import type { SubmittedBatch, SubmittedRequest } from '../../submitted-requests.ts';
import { refused } from '../../../../domain/request-result.ts';
import { OPEN_ORDER, SLOT_ID } from '../eligibility.ts';
import { endRequests } from './request-ends.ts';
import type { Database, Queries } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { ms, texts } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** Maximum requests in one answer. */
const LIST_MAX = 1_000;
const DOING = { isolation: 'READ COMMITTED' } as const;

/** A stored request; the table must have the alias `y`. */
const REQUEST = selection({
  key: ['text', 'y.idempotency_key'],
  verb: ['text' as As<'text', Verb>, 'y.verb'],
  provider: ['provider?', 'y.provider'],
  slotId: ['text?', 'y.slot_id'],
  machineId: ['machine?', 'y.machine_id'],
  by: ['text', 'y.actor'],
  reason: ['text', 'y.reason'],
  createdAtMs: ['float8', ms('y.created_at')],
  expiresAtMs: ['float8', ms('y.expires_at')],
  state: ['text' as As<'text', RequestState['state']>, 'y.state'],
  outcome: ['text?', 'y.outcome'],
  settledAtMs: ['float8?', ms('y.settled_at')],
  parameters: ['jsonb' as As<'jsonb', SubmittedRequest['parameters']>, 'y.parameters'],
  batch: ['text?', 'y.batch'],
  role: ['text?', 'y.role'],
  proven: ['bool', 'y.proven'],
});
export type FlatRequest = RowOf<typeof REQUEST.columns>;

/**
 * A filter as a CASE, which the planner expects to pass half of the rows. So it walks the index in
 * order; by its estimate for OR it would read and sort everything.
 */
const given = (value: string, condition: string) =>
  `CASE WHEN ${value} IS NULL THEN true ELSE ${condition} ${value} END`;
const COLUMN_OF = {
  ...{ provider: 'provider', slotId: 'slot_id', machineId: 'machine_id', verb: 'verb' },
  ...{ by: 'actor', state: 'state', batch: 'batch' },
};

export const statements = named('requests', {
  /** Open requests with verbs that this program knows, oldest first. */
  open: statement({
    columns: REQUEST.columns,
    text: () =>
      `SELECT ${REQUEST.sql} FROM operator_intents y
       WHERE y.state = 'open' AND y.verb IN (${texts(VERB_NAMES)})
       ORDER BY y.created_at, y.idempotency_key`,
  }),
  named: statement({
    params: { keys: 'text[]' },
    columns: REQUEST.columns,
    text: ({ keys }) =>
      `SELECT ${REQUEST.sql} FROM operator_intents y WHERE y.idempotency_key = ANY (${keys})`,
  }),
  /** Two daemons that apply the same request wait for each other. */
  lock: statement({
    name: 'request-lock',
    params: { key: 'text' },
    columns: REQUEST.columns,
    text: ({ key }) =>
      `SELECT ${REQUEST.sql} FROM operator_intents y WHERE y.idempotency_key = ${key} FOR UPDATE`,
  }),
  list: statement({
    params: {
      ...{ provider: 'text?', slotId: 'text?', machineId: 'uuid?', verb: 'text?', by: 'text?' },
      ...{ state: 'text?', batch: 'text?', sinceMs: 'float8?', untilMs: 'float8?' },
      ...{ after: 'text?', limit: 'int8' },
    },
    columns: REQUEST.columns,
    text: ({ sinceMs, untilMs, after, limit, ...equal }) =>
      `SELECT ${REQUEST.sql} FROM operator_intents y
       WHERE ${Object.entries(COLUMN_OF)
         .map(([name, column]) => given(equal[name as keyof typeof equal], `y.${column} =`))
         .join(' AND ')}
         AND ${given(sinceMs, `${ms('y.created_at')} >=`)}
         AND ${given(untilMs, `${ms('y.created_at')} <`)}
         AND CASE WHEN ${after} IS NULL THEN true ELSE (y.created_at, y.idempotency_key) < (
           SELECT b.created_at, b.idempotency_key FROM operator_intents b
           WHERE b.idempotency_key = ${after}) END
       ORDER BY y.created_at DESC, y.idempotency_key DESC LIMIT ${limit}`,
  }),
  listOfSlot: statement({
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: REQUEST.columns,
    text: ({ provider, slot, limit }) =>
      `SELECT ${REQUEST.sql} FROM operator_intents y
       WHERE y.provider = ${provider} AND y.slot_id = ${slot}
       ORDER BY y.created_at DESC, y.idempotency_key DESC LIMIT ${limit}`,
  }),
  ofBatch: statement({
    params: { batch: 'text' },
    columns: REQUEST.columns,
    text: ({ batch }) =>
      `SELECT ${REQUEST.sql} FROM operator_intents y
       WHERE y.batch = ${batch} ORDER BY y.idempotency_key`,
  }),
  slotsOfMachines: statement({
    name: 'request-slots-of-machines',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'machine', provider: 'text?', slot_id: 'text?' },
    text: ({ machines }) =>
      `SELECT m.machine_id, p.provider, ${SLOT_ID}::text AS slot_id
       FROM machines m LEFT JOIN machine_provided p USING (machine_id)
       WHERE m.machine_id = ANY (${machines})`,
  }),
  openOrders: statement({
    name: 'request-open-orders',
    params: { machines: 'uuid[]' },
    columns: { ...REQUEST.columns, expired: 'bool' },
    text: ({ machines }) =>
      `SELECT ${REQUEST.sql}, y.expires_at <= now() AS expired FROM operator_intents y
       WHERE y.machine_id = ANY (${machines}) AND ${OPEN_ORDER}`,
  }),
  /** Inserts nothing if the key is used, or the machine has an open order. */
  insert: statement({
    name: 'request-insert',
    params: {
      asked: {
        ...{ key: 'text', verb: 'text', provider: 'text?', slotId: 'text?', machineId: 'uuid?' },
        ...{ parameters: 'jsonb', by: 'text', reason: 'text', validForMs: 'float8' },
        ...{ batch: 'text?', role: 'text?', proven: 'bool' },
      },
    },
    columns: REQUEST.columns,
    text: ({ asked }) =>
      `INSERT INTO operator_intents AS y (idempotency_key, verb, provider, slot_id, machine_id,
         parameters, actor, reason, expires_at, batch, role, proven)
       SELECT key, verb, provider, slot_id, machine_id, parameters, by, reason,
         now() + valid_for_ms * interval '1 millisecond', batch, role, proven
       FROM ${asked} ORDER BY key
       ON CONFLICT DO NOTHING RETURNING ${REQUEST.sql}`,
  }),
  endHead: statement({
    name: 'request-settle-head',
    params: { key: 'text', outcome: 'text' },
    columns: REQUEST.columns,
    text: ({ key, outcome }) =>
      `UPDATE operator_intents y SET state = 'done', outcome = ${outcome}, settled_at = now()
       WHERE y.idempotency_key = ${key} RETURNING ${REQUEST.sql}`,
  }),
});

/** See `RequestRepository`. People submit requests, so no session is needed. */
export const createRequests = (db: Database): RequestRepository => ({
  submit: async (request) => {
    const asked = submittedRequest(request);
    const options = { doing: `ask for ${asked.verb}`, ...DOING };
    const submitted = await repeatedOnce(() => db.transact(options, (q) => submitAll(q, [asked])));
    return submitted[0]!;
  },
  submitBatch: async (batch) => {
    const asked = submittedBatch(batch);
    const options = { doing: `request ${asked.head.verb} for several machines`, ...DOING };
    return repeatedOnce(() => db.transact(options, (q) => submitBatch(q, asked)));
  },
  readBatch: async (key, signal) =>
    isKey(key)
      ? db.transact({ doing: 'read a batch', ...DOING, signal }, (q) => readBatch(q, key))
      : null,
  read: (keys, signal) =>
    db.transact({ doing: 'read requests', ...DOING, signal }, async (q) =>
      (await q.rows(statements.named, { keys: keys.filter(isKey) })).map(toState),
    ),
  list: (query, signal) =>
    db.transact({ doing: 'list requests', ...DOING, signal }, async (q) =>
      (await listed(q, query)).map(toState),
    ),
});

async function listed(q: Queries, query: RequestQuery): Promise<FlatRequest[]> {
  const { provider, slotId: slot, machineId: machine, after } = query;
  const limit = Math.max(0, Math.min(LIST_MAX, Math.floor(query.limit)));
  if (after !== undefined && !isKey(after)) return [];
  if (machine !== undefined && !isUuid(machine)) return [];
  const { provider: _, slotId: __, limit: ___, ...others } = query;
  const isOfSlot = Object.values(others).every((each) => each === undefined);
  return provider !== undefined && slot !== undefined && isOfSlot
    ? q.rows(statements.listOfSlot, { provider, slot, limit })
    : q.rows(statements.list, { ...query, limit });
}

export const toState = ({ parameters, ...row }: FlatRequest): RequestState => ({
  ...row,
  ...poolOf(row.verb, parameters),
});
export function toRequest(flat: FlatRequest): RequestRow {
  const { state: _, outcome: __, settledAtMs: ___, ...rest } = toState(flat);
  const { batch: ____, role: _____, proven: ______, ...row } = rest;
  return row;
}

/** Number of attempts when others submit or apply the same requests at the same time. */
const TURNS = 5;

/** Submits all requests or throws. A key that was used for the same request before counts once. */
async function submitAll(
  q: Queries,
  asked: readonly SubmittedRequest[],
): Promise<readonly RequestState[]> {
  const submitted = new Map<string, RequestState>();
  for (let turn = 1; ; turn++) {
    await readBefore(q, asked, submitted);
    const fresh = asked.filter(({ key }) => !submitted.has(key));
    requireAll(asked, [...(await strayMachines(q, fresh)), ...(await secondOrders(q, fresh))]);
    for (const row of await insert(q, fresh)) submitted.set(row.key, toState(row));
    if (submitted.size === asked.length) return asked.map(({ key }) => submitted.get(key)!);
    const { verb } = asked.find(({ key }) => !submitted.has(key))!;
    if (turn === TURNS) throw new NothingToDo(`somebody else is requesting ${verb}, too`);
  }
}

const insert = (q: Queries, asked: readonly SubmittedRequest[]): Promise<FlatRequest[]> =>
  q.rows(statements.insert, {
    asked: asked.map(({ standing, ...each }) => ({
      ...each,
      role: standing?.role,
      proven: standing?.proven ?? false,
    })),
  });

/** Concurrent submissions of the same batch wait for the row of the head. */
async function submitBatch(q: Queries, asked: SubmittedBatch): Promise<RequestBatch> {
  const { head, outcome, requests } = asked;
  const { key } = head;
  if ((await insert(q, [head])).length === 0) {
    const [before] = await q.rows(statements.named, { keys: [key] });
    // The head exists, and so young a batch is never trimmed.
    requireSameBatch(asked, before!);
    return (await readBatch(q, key))!;
  }
  const submitted = await submitAll(q, requests);
  const [ended] = await q.rows(statements.endHead, { key, outcome });
  return { head: toState(ended!), digest: asked.digest, requests: submitted };
}

async function readBatch(q: Queries, key: string): Promise<RequestBatch | null> {
  const rows = await q.rows(statements.ofBatch, { batch: key });
  const head = rows.find((row) => row.key === key);
  if (head === undefined) return null;
  const requests = rows.filter((row) => row !== head).map(toState);
  return { head: toState(head), digest: digestOf(head.parameters) ?? '', requests };
}

/** @throws {KeyReused} a key belongs to a different request. */
async function readBefore(
  q: Queries,
  asked: readonly SubmittedRequest[],
  submitted: Map<string, RequestState>,
): Promise<void> {
  const rows = await q.rows(statements.named, { keys: asked.map(({ key }) => key) });
  const before = new Map(rows.map((row) => [row.key, row]));
  for (const each of asked) {
    const row = before.get(each.key);
    if (row === undefined) continue;
    requireSame(each, row);
    submitted.set(row.key, toState(row));
  }
}

/**
 * Requests whose machine is on another slot than the request says. A machine without hardware is on
 * no slot; that is found when the request is applied.
 */
async function strayMachines(
  q: Queries,
  asked: readonly SubmittedRequest[],
): Promise<BatchRefusal[]> {
  const named = asked.filter(({ machineId: machine }) => machine !== null);
  const machines = named.map(({ machineId: machine }) => machine!).filter(isUuid);
  const rows = machines.length === 0 ? [] : await q.rows(statements.slotsOfMachines, { machines });
  const found = new Map(rows.map((row) => [row.machine_id, row]));
  return named.flatMap(({ key, machineId: machine, provider, slotId }): BatchRefusal[] => {
    const place = found.get(machine!);
    if (!place) return [{ key, cause: new NotFound(`there is no machine ${machine}`) }];
    const isThere = place.provider === provider && place.slot_id === slotId;
    if (place.provider === null || isThere) return [];
    const where = `${place.provider}/${place.slot_id}`;
    const text = `machine ${machine} is on slot ${where}, not on ${provider}/${slotId}`;
    return [{ key, cause: new NotFound(text) }];
  });
}

/** Requests for machines that already have an open order. An expired order does not count. */
async function secondOrders(
  q: Queries,
  asked: readonly SubmittedRequest[],
): Promise<BatchRefusal[]> {
  const orders = asked.filter(({ verb }) => isOrder(verb));
  const machines = orders.map(({ machineId: machine }) => machine!).filter(isUuid);
  const rows = machines.length === 0 ? [] : await q.rows(statements.openOrders, { machines });
  const open = new Map(rows.map((row) => [row.machineId, row]));
  // The same request may have been submitted a moment ago.
  const others = orders.flatMap(({ key, machineId: machine }) => {
    const row = open.get(machine);
    return row && row.key !== key ? [{ key, row }] : [];
  });
  const expired = others.filter(({ row }) => row.expired);
  await endRequests(
    q,
    null,
    expired.map(({ row }) => ({ key: row.key, ...refused(EXPIRED) })),
  );
  return others
    .filter(({ row }) => !row.expired)
    .map(({ key, row }) => ({ key, cause: new NothingToDo(openOrderText(row.machineId!, row)) }));
}
