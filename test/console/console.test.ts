import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { HealthReport } from '../../src/console/port.ts';
import { openConsole } from './api/console-stand.ts';

interface ConsoleResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** Unlike fetch, lets a test choose the Host header. */
const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<ConsoleResponse>((resolve, reject) => {
    const outgoing = request(url, { headers, method, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end();
  });

test('serves only health and metrics on a daemon without the console role', async () => {
  const { url } = await openConsole({ isShown: false });
  const statuses = await Promise.all(
    ['livez', 'readyz', 'metrics', '', 'events', 'api/v1/guard'].map(
      async (path) => (await ask(`${url}${path}`)).status,
    ),
  );
  expect(statuses).toEqual([200, 200, 200, 404, 404, 404]);
});

describe('operations', () => {
  test('metrics', async () => {
    const { url } = await openConsole();
    const { headers, body } = await ask(`${url}metrics`);
    expect(headers['content-type']).toMatch(/^text\/plain; version=/);
    expect(body).toContain('shepherd_build_info{');
  });

  test('reports readiness by the checks', async () => {
    let report: HealthReport = { checks: { bmdb: { ok: true, detail: 'reachable' } } };
    const { url } = await openConsole({ health: () => report });
    expect(await ask(`${url}readyz`)).toMatchObject({ status: 200 });
    report = { checks: { ...report.checks, session: { ok: false, detail: 'expired 3 s ago' } } };
    const unready = await ask(`${url}readyz`);
    expect(unready.status).toBe(503);
    expect(JSON.parse(unready.body)).toEqual({ ready: false, degraded: false, ...report });
    report = { checks: {} };
    expect((await ask(`${url}readyz`)).status).toBe(503);
    expect((await ask(`${url}livez`)).status).toBe(200);
  });

  test('A8: reports a degraded check, and stays ready', async () => {
    const bmdb = { ok: true, detail: 'reachable' };
    const metal = { ok: false, degraded: true, detail: 'cannot be listed since noon' } as const;
    const report: HealthReport = { checks: { bmdb, 'provider metal': metal } };
    const { url } = await openConsole({ health: () => report });
    const { status, body } = await ask(`${url}readyz`);
    expect([status, JSON.parse(body)]).toEqual([200, { ready: true, degraded: true, ...report }]);
  });

  test('logs an internal failure, and does not show it', async () => {
    const errors: object[] = [];
    const log = { ...silentLog, error: (fields: object) => errors.push(fields) };
    const health = () => {
      throw new Error('canary detail');
    };
    const { url } = await openConsole({ health, log });
    const { status, body } = await ask(`${url}readyz`);
    expect(status).toBe(500);
    expect(body).not.toContain('canary');
    expect(errors).toEqual([expect.objectContaining({ err: 'canary detail' })]);
  });
});

describe('the gate', () => {
  test.each(['/', '/assets/app.js', '/api/v1/machines', '/metrics', '/nothing'])(
    'sends safe headers on %s',
    async (path) => {
      const { url } = await openConsole();
      const { headers } = await ask(new URL(path, url).href);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
      });
    },
  );

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('refuses %s', async (method) => {
    const { url } = await openConsole();
    for (const path of ['', 'api/v1/machines', 'events', 'nothing']) {
      expect((await ask(`${url}${path}`, {}, method)).status).toBe(405);
    }
  });

  test.each([
    ['evil.example', 421],
    ['evil.example:4243', 421],
    ['127.0.0.1.evil.example', 421],
    ['localhost:9999', 200],
    ['127.0.0.1', 200],
    ['[::1]:4243', 200],
    ['fleet.example', 200],
  ])('Host %s: %i', async (host, expected) => {
    const { url } = await openConsole({ allowedHosts: ['fleet.example'] });
    expect((await ask(`${url}api/v1/machines`, { host })).status).toBe(expected);
  });

  test('refuses to open to the network without a token', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.7', '']) {
      await expect(openConsole({ listen: { host, port: 0 } })).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringContaining('token') as string,
      });
    }
  });

  test('with a token requires it on every route but livez, and readyz, which then says whether and not why', async () => {
    const { url } = await openConsole({ token: 'sesame' });
    const basic = (password: string) => `Basic ${btoa(`anyone:${password}`)}`;
    for (const path of ['', 'assets/app.js', 'events', 'api/v1/machines', 'metrics']) {
      expect((await ask(`${url}${path}`)).status, path).toBe(401);
    }
    expect((await ask(`${url}livez`)).status).toBe(200);
    const ready = async (headers = {}) => {
      const { status, body } = await ask(`${url}readyz`, headers);
      return [status, JSON.parse(body) as object];
    };
    expect(await ready()).toEqual([200, { ready: true }]);
    expect(await ready({ authorization: 'Bearer wrong' })).toEqual([200, { ready: true }]);
    expect(await ready({ authorization: 'Bearer sesame' })).toEqual([
      200,
      { ready: true, degraded: false, checks: expect.anything() as object },
    ]);
    const statusWith = async (authorization: string) =>
      (await ask(`${url}metrics`, { authorization })).status;
    expect(await statusWith('Bearer sesame')).toBe(200);
    expect(await statusWith(basic('sesame'))).toBe(200);
    expect(await statusWith('Bearer sesam')).toBe(401);
    expect(await statusWith(basic('sesame2'))).toBe(401);
    expect(await statusWith('Bearer ')).toBe(401);
  });

  test('B6: tells the sender of an unlisted Host where to list it', async () => {
    const { url } = await openConsole();
    const { status, body } = await ask(`${url}api/v1/machines`, { host: 'fleet.example' });
    expect(status).toBe(421);
    expect(body).toContain('console.allowedHosts');
  });

  test('B6: counts guesses by address, answers 429, and checks again after a minute', async () => {
    let nowMs = 0;
    const warned: object[] = [];
    const { url } = await openConsole({
      token: 'sesame',
      clock: { ...systemClock, monotonic: () => nowMs },
      log: { ...silentLog, warn: (fields: object) => warned.push(fields) },
    });
    const withToken = (token: string) => ask(`${url}metrics`, { authorization: `Bearer ${token}` });
    for (let guess = 0; guess < 10; guess += 1) {
      expect((await withToken(`guess ${guess}`)).status).toBe(401);
    }
    nowMs += 1_000;
    for (const token of ['another guess', 'sesame']) {
      const { status, headers, body } = await withToken(token);
      expect({ token, status, wait: headers['retry-after'] }).toEqual({
        token,
        status: 429,
        wait: '59',
      });
      expect(JSON.parse(body)).toMatchObject({
        code: 'limited',
        detail: 'Too many wrong tokens from this address: wait 59 s, and check the token',
      });
    }
    expect((await ask(`${url}livez`)).status).toBe(200);
    // A browser without credentials is asked for them.
    expect((await ask(url)).status).toBe(401);
    expect(warned).toEqual([{ address: '127.0.0.1' }]);
    nowMs += 59_000;
    expect((await withToken('sesame')).status).toBe(200);
    expect((await withToken('wrong')).status).toBe(401);
  });

  test('reports a taken port as one clear mistake', async () => {
    const { url } = await openConsole();
    const port = Number(new URL(url).port);
    await expect(openConsole({ listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
      code: 'usage',
      message: `console: 127.0.0.1:${port} is already in use; choose another with console.listen`,
    });
  });
});
