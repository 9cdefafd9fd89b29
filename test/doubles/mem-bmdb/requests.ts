import { NotFound, NothingToDo } from '../../../src/domain/errors.ts';
import type { RequestRow } from '../../../src/domain/machine.ts';
import { EXPIRED, isOnSlot, isOrder } from '../../../src/domain/requests.ts';
import { filedRequest, poolOf, requireSame } from '../../../src/adapters/bmdb/filed-requests.ts';
import type { FiledRequest } from '../../../src/adapters/bmdb/filed-requests.ts';
import { refused } from '../../../src/domain/settlement.ts';
import { endRequests, touchRequest } from './request-ends.ts';
import { requireReachable } from './tables.ts';
import type { Memory, MemRequest } from './tables.ts';
import type { RequestBook, RequestState } from '../../../src/adapters/bmdb/port.ts';

const LIST_MAX = 1_000;

/** See `RequestBook`. */
export const createRequests = (
  memory: Memory,
  begin: (signal: AbortSignal) => void,
): RequestBook => ({
  file: async (request) => {
    const asked = filedRequest(request);
    requireReachable(memory);
    return toState(file(memory, asked));
  },
  read: async (keys, signal) => {
    begin(signal);
    return [...memory.requests.values()].filter(({ key }) => keys.includes(key)).map(toState);
  },
  list: async ({ provider, slotId, limit }, signal) => {
    begin(signal);
    const found = [...memory.requests.values()].filter(
      (each) =>
        (provider === undefined || each.provider === provider) &&
        (slotId === undefined || each.slotId === slotId),
    );
    const most = Math.max(0, Math.min(LIST_MAX, Math.floor(limit)));
    return found.toSorted(byAge).toReversed().slice(0, most).map(toState);
  },
});

/** Open ones, oldest first. */
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
  const { state: _, outcome: __, settledAtMs: ___, ...row } = toState(request);
  return row;
};

function file(memory: Memory, asked: FiledRequest): MemRequest {
  const before = memory.requests.get(asked.key);
  if (before) {
    requireSame(asked, before);
    return before;
  }
  requireMachine(memory, asked);
  if (isOrder(asked.verb)) refuseSecondOrder(memory, asked);
  const { validForMs, ...rest } = asked;
  const nowMs = memory.now();
  const request: MemRequest = {
    ...rest,
    ...poolOf(rest.verb, rest.parameters),
    createdAtMs: nowMs,
    expiresAtMs: nowMs + validForMs,
    state: 'open',
    outcome: null,
    settledAtMs: null,
  };
  memory.requests.set(request.key, request);
  const { machineId, verb, key } = request;
  if (machineId !== null && isOrder(verb)) memory.orders.set(machineId, key);
  touchRequest(memory, request);
  return request;
}

/** One without hardware is on no slot, which settling finds. @throws {NotFound} */
function requireMachine({ machines }: Memory, asked: FiledRequest): void {
  const { machineId, provider, slotId } = asked;
  if (machineId === null) return;
  const row = machines.get(machineId)?.row;
  if (!row) throw new NotFound(`there is no machine ${machineId}`);
  if (!row.provided || isOnSlot(row, asked)) return;
  throw new NotFound(`machine ${machineId} is not on ${provider}/${slotId}`);
}

/** One that has expired makes room. @throws {NothingToDo} */
function refuseSecondOrder(memory: Memory, { machineId }: FiledRequest): void {
  const open = memory.requests.get(memory.orders.get(machineId!) ?? '');
  if (!open) return;
  if (open.expiresAtMs > memory.now()) {
    const what = `${open.verb} by ${open.by}: ${open.reason}`;
    throw new NothingToDo(`something is open for machine ${machineId} already (${what})`);
  }
  endRequests(memory, [{ key: open.key, ...refused(EXPIRED) }]);
}
