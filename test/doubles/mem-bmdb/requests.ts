import { NotFound, NothingToDo } from '../../../src/domain/errors.ts';
import type { BatchRefusal } from '../../../src/domain/errors.ts';
import type { RequestRow } from '../../../src/domain/machine.ts';
import { EXPIRED, isOnSlot, openOrderText } from '../../../src/domain/requests.ts';
import { isOrder } from '../../../src/domain/verbs.ts';
import {
  digestOf,
  submittedBatch,
  submittedRequest,
  poolOf,
  requireAll,
  requireSame,
  requireSameBatch,
} from '../../../src/adapters/bmdb/submitted-requests.ts';
import type {
  SubmittedBatch,
  SubmittedRequest,
} from '../../../src/adapters/bmdb/submitted-requests.ts';
import { refused } from '../../../src/domain/request-result.ts';
import { tell } from './events.ts';
import { endRequests, tellEnded, touchRequest } from './request-ends.ts';
import type { Memory, MemRequest } from './tables.ts';
import type {
  RequestBatch,
  RequestRepository,
  RequestQuery,
  RequestState,
} from '../../../src/adapters/bmdb/port.ts';

const LIST_MAX = 1_000;

/** See `RequestRepository`. */
export const createRequests = (memory: Memory): RequestRepository => ({
  submit: async (request) => {
    const asked = submittedRequest(request);
    return toState(submitAll(memory, [asked])[0]!);
  },
  submitBatch: async (batch) => {
    const asked = submittedBatch(batch);
    return submitBatch(memory, asked);
  },
  readBatch: async (key) => readBatch(memory, key),
  read: async (keys) =>
    [...memory.requests.values()].filter(({ key }) => keys.includes(key)).map(toState),
  list: async (query) => {
    const most = Math.max(0, Math.min(LIST_MAX, Math.floor(query.limit)));
    const newestFirst = [...memory.requests.values()].toSorted(byAge).toReversed();
    const { after } = query;
    const place = newestFirst.findIndex(({ key }) => key === after);
    if (after !== undefined && place < 0) return [];
    return newestFirst
      .slice(place + 1)
      .filter((each) => isAskedFor(each, query))
      .slice(0, most)
      .map(toState);
  },
});

const isAskedFor = (request: MemRequest, query: RequestQuery): boolean =>
  (['provider', 'slotId', 'machineId', 'verb', 'by', 'state', 'batch'] as const).every(
    (name) => query[name] === undefined || query[name] === request[name],
  ) &&
  request.createdAtMs >= (query.sinceMs ?? -Infinity) &&
  request.createdAtMs < (query.untilMs ?? Infinity);

/** Open requests, oldest first. */
export const readOpenRequests = ({ requests }: Memory): RequestRow[] =>
  [...requests.values()]
    .filter(({ state }) => state === 'open')
    .toSorted(byAge)
    .map(toRequest);

function byAge(a: RequestRow, b: RequestRow): number {
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs - b.createdAtMs;
  return a.key < b.key ? -1 : 1;
}

export const toState = ({ parameters: _, ...state }: MemRequest): RequestState => state;
export const toRequest = (request: MemRequest): RequestRow => {
  const { state: _, outcome: __, settledAtMs: ___, ...rest } = toState(request);
  const { batch: ____, role: _____, proven: ______, ...row } = rest;
  return row;
};

/** Submits all requests or none: it throws. */
function submitAll(memory: Memory, asked: readonly SubmittedRequest[]): MemRequest[] {
  const before = new Map<string, MemRequest>();
  for (const each of asked) {
    const found = memory.requests.get(each.key);
    if (!found) continue;
    requireSame(each, found);
    before.set(each.key, found);
  }
  const fresh = asked.filter(({ key }) => !before.has(key));
  requireAll(asked, [...strayMachines(memory, fresh), ...secondOrders(memory, fresh)]);
  return asked.map((each) => before.get(each.key) ?? put(memory, each));
}

function put(memory: Memory, asked: SubmittedRequest): MemRequest {
  if (isOrder(asked.verb)) endExpiredOrder(memory, asked);
  const { validForMs, standing, ...rest } = asked;
  const nowMs = memory.now();
  const request: MemRequest = {
    ...rest,
    ...poolOf(rest.verb, rest.parameters),
    role: standing?.role ?? null,
    proven: standing?.proven ?? false,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + validForMs,
    state: 'open',
    outcome: null,
    settledAtMs: null,
  };
  memory.requests.set(request.key, request);
  const { machineId, verb, key, provider, slotId, batch, by: actor, reason } = request;
  if (machineId !== null && isOrder(verb)) memory.orders.set(machineId, key);
  tell(memory, {
    ...{ type: 'request.filed', provider, slotId, machineId, actor, reason },
    details: { key, verb, batch },
  });
  touchRequest(memory, request);
  return request;
}

function submitBatch(memory: Memory, asked: SubmittedBatch): RequestBatch {
  const { head, outcome } = asked;
  const before = memory.requests.get(head.key);
  if (before) {
    requireSameBatch(asked, before);
    return readBatch(memory, head.key)!;
  }
  const requests = submitAll(memory, asked.requests).map(toState);
  const submitted = put(memory, head);
  const ended = { ...submitted, state: 'done', outcome, settledAtMs: memory.now() } as const;
  memory.requests.set(head.key, ended);
  tellEnded(memory, ended);
  return { head: toState(ended), digest: asked.digest, requests };
}

function readBatch({ requests }: Memory, key: string): RequestBatch | null {
  const head = requests.get(key);
  if (head?.batch !== key) return null;
  const others = [...requests.values()].filter((each) => each.batch === key && each !== head);
  const sorted = others.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const digest = digestOf(head.parameters) ?? '';
  return { head: toState(head), digest, requests: sorted.map(toState) };
}

/**
 * Machines that are not on the stated slot. Applying the request detects machines without hardware.
 */
function strayMachines({ machines }: Memory, asked: readonly SubmittedRequest[]): BatchRefusal[] {
  return asked.flatMap((each): BatchRefusal[] => {
    const { key, machineId, provider, slotId } = each;
    if (machineId === null) return [];
    const row = machines.get(machineId)?.row;
    if (!row) return [{ key, cause: new NotFound(`there is no machine ${machineId}`) }];
    if (!row.provided || isOnSlot(row, each)) return [];
    const text = `machine ${machineId} is not on ${provider}/${slotId}`;
    return [{ key, cause: new NotFound(text) }];
  });
}

const openOrderOf = (memory: Memory, { machineId }: SubmittedRequest): MemRequest | undefined =>
  memory.requests.get(memory.orders.get(machineId!) ?? '');

/** Requests for machines that already have an open order. An expired order makes room. */
function secondOrders(memory: Memory, asked: readonly SubmittedRequest[]): BatchRefusal[] {
  return asked.flatMap((each): BatchRefusal[] => {
    const open = isOrder(each.verb) ? openOrderOf(memory, each) : undefined;
    if (!open || open.expiresAtMs <= memory.now()) return [];
    return [{ key: each.key, cause: new NothingToDo(openOrderText(each.machineId!, open)) }];
  });
}

function endExpiredOrder(memory: Memory, asked: SubmittedRequest): void {
  const open = openOrderOf(memory, asked);
  if (open) endRequests(memory, [{ key: open.key, ...refused(EXPIRED) }]);
}
