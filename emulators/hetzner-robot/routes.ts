import { randomBytes } from 'node:crypto';
import { generateHostKey } from '../hosts/keys.ts';
import type { ApiAnswer, Route } from '../kit/api.ts';
import type { RobotCall } from './api.ts';
import { invalidInput, notFound, refusal, serverNotFound } from './errors.ts';
import { choiceField, listField, textField } from './form.ts';
import { KEY_ROUTES } from './keys.ts';
import {
  linuxView,
  placeOf,
  RESCUE_SYSTEMS,
  rescueView,
  resetView,
  serverDetail,
  serverView,
} from './views.ts';
import {
  type AccountKey,
  armed,
  type BootConfig,
  RESET_TYPES,
  type ResetType,
  type RobotServer,
} from './world.ts';

const LATE_MS = 30_000;
const CUT_LENGTH = 20;

const ok = (body: unknown): ApiAnswer => ({ status: 200, body });

function list(call: RobotCall): ApiAnswer {
  const shown = call.servers.filter((server) => !call.strikeOf(server, 'serverGone'));
  if (shown.length === 0) throw serverNotFound();
  return ok(shown.map((server) => ({ server: serverView(call, server) })));
}

function rename(call: RobotCall): ApiAnswer {
  const server = call.server();
  const wanted = textField(call.form, 'server_name');
  const fault = call.strike('rename');
  if (fault?.does !== 'ignored') {
    server.name = fault?.does === 'cut' ? wanted.slice(0, fault.length ?? CUT_LENGTH) : wanted;
    const show = () => void (server.shownName = server.name);
    if (fault?.does === 'late') call.clock.setTimeout(show, fault.ms ?? LATE_MS);
    else show();
  }
  const answer = ok({ server: serverDetail(call, server) });
  const taken = call.strike('nameTaken');
  if (taken) server.name = server.shownName = taken.name;
  return answer;
}

function listResets({ servers }: RobotCall): ApiAnswer {
  const found = servers.filter(({ resetTypes }) => resetTypes !== null);
  if (found.length === 0) throw notFound('Reset');
  return ok(found.map((server) => ({ reset: resetView(server) })));
}

/** @throws {ApiRefusal} 404. */
function resettable(call: RobotCall): RobotServer & { readonly resetTypes: readonly ResetType[] } {
  const server = call.server();
  const { resetTypes } = server;
  if (!resetTypes) throw refusal(404, 'RESET_NOT_AVAILABLE', 'no reset option');
  return { ...server, resetTypes };
}

function showReset(call: RobotCall): ApiAnswer {
  const server = resettable(call);
  const { power } = call.machines.get(server.number)!.state();
  const status = power === 'on' ? 'running' : 'shut off';
  return ok({ reset: { ...resetView(server), operating_status: status } });
}

function reset(call: RobotCall): ApiAnswer {
  const server = resettable(call);
  const text = textField(call.form, 'type');
  const type = RESET_TYPES.find((one) => one === text);
  if (!type || !server.resetTypes.includes(type)) throw invalidInput({ invalid: ['type'] });
  const machine = call.machines.get(server.number)!;
  if (machine.state().isManual) {
    throw refusal(409, 'RESET_MANUAL_ACTIVE', 'a manual reset is already active');
  }
  const fault = call.strike('reset');
  if (fault?.does !== 'ignored') machine.reset(type);
  if (fault?.does === 'failsThoughDone') {
    return refusal(500, 'RESET_FAILED', 'resetting failed due to an internal error');
  }
  return ok({ reset: { ...placeOf(server), type } });
}

/** @throws {ApiRefusal} 404. */
function bootable(call: RobotCall): RobotServer {
  const server = call.server();
  if (server.hasRescue) return server;
  throw refusal(404, 'BOOT_NOT_AVAILABLE', 'no boot configuration available');
}

function showBoots(call: RobotCall): ApiAnswer {
  const server = bootable(call);
  const others = { vnc: null, windows: null, plesk: null, cpanel: null };
  return ok({ boot: { rescue: rescueView(call, server), linux: linuxView(server), ...others } });
}

const showRescue = (call: RobotCall): ApiAnswer => ok({ rescue: rescueView(call, bootable(call)) });

/** @throws {ApiRefusal} 400: the account lacks a key. */
function keysOf({ keys, form }: RobotCall): AccountKey[] {
  return listField(form, 'authorized_key').map((text) => {
    const key = keys.get(text);
    if (!key) throw invalidInput({ invalid: ['authorized_key'] });
    return key;
  });
}

function arm(call: RobotCall): ApiAnswer {
  const server = bootable(call);
  const { clock } = call;
  const system = choiceField(call.form, 'os', RESCUE_SYSTEMS);
  const keys = keysOf(call);
  const nowMs = clock.now();
  if (armed(server, nowMs)) {
    throw refusal(409, 'BOOT_ALREADY_ENABLED', 'a boot configuration is already active');
  }
  const password = randomBytes(12).toString('base64url');
  const boot: BootConfig = {
    ...{ system, keys, password, hostKey: generateHostKey(), armedMs: nowMs },
  };
  server.boot = boot;
  const answer = ok({ rescue: rescueView(call, server) });
  const fault = call.strike('rescueDisarms');
  const leave = () => {
    if (server.boot === boot) server.boot = null;
  };
  if (fault?.afterMs) clock.setTimeout(leave, fault.afterMs);
  else if (fault) leave();
  return answer;
}

function disarm(call: RobotCall): ApiAnswer {
  const server = bootable(call);
  server.boot = null;
  return ok({ rescue: rescueView(call, server) });
}

export const ROUTES: readonly Route<RobotCall>[] = [
  { method: 'GET', path: '/server', handle: list },
  {
    method: 'GET',
    path: '/server/{n}',
    handle: (call) => ok({ server: serverDetail(call, call.server()) }),
  },
  { method: 'POST', path: '/server/{n}', handle: rename },
  { method: 'GET', path: '/reset', handle: listResets },
  { method: 'GET', path: '/reset/{n}', handle: showReset },
  { method: 'POST', path: '/reset/{n}', handle: reset },
  { method: 'GET', path: '/boot/{n}', handle: showBoots },
  { method: 'GET', path: '/boot/{n}/rescue', handle: showRescue },
  { method: 'POST', path: '/boot/{n}/rescue', handle: arm },
  { method: 'DELETE', path: '/boot/{n}/rescue', handle: disarm },
  // An unattended installation is never armed here, so nothing needs disarming.
  {
    method: 'DELETE',
    path: '/boot/{n}/linux',
    handle: (call) => ok({ linux: linuxView(bootable(call)) }),
  },
  ...KEY_ROUTES,
];
