import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { digestOf } from '../../../src/console/access/secrets.ts';
import { playScenes } from '../../support/scenes.ts';
import { readStream } from '../api/stream-reader.ts';
import { bare, openStand, OWN_PAGE, type AccessStand } from './stand.ts';

/** Credentials: tokens by name; cookies by `@` and the name of the token that obtained them. */
interface Cast extends AccessStand {
  readonly shown: Map<string, { readonly token?: string; readonly cookie?: string }>;
  readonly ids: Map<string, string>;
  readonly world: { configured: string };
}

async function cast(): Promise<Cast> {
  const world = { configured: 'secret-of-the-configured-one' };
  const deploy = { name: 'deploy', role: 'operator', providers: null } as const;
  const stand = await openStand({
    tokens: [{ ...deploy, read: () => world.configured }],
    metricsToken: () => 'of-metrics',
  });
  const shown = new Map([
    ['nobody', {}],
    ['configured', { token: world.configured }],
    ['metrics', { token: 'of-metrics' }],
  ]);
  return { ...stand, shown, ids: new Map(), world };
}

const logIn = async (s: Cast, as: string, body: object) =>
  void s.shown.set(as, { cookie: bare(await s.logIn(body)) });

const byName = (a: { readonly name?: string }, b: typeof a) => (a.name! < b.name! ? -1 : 1);

/** An unknown name would be refused like a stranger. */
function known<Value>(of: ReadonlyMap<string, Value>, name: string): Value {
  if (!of.has(name)) throw new Error(`nobody is called ${name}`);
  return of.get(name)!;
}

/** `who METHOD path {body}`. */
async function asked(s: Cast, line: string): Promise<string> {
  const [, who = '', method = '', path = '', written] = /^(\S+) (\S+) (\S+) ?(.*)$/.exec(line)!;
  const to = path.replace(/<(.*)>/, (_, name: string) => known(s.ids, name));
  const sent = written === '' ? undefined : (parse(written!) as { readonly name?: string });
  const { status, body } = await s.ask(to === 'metrics' ? to : `api/v1/${to}`, {
    ...{ method, ...known(s.shown, who), body: sent },
    ...(method !== 'GET' && { headers: OWN_PAGE }),
  });
  if (body === '' || to === 'metrics') return String(status);
  const told = JSON.parse(body) as Record<string, unknown>;
  if (typeof told['token'] === 'string' && sent?.name !== undefined) {
    s.shown.set(sent.name, { token: told['token'] });
    s.ids.set(sent.name, String(told['id']));
  }
  if (typeof told['code'] === 'string' && path === 'login-codes') {
    s.shown.set('code', { token: told['code'] });
  }
  // Entries of the same moment have no order.
  for (const list of Object.values(told)) if (Array.isArray(list)) list.sort(byName);
  const { code, detail } = told;
  const plain = (key: string, value: unknown) =>
    /Ms$|^id$|^token$|^tokenId$|^code$/.test(key) ? undefined : (value ?? undefined);
  return `${status} ${detail === undefined ? JSON.stringify(told, plain) : `${code}: ${detail}`}`;
}

test('E3: E4: makes, shows, ends and refuses tokens and logins by the table', () =>
  playScenes<Cast>(import.meta.dirname, 'accounts', {
    open: cast,
    run: (s, _, line) => asked(s, line),
    steps: {
      // `name role {more}`: a token made by an operator of the database.
      async token(s, about) {
        const [, name = '', role, more] = /^(\S+) (\S+) ?(.*)$/.exec(about)!;
        const { id, token } = await s.token(role as 'admin', { name, ...(parse(more!) as object) });
        s.shown.set(name, { token });
        s.ids.set(name, id);
      },
      'logs in': (s, name) => logIn(s, `@${name}`, { token: s.shown.get(name)!.token }),
      'logs in by the link': (s, name) =>
        logIn(s, `@${name}`, { code: s.shown.get('code')!.token }),
      'a link of the database': async (s, name) => {
        const who = { name: `db:${name}@host`, identity: `db:${name}@host` };
        const code = { ...who, role: 'admin', providers: null, tokenId: null } as const;
        await s.bmdb.access.codes.add({ digest: digestOf('link'), ...code });
        s.shown.set('code', { token: 'link' });
      },
      revoked: async (s, name) =>
        void (await s.bmdb.access.tokens.revoke(s.ids.get(name)!, 'oidc:bob')),
      pass: (s, seconds) => s.pass(Number(seconds) * 1_000),
      'the configuration has another token': (s) =>
        void (s.world.configured = 'another-secret-in-its-place'),
      'the database is away': (s) => void (s.bmdb.tables.reachable = false),
      'ends the login of': async (s, about) => {
        const [who, name] = about.split(' by ').toReversed() as [string, string];
        const { body } = await s.ask('api/v1/logins', known(s.shown, name));
        const { logins } = JSON.parse(body) as { logins: { id: string; isThis: boolean }[] };
        const { id } = logins.find(({ isThis }) => isThis)!;
        const out = { method: 'DELETE', headers: OWN_PAGE, ...known(s.shown, who) };
        const { status } = await s.ask(`api/v1/logins/${id}`, out);
        return String(status);
      },
    },
  }));

test('V36: shows a new token once, and never in a list or log', async () => {
  const logged: unknown[] = [];
  const note = (...said: unknown[]) => void logged.push(said);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const stand = await openStand({ log });
  const { token } = await stand.token('admin');
  const body = { name: 'a', role: 'viewer' };
  const made = await stand.ask('api/v1/tokens', { method: 'POST', token, body });
  await stand.logIn({ token });
  const listed = await stand.ask('api/v1/tokens', { token });
  const said = JSON.stringify(logged) + listed.body;
  expect(said).toContain('a token was created');
  const { token: told } = JSON.parse(made.body) as { token: string };
  for (const secret of [told, token]) expect(said).not.toContain(secret.slice(15));
});

test('refuses a token to the last of a chain of sixteen', async () => {
  let token = 'of-the-first-one';
  const deploy = { name: 'deploy', role: 'operator', providers: null } as const;
  const stand = await openStand({ tokens: [{ ...deploy, read: () => 'of-the-first-one' }] });
  const statuses: number[] = [];
  for (let at = 0; at < 17; at += 1) {
    const body = { name: `of-${at}`, role: 'operator' };
    const made = await stand.ask('api/v1/tokens', { method: 'POST', token, body });
    statuses.push(made.status);
    ({ token } = JSON.parse(made.body) as { token: string });
  }
  expect(statuses).toEqual([...Array.from({ length: 16 }, () => 201), 422]);
});

test('lets an admin end a token and a session however many newer ones exist', async () => {
  const stand = await openStand();
  const { token } = await stand.token('admin', { name: 'ann' });
  const old = await stand.token('operator', { name: 'old' });
  await stand.logIn({ token: (await stand.token('viewer')).token });
  const { body } = await stand.ask('api/v1/logins', { token });
  const [login] = (JSON.parse(body) as { logins: { id: string }[] }).logins;
  stand.pass(1_000);
  for (let at = 0; at < 1_000; at++) {
    await stand.token('viewer', { name: `new-${at}` });
    const made = { name: 'token:ci', identity: 'token:ci', providers: null };
    const keys = { id: randomUUID(), digest: digestOf(`${at}`), tokenId: null, renewal: null };
    await stand.bmdb.access.sessions.open({ ...made, role: 'viewer', ...keys, proven: true });
  }
  for (const [path, status] of [
    ...([
      [`tokens/${old.id}`, 204],
      ['tokens/none', 404],
    ] as const),
    ...([
      [`logins/${login!.id}`, 204],
      [`logins/${login!.id}`, 404],
    ] as const),
  ]) {
    const ended = await stand.ask(`api/v1/${path}`, { method: 'DELETE', token });
    expect(ended.status, path).toBe(status);
  }
});

test('V29: ends the stream of a caller who is no longer known, with the reason', async () => {
  const stand = await openStand();
  const { token, id } = await stand.token('admin');
  // With another token: a login ends with the token that opened it.
  const other = { token: (await stand.token('admin')).token };
  const cookies = [bare(await stand.logIn(other)), bare(await stand.logIn(other))] as const;
  const shown = [{ authorization: `Bearer ${token}` }, ...cookies.map((cookie) => ({ cookie }))];
  const streams = await Promise.all(
    shown.map((headers) => readStream(`${stand.url}api/v1/stream?view=fleet`, undefined, headers)),
  );
  const { body } = await stand.ask('api/v1/logins', { cookie: cookies[0] });
  const { logins } = JSON.parse(body) as { logins: { id: string; isThis: boolean }[] };
  const ended = logins.find(({ isThis }) => !isThis)!;
  await stand.bmdb.access.tokens.revoke(id, 'oidc:bob');
  const act = { cookie: cookies[0], headers: OWN_PAGE };
  await stand.ask(`api/v1/logins/${ended.id}`, { ...act, method: 'DELETE' });
  expect((await stand.ask('api/v1/logout', { ...act, method: 'POST' })).status).toBe(204);
  stand.pass(5_000);
  await Promise.all(streams.map((stream) => stream.ended));
  const said = streams.map(({ ofType }) => ofType('bye').map(({ data }) => data['reason']));
  expect(said).toEqual([['revoked'], ['signed-out'], ['signed-out']]);
});
