import { slot } from '../../../src/domain/ids.ts';
import type { RequestRow } from '../../../src/domain/machine.ts';
import type { RequestResult } from '../../../src/domain/request-result.ts';
import { tell, tellLine } from './events.ts';
import type { MemRequest, Memory } from './tables.ts';

/** How a request ends. Without an event, the log line names the request and its outcome. */
export interface RequestEnd extends Pick<RequestResult, 'state' | 'outcome' | 'event'> {
  readonly key: string;
}

/**
 * Ends requests, each with a line in its slot's log in the requester's name. Ended requests stay as
 * they are.
 */
export function endRequests(memory: Memory, ends: readonly RequestEnd[]): void {
  for (const end of ends) endRequest(memory, end);
}

function endRequest(memory: Memory, { key, state, outcome, event }: RequestEnd): void {
  const request = memory.requests.get(key);
  if (request?.state !== 'open') return;
  const { machineId, provider, slotId, verb, by: actor } = request;
  memory.requests.set(key, { ...request, state, outcome, settledAtMs: memory.now() });
  if (machineId !== null && memory.orders.get(machineId) === key) memory.orders.delete(machineId);
  if (provider !== null && slotId !== null) {
    const kind = state === 'done' ? 'requestDone' : 'requestRefused';
    const told = event ?? { kind, reason: `${verb}: ${outcome}` };
    const where = { slot: slot(provider, slotId), machineId };
    const line = { ...where, atMs: memory.now(), actor, from: null, to: null, ...told };
    memory.events.push(line);
    tellLine(memory, line);
  }
  tellEnded(memory, memory.requests.get(key)!);
  touchRequest(memory, request);
}

export function tellEnded(memory: Memory, request: MemRequest): void {
  const { key, verb, state, provider, slotId, machineId, by: actor } = request;
  tell(memory, {
    ...{ type: 'request.settled', provider, slotId, machineId, actor },
    reason: request.outcome ?? '',
    details: { key, verb, state },
  });
}

/** Notifies readers, because a machine is read together with its order. */
export function touchRequest(memory: Memory, { machineId }: RequestRow): void {
  if (machineId === null) memory.wake();
  else memory.touch(machineId);
}
