import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createOidc, type OidcOptions } from '../../../src/adapters/identities/oidc.ts';
import type { Grant } from '../../../src/domain/access.ts';
import { createBrowser, type Browser } from './browser.ts';
import { CLIENT, openIdentityProvider } from './identity-provider.ts';
import { openStand, OWN_PAGE } from './stand.ts';
import { testRows } from '../../support/rows.ts';

const ORIGIN = 'https://shepherd.example.org';
const CALLBACK = `${ORIGIN}/login/oidc/callback`;
const MINUTE = 60_000;
const GROUPS = new Map<string, Grant>([
  ['fleet-admins', { role: 'admin', providers: null }],
  ['rack-crew', { role: 'operator', providers: ['rack'] }],
  ['rack2-crew', { role: 'operator', providers: ['rack2'] }],
  ['staff', { role: 'viewer', providers: null }],
]);
const isBack = (url: string) => url.startsWith(CALLBACK);

/** A console behind a proxy, an identity provider that knows ann, and a login from there. */
async function scene(change: Partial<OidcOptions> = {}) {
  const there = await openIdentityProvider(CALLBACK);
  there.accounts.set('a1', { email: 'ann@example.org', groups: ['fleet-admins'] });
  there.next = 'a1';
  const provider = createOidc({
    ...{ issuer: there.issuer, clientId: CLIENT.id, clientSecret: () => CLIENT.secret },
    ...{ redirectUri: CALLBACK, scopes: ['openid', 'email', 'groups', 'offline_access'] },
    ...{ nameClaim: 'email', groupsClaim: 'groups', asksConsent: true, clock: systemClock },
    ...change,
  });
  const logged: string[] = [];
  const note = (...said: unknown[]) => void logged.push(JSON.stringify(said));
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const stand = await openStand({
    ...{ isProxied: true, publicUrl: ORIGIN, log },
    identities: { provider, groups: GROUPS },
  });
  const browser = () => createBrowser({ [ORIGIN]: stand.url.replace(/\/$/, '') });
  const whoami = async (shown: Browser) => {
    const { status, body } = await shown.visit(`${ORIGIN}/api/v1/whoami`);
    return { status, ...(JSON.parse(body) as { name?: string; detail?: string }) };
  };
  /** Logs in, and returns the page at the end. */
  const logIn = async (shown: Browser) => shown.visit(`${ORIGIN}/login/oidc`);
  return { there, stand, logged, browser, whoami, logIn };
}

test('V31: takes the role from the groups of the person; the name is verified', async () => {
  const { browser, whoami, logIn, logged } = await scene();
  const ann = browser();
  const { status, body } = await logIn(ann);
  const [, secret] = /data-secret="([\w-]{43})"/.exec(body)!;
  expect([status, secret]).toEqual([200, expect.any(String)]);
  expect(await whoami(ann)).toEqual({
    ...{ status: 200, name: 'oidc:ann@example.org', role: 'admin', providers: null },
    ...{
      via: 'cookie',
      proven: true,
      rights: ['see', 'report', 'operate', 'destroy', 'administer'],
    },
  });
  // The browser keeps nothing of the journey.
  expect([...ann.cookies.get('shepherd.example.org')!.keys()]).toEqual(['__Host-shepherd']);
  expect(logged.join('')).not.toContain(CLIENT.secret);
});

testRows([
  ['the highest role of all', ['staff', 'rack-crew'], { role: 'operator', providers: ['rack'] }],
  [
    'the places of all with that role',
    ['rack-crew', 'unknown', 'rack2-crew'],
    { role: 'operator', providers: ['rack', 'rack2'] },
  ],
])('V31: several groups give %s', async (_, groups, grant) => {
  const { there, browser, whoami, logIn } = await scene();
  there.accounts.get('a1')!.groups = groups;
  const ann = browser();
  await logIn(ann);
  expect(await whoami(ann)).toMatchObject(grant);
});

test('V31: refuses a person without a configured group, or without a verified address', async () => {
  const { there, stand, browser, whoami, logIn } = await scene();
  const { accounts } = there;
  accounts.set('a1', { email: 'ann@example.org', groups: ['others'] });
  const ann = browser();
  expect((await logIn(ann)).url).toBe(`${ORIGIN}/login?told=group`);
  // The standard demands a boolean. Some providers accept any address, and send nothing or a text.
  for (const emailVerified of [false, null, 'true', 'false']) {
    accounts.set('a1', { email: 'ann@example.org', groups: ['staff'], emailVerified });
    expect((await logIn(ann)).url, String(emailVerified)).toBe(`${ORIGIN}/login?told=refused`);
    expect((await whoami(ann)).status).toBe(401);
    stand.pass(MINUTE);
  }
});

test('V31: refuses a used state, and the state of another browser', async () => {
  const { browser, whoami } = await scene();
  const [ann, eve] = [browser(), browser()];
  const { url: back } = await ann.visit(`${ORIGIN}/login/oidc`, isBack);
  const kept = new Map(ann.cookies.get('shepherd.example.org'));
  expect((await eve.visit(back)).url).toBe(`${ORIGIN}/login?told=again`);
  await eve.visit(`${ORIGIN}/login/oidc`, isBack);
  expect((await eve.visit(back)).url).toBe(`${ORIGIN}/login?told=again`);
  expect((await ann.visit(back)).status).toBe(200);
  expect(await whoami(ann)).toMatchObject({ role: 'admin' });
  // The same again, even with the browser's cookie.
  const again = browser();
  again.cookies.set('shepherd.example.org', kept);
  expect((await again.visit(back)).url).toBe(`${ORIGIN}/login?told=again`);
  expect([(await whoami(again)).status, (await whoami(eve)).status]).toEqual([401, 401]);
});

test('V31: a stolen code logs nobody in', async () => {
  const { browser, whoami, logged } = await scene();
  const [ann, eve] = [browser(), browser()];
  const stolen = new URL((await ann.visit(`${ORIGIN}/login/oidc`, isBack)).url);
  const own = new URL((await eve.visit(`${ORIGIN}/login/oidc`, isBack)).url);
  own.searchParams.set('code', stolen.searchParams.get('code')!);
  expect((await eve.visit(own.href)).url).toBe(`${ORIGIN}/login?told=refused`);
  expect((await whoami(eve)).status).toBe(401);
  expect(logged.join('')).toContain('invalid_grant');
  expect(logged.join('')).not.toContain(stolen.searchParams.get('code'));
});

test('V31: refuses an ID token that was not made for this login', async () => {
  const { browser, whoami, logged } = await scene();
  const ann = browser();
  const { url } = await ann.visit(`${ORIGIN}/login/oidc`, (next) => next.includes('/auth?'));
  const other = new URL(url);
  other.searchParams.set('nonce', 'of-another-login');
  expect((await ann.visit(other.href)).url).toBe(`${ORIGIN}/login?told=refused`);
  expect((await whoami(ann)).status).toBe(401);
  expect(logged.join('')).toContain('nonce');
});

testRows([
  ['ahead', 2 * 60 * MINUTE],
  ['behind', -2 * 60 * MINUTE],
])('V31: with the clock of the console two hours %s nobody is logged in', async (_, skewMs) => {
  const clock = { ...systemClock, now: () => systemClock.now() + skewMs };
  const { browser, whoami, logIn, logged } = await scene({ clock });
  const ann = browser();
  expect((await logIn(ann)).url).toBe(`${ORIGIN}/login?told=refused`);
  expect((await whoami(ann)).status).toBe(401);
  expect(logged.join('')).toMatch(/timestamp|dated in the future/);
});

test('V31: asks for the groups again every quarter of an hour, once for all waiting requests', async () => {
  const { there, stand, browser, whoami, logIn } = await scene();
  const ann = browser();
  await logIn(ann);
  there.accounts.get('a1')!.groups = ['rack-crew'];
  stand.pass(14 * MINUTE);
  expect(await whoami(ann)).toMatchObject({ role: 'admin' });
  expect(there.refreshes()).toBe(0);
  stand.pass(MINUTE);
  const roles = await Promise.all(Array.from({ length: 5 }, async () => whoami(ann)));
  expect(new Set(roles.map((each) => JSON.stringify(each))).size).toBe(1);
  expect(roles[0]).toMatchObject({ role: 'operator', providers: ['rack'] });
  expect(there.refreshes()).toBe(1);
  // A refresh token is valid once: the next one is needed, and stored.
  stand.pass(15 * MINUTE);
  expect(await whoami(ann)).toMatchObject({ role: 'operator' });
  expect(there.refreshes()).toBe(2);
});

testRows([
  ['whose groups give nothing any more', ['others']],
  ['whom the provider knows no more', null],
])('V31: ends the session of somebody %s', async (_, groups) => {
  const { there, stand, browser, whoami, logIn } = await scene();
  const ann = browser();
  await logIn(ann);
  if (groups === null) there.accounts.delete('a1');
  else there.accounts.get('a1')!.groups = groups;
  stand.pass(15 * MINUTE);
  expect((await whoami(ann)).status).toBe(401);
  expect(await stand.bmdb.access.sessions.list(new AbortController().signal)).toEqual([]);
});

test('keeps token logins working while the provider is down, and explains the failure', async () => {
  const { there, stand, browser, whoami, logIn } = await scene();
  await there.stop();
  const ann = browser();
  const { url } = await logIn(ann);
  expect(url).toBe(`${ORIGIN}/login?told=away`);
  expect((await ann.visit(`${ORIGIN}/login.js`)).body).toContain('away:');
  const { token } = await stand.token('admin');
  const shown = await stand.ask('api/v1/whoami', { token });
  expect(JSON.parse(shown.body)).toMatchObject({ role: 'admin' });
  await there.start();
  await logIn(ann);
  expect(await whoami(ann)).toMatchObject({ role: 'admin' });
});

test('keeps a role for an hour while the provider is down, and restores it when the provider is back', async () => {
  const { there, stand, browser, whoami, logIn } = await scene();
  const ann = browser();
  await logIn(ann);
  await there.stop();
  stand.pass(59 * MINUTE);
  expect(await whoami(ann)).toMatchObject({ role: 'admin' });
  stand.pass(MINUTE);
  const away = await whoami(ann);
  expect(away).toMatchObject({
    status: 503,
    detail: expect.stringContaining('log in with a token'),
  });
  await there.start();
  stand.pass(MINUTE);
  expect(await whoami(ann)).toMatchObject({ status: 200, role: 'admin' });
});

testRows([
  ['whose groups give less', ['staff']],
  ['whose groups give nothing any more', ['others']],
  ['whom the provider knows no more', null],
])('ends the tokens of somebody %s, whether or not the page is open', async (_, groups) => {
  const { there, stand, browser, logIn } = await scene();
  const ann = browser();
  const [, secret] = /data-secret="([\w-]+)"/.exec((await logIn(ann)).body)!;
  const cookies = [...ann.cookies.get('shepherd.example.org')!];
  const made = await stand.ask('api/v1/tokens', {
    ...{ method: 'POST', cookie: cookies.map((pair) => pair.join('=')).join('; ') },
    headers: { host: 'shepherd.example.org', ...OWN_PAGE, 'shepherd-secret': secret! },
    body: { name: 'ci', role: 'admin' },
  });
  const { token } = JSON.parse(made.body) as { token: string };
  const next = await stand.ask('api/v1/tokens', {
    ...{ method: 'POST', token, body: { name: 'next', role: 'admin' } },
  });
  const child = JSON.parse(next.body) as { token: string };
  const seen = async () =>
    (
      await Promise.all([stand.ask('api/v1/tokens', { token }), stand.ask('api/v1/tokens', child)])
    ).map(({ status }) => status);
  // Only the tokens are used, and the role is asked again all the same.
  for (const refreshes of [1, 2, 3, 4, 5, 6]) {
    stand.pass(15 * MINUTE);
    expect([await seen(), there.refreshes()]).toEqual([[200, 200], refreshes]);
  }
  if (groups === null) there.accounts.delete('a1');
  else there.accounts.get('a1')!.groups = groups;
  stand.pass(15 * MINUTE);
  expect(await seen()).toEqual([401, 401]);
});

testRows(['userinfo', 'discovery'])(
  'E8: reads no more than 256 KiB of an answer: %s',
  async (of) => {
    const { there, browser, whoami, logIn, logged } = await scene();
    there.padding = { path: of === 'userinfo' ? '/me' : '/.well-known/', bytes: 64 * 1024 * 1024 };
    const ann = browser();
    expect((await logIn(ann)).url).toBe(`${ORIGIN}/login?told=refused`);
    expect((await whoami(ann)).status).toBe(401);
    expect(logged.join('')).toContain('longer than 262144 bytes');
    expect(there.padded()).toBeLessThan(8 * 1024 * 1024);
  },
);

test('gives a new owner of an address none of the logins of the former one', async () => {
  const { there, browser, logIn } = await scene();
  const logins = async (shown: Browser) => {
    const { body } = await shown.visit(`${ORIGIN}/api/v1/logins`);
    return (JSON.parse(body) as { logins: { isThis: boolean }[] }).logins;
  };
  for (const subject of ['a1', 'b2']) {
    there.accounts.set(subject, { email: 'ann@example.org', groups: ['rack-crew'] });
  }
  const [before, after] = [browser(), browser()];
  await logIn(before);
  there.next = 'b2';
  await logIn(after);
  for (const each of [before, after]) {
    expect(await logins(each)).toEqual([expect.objectContaining({ isThis: true })]);
  }
});
