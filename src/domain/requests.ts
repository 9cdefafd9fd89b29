import { mayServe } from './balancing/members.ts';
import { barOf, PROCESS_FOR, type Circumstances, type Refusal } from './eligibility.ts';
import { slotIdOf, slotOf } from './ids.ts';
import { isOrder, type OrderVerb } from './verbs.ts';
import type { MachineRow, RequestRow } from './machine.ts';

/** What operators ask for: which requests are to be settled now, and which are work. */

/**
 * How an order ends that failed: where it was asked for and neither proved nor refused for certain, it
 * may have been done, or half of it.
 */
export const failedText = (cause: string, wasAsked: boolean): string =>
  wasAsked ? `it was asked for, and not seen to be done: ${cause}` : cause;

/** Whether the machine's last request was made for this order, and was not refused for certain. */
export const wasAskedFor = (row: Pick<MachineRow, 'recovery'> | null, key: string): boolean =>
  row?.recovery?.orderKey === key;

/** Outcome of a request that was open when its time was over. */
export const EXPIRED = 'it expired before it was carried out';
/** An order that expires while there is no permit for it, or for all that wait, gets this much more time. */
export const ORDER_WAIT_MS = 10 * 60_000;

/** The machine that a request names is on the slot that it names. */
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
 * The oldest request of a slot that is to be settled now, through `BmdbSession.settle`; null: none.
 * An order that may still be carried out is none: it is work, `MachineRow.order`.
 * @param requests open ones of the slot, oldest first.
 * @param row of the machine that is on the slot; null: there is none.
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
 * It would change what the ladder remembers, of which this program cannot read all: a newer one
 * settles it.
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
 * Why an order can never be carried out as things are, for people; null: it waits for its turn, or
 * is being carried out, which its end settles.
 * @param row of the machine that it names; null: there is none.
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

/** Why the machine's load balancers never let it go for the order; null: they do, or may yet. */
function drainRefusal({ key }: Pick<RequestRow, 'key'>, row: MachineRow): string | null {
  const { order, members } = row;
  if (order?.key === key && order.drain === 'skip') return null;
  const found = members.find((member) => mayServe(member) && member.refused);
  return found
    ? (found.note ?? `pool ${found.pool} at ${found.balancer} does not let it go`)
    : null;
}

/** A machine that is being installed may be rebooted once it runs; a newer program may be about. */
const mayPass = (bar: Refusal, { provided }: MachineRow): boolean =>
  bar === 'a newer program recovers it' ||
  (bar === 'its provider status does not allow it' && provided?.status === 'Provisioning');

function barText(bar: Refusal, row: MachineRow): string {
  if (bar === 'it is quarantined') return `${quarantineText(row)}: release it first`;
  const status = row.provided?.status;
  return bar === 'its provider status does not allow it' ? `${bar}: ${status}` : bar;
}

/** Says which machine is not where it was when somebody asked. */
export const goneText = ({ machineId, provider, slotId }: RequestRow): string =>
  `machine ${machineId} is not on slot ${provider}/${slotId} any more`;

/** Says what keeps a second order of the machine from being filed. */
export const openOrderText = (
  machineId: string,
  { verb, by, reason }: Pick<RequestRow, 'verb' | 'by' | 'reason'>,
): string => `something is open for machine ${machineId} already (${verb} by ${by}: ${reason})`;

/** For people. */
export const quarantineText = ({ quarantine }: Pick<MachineRow, 'quarantine'>): string =>
  quarantine ? `it is quarantined (${quarantine.kind}: ${quarantine.reason})` : 'it is free';
