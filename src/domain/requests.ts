import { mayServe } from './balancing/members.ts';
import { barOf, PROCESS_FOR, type Circumstances, type Ineligibility } from './eligibility.ts';
import { slotIdOf, slotOf } from './ids.ts';
import { isOrder, type OrderVerb } from './verbs.ts';
import type { MachineRow, RequestRow } from './machine.ts';

/** Operators' requests: decides which are applied now and which become work. */

/**
 * The outcome of a failed order. An order that was requested, but neither proved nor definitely
 * refused, may have been carried out completely or partly.
 */
export const failedText = (cause: string, wasAsked: boolean): string =>
  wasAsked ? `it was requested, and not seen to succeed: ${cause}` : cause;

/** Whether the machine's last request belongs to this order and was not definitely refused. */
export const wasAskedFor = (row: Pick<MachineRow, 'recovery'> | null, key: string): boolean =>
  row?.recovery?.orderKey === key;

/** Outcome of a request that expired while open. */
export const EXPIRED = 'it expired before it was carried out';
/** Extra time for an order that expires while it waits for a permit. */
export const ORDER_WAIT_MS = 10 * 60_000;

/** Whether the machine named in a request is on the slot named there. */
export function isOnSlot(
  row: MachineRow | null,
  { provider, slotId, machineId }: Pick<RequestRow, 'provider' | 'slotId' | 'machineId'>,
): boolean {
  if (!row?.provided || row.machineId !== machineId || row.provided.provider !== provider) {
    return false;
  }
  const { reservationId, providerId } = row.provided;
  return slotIdOf(slotOf(provider, { reservationId, id: providerId })) === slotId;
}

/**
 * The oldest request of a slot to apply now, through `BmdbSession.applyRequest`; null: none. Leaves out
 * orders that may still be carried out: they are work, `MachineRow.order`.
 * @param requests open requests of the slot, oldest first.
 * @param row row of the slot's machine; null: none.
 */
export const dueRequest = (
  requests: readonly RequestRow[],
  row: MachineRow | null,
  now: Circumstances,
): RequestRow | null => requests.find((request) => isDue(request, row, now)) ?? null;

function isDue(request: RequestRow, row: MachineRow | null, now: Circumstances): boolean {
  const { verb, machineId } = request;
  const named = row?.machineId === machineId ? row : null;
  if (!isOrder(verb)) return !isLeftToNewer(request, named, now.nowMs);
  return orderRefusal({ ...request, verb }, named, now) !== null;
}

/**
 * The request would change ladder state that this program cannot fully read: a newer program
 * applies it.
 */
export const isLeftToNewer = (
  { verb, expiresAtMs }: Pick<RequestRow, 'verb' | 'expiresAtMs'>,
  row: Pick<MachineRow, 'unknownRung'> | null,
  nowMs: number,
): boolean =>
  row?.unknownRung !== undefined &&
  (verb === 'release' || verb === 'clear-backoff') &&
  expiresAtMs > nowMs;

/**
 * Why an order can never be carried out in this state, for people. Null: it waits, or it is being
 * carried out and ends with that work.
 * @param row row of the named machine; null: none.
 */
export function orderRefusal(
  request: RequestRow & { readonly verb: OrderVerb },
  row: MachineRow | null,
  now: Circumstances,
): string | null {
  const process = PROCESS_FOR[request.verb];
  if (row?.work.some((work) => work.process === process)) return null;
  if (request.expiresAtMs <= now.nowMs) {
    const isHalf = wasAskedFor(row, request.key);
    return isHalf ? failedText('it expired before that', true) : EXPIRED;
  }
  if (!row) return goneText(request);
  if (row.unreadable !== undefined) return row.unreadable;
  if (row.provided && !isOnSlot(row, request)) return goneText(request);
  const bar = barOf(process, row, now);
  if (bar !== null && !mayPass(bar, row)) return barText(bar, row);
  return drainRefusal(request, row);
}

/** Why the machine's load balancers never drain it for the order; null: they do, or still may. */
function drainRefusal({ key }: Pick<RequestRow, 'key'>, row: MachineRow): string | null {
  const { order, members } = row;
  if (order?.key === key && order.drain === 'skip') return null;
  const found = members.find((member) => mayServe(member) && member.refused);
  return found ? (found.note ?? `pool ${found.pool} at ${found.balancer} does not drain it`) : null;
}

/** An installing machine may be rebooted once it runs; a newer program may be active. */
const mayPass = (bar: Ineligibility, { provided }: MachineRow): boolean =>
  bar === 'a newer program recovers it' ||
  (bar === 'its provider status does not allow it' && provided?.status === 'Provisioning');

function barText(bar: Ineligibility, row: MachineRow): string {
  if (bar === 'it is quarantined') return `${quarantineText(row)}: release it first`;
  const status = row.provided?.status;
  return bar === 'its provider status does not allow it' ? `${bar}: ${status}` : bar;
}

/** Says which machine left the slot after the request. */
export const goneText = ({ machineId, provider, slotId }: RequestRow): string =>
  `machine ${machineId} is not on slot ${provider}/${slotId} any more`;

/** Says which open order prevents a second order for the machine. */
export const openOrderText = (
  machineId: string,
  { verb, by, reason }: Pick<RequestRow, 'verb' | 'by' | 'reason'>,
): string => `machine ${machineId} already has an open order (${verb} by ${by}: ${reason})`;

/** For people. */
export const quarantineText = ({ quarantine }: Pick<MachineRow, 'quarantine'>): string =>
  quarantine ? `it is quarantined (${quarantine.kind}: ${quarantine.reason})` : 'it is free';
