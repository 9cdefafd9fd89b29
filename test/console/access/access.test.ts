import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createAccess } from '../../../src/console/access/access.ts';
import type { NewEvent } from '../../../src/domain/events/fleet-event.ts';
import { expect, test } from 'vitest';
import { root } from '../../repo/sources.ts';
import { bare, openStand, OWN_PAGE, type AccessStand } from './stand.ts';
import { testRows } from '../../support/rows.ts';

const whoami = async (stand: AccessStand, shown: { token?: string; cookie?: string }) => {
  const { status, body } = await stand.ask('api/v1/whoami', shown);
  return { status, ...(JSON.parse(body) as { name?: string; role?: string }) };
};

test('V30: refuses wrong, expired, revoked and unknown tokens with the same answer', async () => {
  const stand = await openStand();
  const good = await stand.token('admin');
  const expired = await stand.token('admin', { forMs: 60_000 });
  const revoked = await stand.token('admin');
  await stand.bmdb.access.tokens.revoke(revoked.id, 'x');
  stand.pass(60_000);
  const wrong = `${good.token.slice(0, -1)}${good.token.endsWith('A') ? 'B' : 'A'}`;
  const unknown = `shp_0123456789_${'a'.repeat(43)}`;
  const answers = [];
  for (const token of [wrong, expired.token, revoked.token, unknown, 'sesame']) {
    const { status, body, headers } = await stand.ask('api/v1/whoami', { token });
    answers.push({ status, body, challenge: headers['www-authenticate'] });
  }
  expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 401, body: expect.stringContaining('unknown or') });
  expect((await whoami(stand, good)).status).toBe(200);
  // Repeated attempts are reported once a minute.
  const refused = () => stand.bmdb.tables.told.filter(({ type }) => type === 'access.refused');
  expect(refused()).toMatchObject([{ actor: 'unknown', details: { address: '127.0.0.1' } }]);
  expect(JSON.stringify(refused())).not.toContain('sesame');
  stand.pass(60_000);
  await stand.ask('api/v1/whoami', { token: 'sesame, open' });
  expect(refused()).toHaveLength(2);
});

test('reports a limited number of strangers per minute, and counts the rest', async () => {
  const events: NewEvent[] = [];
  const world = { at: 0 };
  const access = strangers(world, events);
  const show = (address: string) => access.personOfToken('sesame', address).catch(() => undefined);
  for (let host = 1; host <= 5; host += 1) await show(`2001:db8:0:1::${host}`);
  expect(events.map(({ details }) => details)).toEqual([{ address: '2001:db8:0:1::1' }]);
  for (let net = 2; net <= 100; net += 1) await show(`2001:db8:0:${net}::1`);
  expect(events).toHaveLength(60);
  world.at += 60_000;
  await show('192.0.2.1');
  expect(events.slice(60).map(({ details }) => details)).toEqual([
    { address: '192.0.2.1', untold: 40 },
  ]);
});

/** An access control that only strangers call. */
function strangers(world: { at: number }, events: NewEvent[]) {
  return createAccess({
    ...{ tokens: [], metricsToken: null, isOpen: false, clients: new Map(), identities: null },
    ...{ cookies: { isSecure: true }, repository: {} as never, random: {} as never },
    clock: { monotonic: () => world.at, now: () => world.at } as never,
    log: silentLog,
    events: { append: async (event) => void events.push(event) },
  });
}

test('logs in with a cookie that scripts cannot read, until logout', async () => {
  const stand = await openStand();
  const { token } = await stand.token('operator', { name: 'ann' });
  const cookie = await stand.logIn({ token });
  expect(cookie).toMatch(/^shepherd=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  const shown = { cookie: bare(cookie) };
  expect(await whoami(stand, shown)).toMatchObject({ name: 'token:ann', role: 'operator' });
  const out = await stand.ask('api/v1/logout', { ...shown, method: 'POST', headers: OWN_PAGE });
  expect([out.status, String(out.headers['set-cookie'])]).toEqual([
    204,
    expect.stringContaining('Max-Age=0'),
  ]);
  stand.pass(5_000);
  expect(await whoami(stand, shown)).toMatchObject({ name: 'anonymous' });
});

testRows([
  ['a form of another site', { 'sec-fetch-site': 'cross-site' }],
  ['a script of a neighbour', { 'sec-fetch-site': 'same-site' }],
  ['a typed address', { 'sec-fetch-site': 'none' }],
  ['another origin', { origin: 'http://evil.example' }],
  ['an opaque origin', { origin: 'null' }],
  ['nothing but the cookie', {}],
  ['text', { ...OWN_PAGE, 'content-type': 'text/plain' }],
  ['a form', { ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' }],
])('V32: with the cookie, %s changes nothing', async (_, headers) => {
  const stand = await openStand();
  const cookie = bare(await stand.logIn({ token: (await stand.token('admin')).token }));
  const body = { name: 'new', role: 'viewer' };
  const made = { method: 'POST', cookie, body };
  expect((await stand.ask('api/v1/tokens', { ...made, headers })).status).toBe(403);
  expect((await stand.ask('api/v1/login', { ...made, headers })).status).toBe(403);
  expect((await stand.ask('api/v1/tokens', { ...made, headers: OWN_PAGE })).status).toBe(201);
});

test('V32: over plain HTTP accepts its own origin, and programs without an origin', async () => {
  const stand = await openStand();
  const { token } = await stand.token('admin');
  const cookie = bare(await stand.logIn({ token }));
  const { origin } = new URL(stand.url);
  const post = (name: string, shown: object) =>
    stand.ask('api/v1/tokens', { method: 'POST', body: { name, role: 'viewer' }, ...shown });
  expect((await post('a', { cookie, headers: { origin } })).status).toBe(201);
  expect((await post('b', { token })).status).toBe(201);
  expect((await post('c', { token, headers: { origin: 'http://evil.example' } })).status).toBe(403);
  const foreign = { cookie, headers: { ...OWN_PAGE, host: 'evil.example' } };
  expect((await post('d', foreign)).status).toBe(421);
});

test('redirects a visitor without a login to the login page', async () => {
  const stand = await openStand({ token: 'of-the-console' });
  const visit = await stand.ask('', { headers: { accept: 'text/html,*/*' } });
  expect([visit.status, visit.headers['location']]).toEqual([302, '/login']);
  expect((await stand.ask('login')).body).toContain('Log in');
  expect((await stand.ask('login.js')).status).toBe(200);
});

test('reads no long body from an unknown caller', async () => {
  const stand = await openStand();
  const post = (path: string, body: string) =>
    stand.ask(`api/v1/${path}`, { method: 'POST', body, headers: OWN_PAGE });
  const brackets = '['.repeat(4_097);
  expect((await post('login', brackets)).status).toBe(413);
  expect((await post('tokens', brackets)).status).toBe(401);
  // Each character as an escape of six characters.
  const token = String.raw`\u0041`.repeat(500);
  expect((await post('login', `{"token":"${token}"}`)).status).toBe(401);
});

testRows(changingRoutes())('changes nothing by the cookie alone: %s %s', async (method, path) => {
  const unused = {} as never;
  const deps = { submission: unused, events: unused, webhooks: unused };
  const stand = await openStand({ ...deps, logControl: unused, inspector: unused });
  const { token } = await stand.token('admin');
  const cookie = bare(await stand.logIn({ token }));
  const asked = { method, cookie, headers: OWN_PAGE, ...(method !== 'DELETE' && { body: {} }) };
  const answer = await stand.ask(path, { ...asked, isNeighbour: true });
  expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('log in again')]);
});

test('E5: refuses changes from a page on another port, to which the browser sends the cookie', async () => {
  const stand = await openStand();
  const { token } = await stand.token('admin', { name: 'ann' });
  const cookie = bare(await stand.logIn({ token }));
  const other = bare(await stand.logIn({ token }));
  const { origin } = new URL(stand.url);
  const body = { name: 'new', role: 'admin' };
  // A program can send these headers too.
  for (const headers of [OWN_PAGE, { origin }, { ...OWN_PAGE, 'shepherd-secret': 'guessed' }]) {
    const forged = { cookie, headers, isNeighbour: true };
    for (const [method, path, sent] of [
      ['POST', 'tokens', body],
      ['DELETE', `logins/${'0'.repeat(8)}-0000-4000-8000-000000000000`, undefined],
    ] as const) {
      const asked = { ...forged, method, ...(sent && { body: sent }) };
      const answer = await stand.ask(`api/v1/${path}`, asked);
      expect([answer.status, answer.body], path).toEqual([
        403,
        expect.stringContaining('log in again'),
      ]);
    }
  }
  expect(await stand.bmdb.access.tokens.list(new AbortController().signal)).toHaveLength(1);
  const own = { method: 'POST', body, headers: OWN_PAGE };
  expect((await stand.ask('api/v1/tokens', { ...own, cookie })).status).toBe(201);
  // Logging out only loses the cookie, so it needs no secret.
  const out = { method: 'POST', headers: OWN_PAGE, cookie: other, isNeighbour: true };
  expect((await stand.ask('api/v1/logout', out)).status).toBe(204);
});

/** All operations of the API's description except login and logout. */
function changingRoutes(): (readonly [method: string, path: string])[] {
  const { paths } = JSON.parse(readFileSync(join(root, 'generated/openapi.json'), 'utf8')) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => method !== 'get' && !/\/(log(in|out)|device\/\w+)$/.test(path))
      .map(
        (method) =>
          [
            method.toUpperCase(),
            path
              .slice(1)
              .replace('{id}', '00000000-0000-4000-8000-000000000000')
              .replace(/\{\w+\}/g, 'any'),
          ] as const,
      ),
  );
}
