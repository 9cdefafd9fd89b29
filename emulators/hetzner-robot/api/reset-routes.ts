import { RESET_TYPES, type ResetType, type Server } from '../world.ts';
import type { Answer, Call, Route } from '../core.ts';
import { textField } from './form.ts';
import { errorBody, invalidInput, notFound, RobotError } from './robot-error.ts';
import { placeOf, resetView } from './views.ts';

const ok = (body: unknown): Answer => ({ status: 200, body });

function list({ core }: Call): Answer {
  const found = core.servers.filter(({ resetTypes }) => resetTypes !== null);
  if (found.length === 0) throw notFound('Reset');
  return ok(found.map((server) => ({ reset: resetView(server) })));
}

/** @throws {RobotError} 404. */
function resettable(call: Call): Server & { readonly resetTypes: readonly ResetType[] } {
  const server = call.server();
  const { resetTypes } = server;
  if (!resetTypes) throw new RobotError(404, 'RESET_NOT_AVAILABLE', 'no reset option');
  return server as Server & { readonly resetTypes: readonly ResetType[] };
}

function show(call: Call): Answer {
  const server = resettable(call);
  const machine = call.core.machines.get(server.number)!;
  const shows = call.strike('operatingStatus')?.shows;
  const status = shows ?? (machine.state().power === 'on' ? 'running' : 'shut off');
  return ok({ reset: { ...resetView(server), operating_status: status } });
}

function reset(call: Call): Answer {
  const server = resettable(call);
  const text = textField(call.form, 'type');
  const type = RESET_TYPES.find((one) => one === text);
  if (!type || !server.resetTypes.includes(type)) throw invalidInput({ invalid: ['type'] });
  const machine = call.core.machines.get(server.number)!;
  if (call.strike('manualReset') || machine.state().isManual) {
    throw new RobotError(409, 'RESET_MANUAL_ACTIVE', 'a manual reset is already active');
  }
  const fault = call.strike('reset');
  if (fault?.does !== 'ignored') machine.reset(type);
  if (fault?.does === 'failsThoughDone') {
    const failed = new RobotError(500, 'RESET_FAILED', 'resetting failed due to an internal error');
    return { status: failed.status, body: errorBody(failed) };
  }
  return ok({ reset: { ...placeOf(server), type } });
}

export const RESET_ROUTES: readonly Route[] = [
  { path: '/reset', GET: list },
  { path: '/reset/{n}', GET: show, POST: reset },
];
