import type { IncomingHttpHeaders } from 'node:http';
import type { Call, Core } from './core.ts';
import { RedfishError } from './messages.ts';
import { liveSessions, requireCredentials } from './resources/sessions.ts';

/** How a request shows who it is. A token goes before a password. */
export function schemeOf(headers: IncomingHttpHeaders): 'none' | 'basic' | 'session' {
  if (headers['x-auth-token'] !== undefined) return 'session';
  return /^basic /i.test(headers.authorization ?? '') ? 'basic' : 'none';
}

/** @throws {RedfishError} 401. */
export function checkAccess(core: Core, call: Call, headers: IncomingHttpHeaders): void {
  const scheme = schemeOf(headers);
  if (scheme === 'none') throw unauthorized();
  if (scheme === 'basic') {
    const encoded = (headers.authorization ?? '').slice('basic '.length).trim();
    const [username = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':');
    requireCredentials(core, call, { username, password: rest.join(':') });
    return;
  }
  const nowMs = core.clock.now();
  const token = headers['x-auth-token'];
  const session = [...liveSessions(call.bmc, nowMs).values()].find((one) => one.token === token);
  if (!session) throw unauthorized();
  session.usedMs = nowMs;
}

const unauthorized = () =>
  new RedfishError(401, [{ name: 'NoValidSession' }], {
    'www-authenticate': 'Basic realm="Redfish"',
  });
