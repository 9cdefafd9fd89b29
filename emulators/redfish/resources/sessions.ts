import { randomUUID } from 'node:crypto';
import { isSameSecret } from '../../kit/same-secret.ts';
import type { Answer, Call, Core } from '../core.ts';
import { RedfishError, refusal, successBody } from '../messages.ts';
import type { Bmc, Session } from '../world.ts';
import { bodyOf, propertyFaults, type Rules } from './input.ts';
import { collection, head, missing, ref, ROOT, type View } from './views.ts';

export const SESSIONS = `${ROOT}/SessionService/Sessions`;
const TIMEOUT_RANGE_S = [30, 86_400] as const;

/** Those that have not timed out; the others are forgotten. */
export function liveSessions(bmc: Bmc, nowMs: number): ReadonlyMap<string, Session> {
  for (const [id, { usedMs }] of bmc.sessions) {
    if (nowMs - usedMs >= bmc.sessionTimeoutS * 1000) bmc.sessions.delete(id);
  }
  return bmc.sessions;
}

export const serviceView = ({ profile }: Core, call: Call): View => ({
  ...head(call, 'SessionService.v1_1_8.SessionService', 'SessionService', 'Session Service'),
  ServiceEnabled: true,
  SessionTimeout: call.bmc.sessionTimeoutS,
  Status: { State: 'Enabled', Health: 'OK' },
  Sessions: ref(call, SESSIONS),
  Description: `${profile.sessionsMax} sessions at most`,
});

export function patchService(core: Core, call: Call): Answer {
  const body = bodyOf(call);
  const rules: Rules = { SessionTimeout: { type: 'integer' } };
  const wrong = propertyFaults(body, rules, serviceView(core, call));
  if (wrong.length > 0) throw new RedfishError(400, wrong);
  const seconds = body['SessionTimeout'];
  if (typeof seconds !== 'number') throw refusal(400, 'EmptyJSON');
  if (seconds < TIMEOUT_RANGE_S[0] || seconds > TIMEOUT_RANGE_S[1]) {
    throw refusal(400, 'PropertyValueNotInList', String(seconds), 'SessionTimeout');
  }
  call.bmc.sessionTimeoutS = seconds;
  return { status: 200, body: successBody() };
}

export const sessionsView = (core: Core, call: Call): View =>
  collection(
    call,
    'Session',
    [...liveSessions(call.bmc, core.clock.now()).keys()].map((id) => `${SESSIONS}/${id}`),
  );

export function sessionView(core: Core, call: Call): View {
  const found = liveSessions(call.bmc, core.clock.now()).get(call.params['session'] ?? '');
  if (!found) throw missing(call);
  return { ...viewOf(core, call, found) };
}

const viewOf = ({ credentials }: Core, call: Call, { id, createdMs }: Session) => ({
  ...head(call, 'Session.v1_3_0.Session', id, 'User Session'),
  '@odata.id': call.link(`${SESSIONS}/${id}`),
  UserName: credentials.username,
  CreatedTime: call.time(createdMs),
});

export function login(core: Core, call: Call): Answer {
  const { profile, clock } = core;
  const { bmc } = call;
  const { UserName: username, Password: password, ...rest } = bodyOf(call);
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw refusal(400, 'PropertyUnknown', stray);
  const given = { UserName: username, Password: password };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) throw refusal(400, 'PropertyMissing', name);
    if (typeof value !== 'string') throw refusal(400, 'PropertyValueTypeError', '***', name);
  }
  requireCredentials(core, call, { username: String(username), password: String(password) });
  const isFull = liveSessions(bmc, clock.now()).size >= profile.sessionsMax;
  if (call.strike('sessionLimit') || isFull) {
    const { status, message } = profile.sessionsFull;
    throw new RedfishError(status, [{ name: message }]);
  }
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

/** Counts what is wrong. @throws {RedfishError} 401. */
export function requireCredentials(
  { credentials, clock }: Core,
  call: Call,
  { username, password }: Core['credentials'],
): void {
  const { bmc } = call;
  const nowMs = clock.now();
  const isRight =
    isSameSecret(username, credentials.username) && isSameSecret(password, credentials.password);
  if (isRight && nowMs >= bmc.lockedUntilMs) {
    bmc.failedLogins = 0;
    return;
  }
  if (!isRight) {
    bmc.failedLogins++;
    const lockout = call.strike('lockout', ({ after }) => bmc.failedLogins >= after);
    if (lockout) bmc.lockedUntilMs = nowMs + lockout.ms;
  }
  const args = [call.path, 'Invalid username or password'];
  throw new RedfishError(401, [{ name: 'ResourceAtUriUnauthorized', args }]);
}

export function logout(core: Core, call: Call): Answer {
  const id = call.params['session'] ?? '';
  if (!liveSessions(call.bmc, core.clock.now()).has(id)) throw missing(call);
  call.bmc.sessions.delete(id);
  return { status: 204 };
}
