import { NotFound, NothingToDo } from '../../../../domain/errors.ts';
import type { BatchRefusal } from '../../../../domain/errors.ts';
import { isUuid, machineId, providerName } from '../../../../domain/ids.ts';
import type { RequestRow } from '../../../../domain/machine.ts';
import { isOrder, VERB_NAMES, type Verb } from '../../../../domain/verbs.ts';
import { EXPIRED, openOrderText } from '../../../../domain/requests.ts';
import type { RequestBatch, RequestBook, RequestQuery, RequestState } from '../../port.ts';
import {
  digestOf,
  filedBatch,
  filedRequest,
  isKey,
  poolOf,
  requireAll,
  requireSame,
  requireSameBatch,
} from '../../filed-requests.ts';
import type { FiledBatch, FiledRequest } from '../../filed-requests.ts';
import { refused } from '../../../../domain/settlement.ts';
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
  y.parameters, y.batch, y.role, y.proven`;
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
  batch: 'text?',
  role: 'text?',
  proven: 'bool',
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
       WHERE y.state = 'open' AND y.verb IN (${texts(VERB_NAMES)})
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
    params: {
      provider: 'text?',
      slot: 'text?',
      machine: 'uuid?',
      verb: 'text?',
      by: 'text?',
      state: 'text?',
      batch: 'text?',
      since: 'float8?',
      until: 'float8?',
      after: 'text?',
      limit: 'int8',
    },
    columns: COLUMNS,
    // Each filter as a CASE, of which the planner thinks that half of the rows pass: it walks the index
    // of the order, where by the estimate for OR it would read and sort all.
    text: ({ provider, slot, machine, verb, by, state, batch, since, until, ...page }) =>
      `SELECT ${REQUEST} FROM operator_intents y
       WHERE CASE WHEN ${provider} IS NULL THEN true ELSE y.provider = ${provider} END
         AND CASE WHEN ${slot} IS NULL THEN true ELSE y.slot_id = ${slot} END
         AND CASE WHEN ${machine} IS NULL THEN true ELSE y.machine_id = ${machine} END
         AND CASE WHEN ${verb} IS NULL THEN true ELSE y.verb = ${verb} END
         AND CASE WHEN ${by} IS NULL THEN true ELSE y.actor = ${by} END
         AND CASE WHEN ${state} IS NULL THEN true ELSE y.state = ${state} END
         AND CASE WHEN ${batch} IS NULL THEN true ELSE y.batch = ${batch} END
         AND CASE WHEN ${since} IS NULL THEN true ELSE ${ms('y.created_at')} >= ${since} END
         AND CASE WHEN ${until} IS NULL THEN true ELSE ${ms('y.created_at')} < ${until} END
         AND CASE WHEN ${page.after} IS NULL THEN true ELSE (y.created_at, y.idempotency_key) < (
           SELECT b.created_at, b.idempotency_key FROM operator_intents b
           WHERE b.idempotency_key = ${page.after}) END
       ORDER BY y.created_at DESC, y.idempotency_key DESC LIMIT ${page.limit}`,
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
  ofBatch: statement({
    name: 'requests-of-batch',
    params: { batch: 'text' },
    columns: COLUMNS,
    text: ({ batch }) =>
      `SELECT ${REQUEST} FROM operator_intents y
       WHERE y.batch = ${batch} ORDER BY y.idempotency_key`,
  }),
  slotsOfMachines: statement({
    name: 'request-slots-of-machines',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', provider: 'text?', slot_id: 'text?' },
    text: ({ machines }) =>
      `SELECT m.machine_id, p.provider, ${SLOT_ID}::text AS slot_id
       FROM machines m LEFT JOIN machine_provided p USING (machine_id)
       WHERE m.machine_id = ANY (${machines})`,
  }),
  openOrders: statement({
    name: 'request-open-orders',
    params: { machines: 'uuid[]' },
    columns: { ...COLUMNS, expired: 'bool' },
    text: ({ machines }) =>
      `SELECT ${REQUEST}, y.expires_at <= now() AS expired FROM operator_intents y
       WHERE y.machine_id = ANY (${machines}) AND ${OPEN_ORDER}`,
  }),
  /** Nothing is written where the key is used, or the machine has an open order. */
  insert: statement({
    name: 'request-insert',
    params: {
      keys: 'text[]',
      verbs: 'text[]',
      providers: 'text?[]',
      slots: 'text?[]',
      machines: 'uuid?[]',
      parameters: 'jsonb[]',
      by: 'text[]',
      reasons: 'text[]',
      valid: 'float8[]',
      batches: 'text?[]',
      roles: 'text?[]',
      proven: 'bool[]',
    },
    columns: COLUMNS,
    text: ({ keys, verbs, providers, slots, machines, parameters, by, reasons, valid, ...who }) =>
      `INSERT INTO operator_intents AS y (idempotency_key, verb, provider, slot_id, machine_id,
         parameters, actor, reason, expires_at, batch, role, proven)
       SELECT a.key, a.verb, a.provider, a.slot, a.machine, a.parameters, a.actor, a.reason,
         now() + a.valid * interval '1 millisecond', a.batch, a.role, a.proven
       FROM unnest(${keys}, ${verbs}, ${providers}, ${slots}, ${machines}, ${parameters}, ${by},
         ${reasons}, ${valid}, ${who.batches}, ${who.roles}, ${who.proven})
         AS a (key, verb, provider, slot, machine, parameters, actor, reason, valid, batch, role,
           proven)
       ORDER BY a.key
       ON CONFLICT DO NOTHING RETURNING ${REQUEST}`,
  }),
  settleHead: statement({
    name: 'request-settle-head',
    params: { key: 'text', outcome: 'text' },
    columns: COLUMNS,
    text: ({ key, outcome }) =>
      `UPDATE operator_intents y SET state = 'done', outcome = ${outcome}, settled_at = now()
       WHERE y.idempotency_key = ${key} RETURNING ${REQUEST}`,
  }),
};

/** See `RequestBook`. Requests are filed by people, so no session is needed. */
export const createRequests = (db: Database): RequestBook => ({
  file: async (request) => {
    const asked = filedRequest(request);
    const options = { doing: `ask for ${asked.verb}`, ...DOING };
    const filed = await repeatedOnce(() => db.transact(options, (q) => fileAll(q, [asked])));
    return filed[0]!;
  },
  fileBatch: async (batch) => {
    const asked = filedBatch(batch);
    const options = { doing: `ask for ${asked.head.verb} of several machines`, ...DOING };
    return repeatedOnce(() => db.transact(options, (q) => fileBatch(q, asked)));
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
  const { provider = null, slotId: slot = null, machineId: machine = null, ...rest } = query;
  const { verb = null, by = null, state = null, batch = null, after = null } = rest;
  const { sinceMs: since = null, untilMs: until = null } = rest;
  const limit = Math.max(0, Math.min(LIST_MAX, Math.floor(query.limit)));
  if (after !== null && !isKey(after)) return [];
  if (machine !== null && !isUuid(machine)) return [];
  const others = { machine, verb, by, state, batch, since, until, after };
  const isOfSlot = Object.values(others).every((each) => each === null);
  return provider !== null && slot !== null && isOfSlot
    ? q.rows(statements.listOfSlot, { provider, slot, limit })
    : q.rows(statements.list, { provider, slot, ...others, limit });
}

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
  batch: row.batch,
  role: row.role,
  proven: row.proven,
});

/** Tries so often to file what others file, or settle, at the same time. */
const TURNS = 5;

/** All of them, or none: it throws. A key that was used for the same before is asked once. */
async function fileAll(
  q: Queries,
  asked: readonly FiledRequest[],
): Promise<readonly RequestState[]> {
  const filed = new Map<string, RequestState>();
  for (let turn = 1; ; turn++) {
    await readBefore(q, asked, filed);
    const fresh = asked.filter(({ key }) => !filed.has(key));
    requireAll(asked, [...(await strayMachines(q, fresh)), ...(await secondOrders(q, fresh))]);
    for (const row of await insert(q, fresh)) filed.set(row.key, toState(row));
    if (filed.size === asked.length) return asked.map(({ key }) => filed.get(key)!);
    const { verb } = asked.find(({ key }) => !filed.has(key))!;
    if (turn === TURNS) throw new NothingToDo(`somebody else is asking for ${verb}, too`);
  }
}

const insert = (q: Queries, asked: readonly FiledRequest[]): Promise<FlatRequest[]> =>
  q.rows(statements.insert, {
    keys: asked.map(({ key }) => key),
    verbs: asked.map(({ verb }) => verb),
    providers: asked.map(({ provider }) => provider),
    slots: asked.map(({ slotId }) => slotId),
    machines: asked.map(({ machineId: machine }) => machine),
    parameters: asked.map(({ parameters }) => parameters),
    by: asked.map(({ by }) => by),
    reasons: asked.map(({ reason }) => reason),
    valid: asked.map(({ validForMs }) => validForMs),
    batches: asked.map(({ batch }) => batch),
    roles: asked.map(({ standing }) => standing?.role ?? null),
    proven: asked.map(({ standing }) => standing?.proven ?? false),
  });

/** Whoever files the same at the same time waits for the row of the head. */
async function fileBatch(q: Queries, asked: FiledBatch): Promise<RequestBatch> {
  const { head, outcome, requests } = asked;
  const { key } = head;
  if ((await insert(q, [head])).length === 0) {
    const [before] = await q.rows(statements.named, { keys: [key] });
    // It was there when it was written, and nothing that is so young is trimmed.
    requireSameBatch(asked, before!);
    return (await readBatch(q, key))!;
  }
  const filed = await fileAll(q, requests);
  const [settled] = await q.rows(statements.settleHead, { key, outcome });
  return { head: toState(settled!), digest: asked.digest, requests: filed };
}

async function readBatch(q: Queries, key: string): Promise<RequestBatch | null> {
  const rows = await q.rows(statements.ofBatch, { batch: key });
  const head = rows.find((row) => row.key === key);
  if (head === undefined) return null;
  const requests = rows.filter((row) => row !== head).map(toState);
  return { head: toState(head), digest: digestOf(head.parameters) ?? '', requests };
}

/** @throws {KeyReused} a key was used for something else. */
async function readBefore(
  q: Queries,
  asked: readonly FiledRequest[],
  filed: Map<string, RequestState>,
): Promise<void> {
  const rows = await q.rows(statements.named, { keys: asked.map(({ key }) => key) });
  const before = new Map(rows.map((row) => [row.key, row]));
  for (const each of asked) {
    const row = before.get(each.key);
    if (row === undefined) continue;
    const { batch } = row;
    const parameters = row.parameters as FiledRequest['parameters'];
    requireSame(each, { ...toRequest(row), batch, parameters });
    filed.set(row.key, toState(row));
  }
}

/** Those that are not where they are said to be. One without hardware is on no slot, which settling finds. */
async function strayMachines(q: Queries, asked: readonly FiledRequest[]): Promise<BatchRefusal[]> {
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

/** Those of machines of which an order is open already. One that has expired makes room. */
async function secondOrders(q: Queries, asked: readonly FiledRequest[]): Promise<BatchRefusal[]> {
  const orders = asked.filter(({ verb }) => isOrder(verb));
  const machines = orders.map(({ machineId: machine }) => machine!).filter(isUuid);
  const rows = machines.length === 0 ? [] : await q.rows(statements.openOrders, { machines });
  const open = new Map(rows.map((row) => [row.machine_id, row]));
  // The same may have been filed a moment ago.
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
    .map(({ key, row }) => ({
      key,
      cause: new NothingToDo(openOrderText(row.machine_id!, toRequest(row))),
    }));
}
