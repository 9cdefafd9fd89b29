import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { openAccess } from '../../../src/console/access/means.ts';
import { addFailures } from '../../../src/console/api/failures.ts';
import { addGate } from '../../../src/console/gate.ts';
import { EMPTY } from '../scripted-console.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const TOKEN = 'a'.repeat(32);

function gated(token: string | null): FastifyInstance {
  const app = Fastify();
  onTestFinished(() => app.close());
  const access = openAccess(
    { ...EMPTY, ...(token !== null && { token }) },
    { ...{ host: '127.0.0.1', hasTls: false, log: silentLog, clock: createSimulatedClock() } },
  );
  const letIn = () => undefined;
  addGate(app, {
    ...{ host: '127.0.0.1', allowedHosts: [], origin: null, isSecure: false },
    ...{ access, letIn },
  });
  addFailures(app, silentLog);
  app.post('/log-in', { config: { right: 'open' } }, async () => ({ loggedIn: true }));
  app.post('/act', { config: { right: 'operate' } }, async () => ({ acted: true }));
  return app;
}

test('tells a program without credentials to log in, and a browser which page is missing', async () => {
  const act = { method: 'POST', url: '/act' } as const;
  for (const token of [null, TOKEN]) {
    const { statusCode, body, headers } = await gated(token).inject(act);
    expect(statusCode).toBe(401);
    expect(body).toContain('Nobody is logged in');
    expect(headers['www-authenticate']).toBeDefined();
  }
  const cookie = 'shepherd-session=x';
  for (const request of [
    { ...act, headers: { cookie } },
    { ...act, url: '/log-in' },
  ]) {
    const { statusCode, body } = await gated(TOKEN).inject(request);
    expect(statusCode).toBe(403);
    expect(body).toContain('Sec-Fetch-Site and Origin are both missing');
  }
});

test('refuses a changing route without a right when the route is added', () => {
  const app = gated(null);
  expect(() => app.post('/forgotten', async () => ({}))).toThrow(
    'does not declare the required right',
  );
});
