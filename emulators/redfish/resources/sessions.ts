import { randomUUID } from 'node:crypto';
import { isSameSecret } from '../../kit/same-secret.ts';
import type { ApiAnswer } from '../../kit/api.ts';
import type { RedfishCall, RackCore, ResourceView } from '../core.ts';
import { refusal } from '../messages.ts';
import type { Bmc, BmcSession } from '../world.ts';
import { bodyOf, requireInput } from './input.ts';
import { collection, head, missing, ref, ROOT } from './views.ts';

export const SESSIONS = `${ROOT}/SessionService/Sessions`;
/** Maximum number of a BMC's sessions. */
const SESSIONS_MAX = 16;
/** A session is deleted after this time without use. */
const TIMEOUT_S = 600;

/** Sessions that have not timed out; deletes the others. */
export function liveSessions(bmc: Bmc, nowMs: number): ReadonlyMap<string, BmcSession> {
  for (const [id, { usedMs }] of bmc.sessions) {
    if (nowMs - usedMs >= TIMEOUT_S * 1000) bmc.sessions.delete(id);
  }
  return bmc.sessions;
}

export const serviceView = (_core: RackCore, call: RedfishCall): ResourceView => ({
  ...head(call, 'SessionService.v1_1_8.SessionService', 'SessionService', 'Session Service'),
  ServiceEnabled: true,
  SessionTimeout: TIMEOUT_S,
  Status: { State: 'Enabled', Health: 'OK' },
  Sessions: ref(call, SESSIONS),
});

export const sessionsView = (core: RackCore, call: RedfishCall): ResourceView =>
  collection(
    call,
    'Session',
    [...liveSessions(call.bmc, core.clock.now()).keys()].map((id) => `${SESSIONS}/${id}`),
  );

export function sessionView(core: RackCore, call: RedfishCall): ResourceView {
  const found = liveSessions(call.bmc, core.clock.now()).get(call.params['session'] ?? '');
  if (!found) throw missing(call);
  return { ...viewOf(core, call, found) };
}

const viewOf = ({ credentials }: RackCore, call: RedfishCall, { id, createdMs }: BmcSession) => ({
  ...head(call, 'Session.v1_3_0.Session', id, 'User Session'),
  '@odata.id': call.link(`${SESSIONS}/${id}`),
  UserName: credentials.username,
  CreatedTime: call.time(createdMs),
});

export function login(core: RackCore, call: RedfishCall): ApiAnswer {
  const { vendor, clock } = core;
  const { bmc } = call;
  const input = bodyOf(call);
  const rules = { UserName: 'string', Password: 'string' } as const;
  requireInput({ input, rules, required: ['UserName', 'Password'] });
  const { UserName: username, Password: password } = input;
  requireCredentials(core, call.path, { username: String(username), password: String(password) });
  if (liveSessions(bmc, clock.now()).size >= SESSIONS_MAX) throw refusal(503, vendor.sessionsFull);
  const nowMs = clock.now();
  const session = {
    id: String(++bmc.lastId),
    token: randomUUID().replaceAll('-', ''),
    createdMs: nowMs,
    usedMs: nowMs,
  };
  bmc.sessions.set(session.id, session);
  bmc.sessionsMost = Math.max(bmc.sessionsMost, bmc.sessions.size);
  const token = call.strike('noToken') ? {} : { 'x-auth-token': session.token };
  return {
    status: 201,
    headers: { location: call.link(`${SESSIONS}/${session.id}`), ...token },
    body: viewOf(core, call, session),
  };
}

/** @throws {ApiRefusal} 401. */
export function requireCredentials(
  { credentials }: RackCore,
  path: string,
  { username, password }: RackCore['credentials'],
): void {
  const isRight =
    isSameSecret(username, credentials.username) && isSameSecret(password, credentials.password);
  if (!isRight) throw refusal(401, 'ResourceAtUriUnauthorized', path, 'Invalid password');
}

export function logout(core: RackCore, call: RedfishCall): ApiAnswer {
  const id = call.params['session'] ?? '';
  if (!liveSessions(call.bmc, core.clock.now()).has(id)) throw missing(call);
  call.bmc.sessions.delete(id);
  return { status: 204 };
}
