import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { DEVICE_GRANT, makeUserCode } from '../../../src/console/access/device-login.ts';
import { loginByBrowser } from '../../../src/commands/remote/device-login.ts';
import { openConsole } from '../api/console-stand.ts';
import { asked, bare, openStand, OWN_PAGE, type AccessStand } from './stand.ts';

interface Begun {
  readonly device_code: string;
  readonly user_code: string;
}
type Body = Readonly<Record<string, unknown>>;

const bodyOf = ({ body }: { readonly body: string }): Body =>
  body === '' ? {} : (JSON.parse(body) as Body);
const post = (s: AccessStand, path: string, body: object, more: object = {}) =>
  s.ask(`api/v1/${path}`, { method: 'POST', headers: OWN_PAGE, body, ...more });
async function begin(s: AccessStand, host = 'laptop'): Promise<Begun> {
  const answer = await post(s, 'device/authorization', { client_id: 'shepherd', host });
  expect(answer.status).toBe(200);
  return bodyOf(answer) as unknown as Begun;
}
const poll = async (s: AccessStand, device_code: string, change: object = {}) => {
  const body = { client_id: 'shepherd', grant_type: DEVICE_GRANT, device_code, ...change };
  const answer = await post(s, 'device/token', body);
  return { status: answer.status, ...bodyOf(answer) } as Body & { readonly status: number };
};
/** A person logged in to the page with a token of this role. */
async function person(s: AccessStand, role: 'viewer' | 'operator' | 'admin', more: object = {}) {
  const { token } = await s.token(role, more);
  const cookie = bare(await s.logIn({ token }));
  const decide = async (code: string, decision: string, change: object = {}) => {
    const answer = await post(s, 'device-logins', { code, decision }, { cookie, ...change });
    return { ...bodyOf(answer), status: answer.status } as Body & { readonly status: number };
  };
  return { token, cookie, decide };
}
const whoami = async (s: AccessStand, token: unknown) =>
  bodyOf(await s.ask('api/v1/whoami', { token: String(token) }));

/** RFC 8628, 3.5, and RFC 6749, 5.2: the answer to the command, by what happened before. */
const PUBLISHED: readonly [string, string, (s: AccessStand, begun: Begun) => Promise<object>][] = [
  [
    'authorization_pending',
    'nobody has confirmed it',
    (s, { device_code }) => poll(s, device_code),
  ],
  [
    ...(['slow_down', 'the command does not wait its interval'] as const),
    async (s, { device_code }) => {
      await poll(s, device_code);
      return poll(s, device_code);
    },
  ],
  [
    ...(['access_denied', 'the person refused'] as const),
    async (s, { device_code, user_code }) => {
      await (await person(s, 'operator')).decide(user_code, 'refuse');
      return poll(s, device_code);
    },
  ],
  [
    ...(['expired_token', 'ten minutes are over'] as const),
    async (s, { device_code }) => {
      s.pass(10 * 60_000);
      return poll(s, device_code);
    },
  ],
  [
    ...(['invalid_request', 'the device code is missing'] as const),
    (s, { device_code }) => poll(s, device_code, { device_code: undefined }),
  ],
  ['invalid_grant', 'the device code is wrong', (s) => poll(s, 'A'.repeat(43))],
  [
    ...(['invalid_grant', 'the device code was used before'] as const),
    async (s, { device_code, user_code }) => {
      await (await person(s, 'operator')).decide(user_code, 'confirm');
      expect(await poll(s, device_code)).toMatchObject({ status: 200, token_type: 'Bearer' });
      return poll(s, device_code);
    },
  ],
  [
    ...(['unsupported_grant_type', 'another grant is asked for'] as const),
    (s, { device_code }) => poll(s, device_code, { grant_type: 'password' }),
  ],
];

test.each(PUBLISHED)('answers a command with %s when %s', async (error, _, ask) => {
  const s = await openStand();
  expect(await ask(s, await begin(s))).toMatchObject({ status: 400, error });
});

test('begins a login with the members of RFC 8628, 3.2', async () => {
  const s = await openStand();
  expect(await begin(s)).toEqual({
    device_code: expect.stringMatching(/^[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${s.url}device`,
    ...{ expires_in: 600, interval: 5 },
  });
  const letters = new Set(Array.from({ length: 300 }, () => makeUserCode(systemRandom)).join(''));
  expect([...letters].toSorted().join('')).toBe('BCDFGHJKLMNPQRSTVWXZ');
});

test('shows the caller to a person, and gives the command a token of that person, which Settings lists and revokes', async () => {
  const s = await openStand();
  const begun = await begin(s, 'laptop of ann');
  const ann = await person(s, 'admin', { name: 'ann' });
  const typed = begun.user_code.replace('-', ' ').toLowerCase();
  expect(await ann.decide(typed, 'look')).toMatchObject({ host: 'laptop of ann', status: 200 });
  expect(await ann.decide(typed, 'confirm', {})).toMatchObject({ status: 200 });
  const { access_token: token, expires_in: seconds } = await poll(s, begun.device_code);
  expect(seconds).toBeLessThanOrEqual(86_400);
  expect(await whoami(s, token)).toMatchObject({ role: 'admin', via: 'token' });
  const listed = bodyOf(await s.ask('api/v1/tokens', { cookie: ann.cookie }));
  const [made] = listed['tokens'] as [{ readonly id: string }];
  expect(made).toMatchObject({
    name: expect.stringMatching(/^cli-laptop-of-ann-/),
    owner: 'token:ann',
  });
  const { signal } = new AbortController();
  const { events } = await s.bmdb.events.read({ after: '0', limit: 100 }, signal);
  const audit = events.filter(({ type }) => type === 'access.token_created').at(-1);
  expect(audit).toMatchObject({ actor: 'token:ann', details: { tokenId: made.id, role: 'admin' } });
  await s.ask(`api/v1/tokens/${made.id}`, {
    method: 'DELETE',
    headers: OWN_PAGE,
    cookie: ann.cookie,
  });
  s.pass(6_000);
  expect(await whoami(s, token)).toMatchObject({ code: 'not-signed-in' });
});

test('gives a token at most the rights of the person, and ends it with their login', async () => {
  const s = await openStand();
  const bob = await person(s, 'operator', { providers: ['rack'] });
  const [first, second] = [await begin(s), await begin(s)];
  const role = async (code: string, wanted: string) =>
    bodyOf(
      await post(
        s,
        'device-logins',
        { code, decision: 'confirm', role: wanted },
        { cookie: bob.cookie },
      ),
    );
  expect(await role(first.user_code, 'admin')).toMatchObject({ code: 'not-allowed' });
  await role(first.user_code, 'viewer');
  await bob.decide(second.user_code, 'confirm');
  const tokens = [await poll(s, first.device_code), await poll(s, second.device_code)];
  expect(await whoami(s, tokens[0]!['access_token'])).toMatchObject({ role: 'viewer' });
  const own = tokens[1]!['access_token'];
  expect(await whoami(s, own)).toMatchObject({ role: 'operator', providers: ['rack'] });
  await post(s, 'logout', {}, { cookie: bob.cookie });
  s.pass(6_000);
  expect(await whoami(s, own)).toMatchObject({ code: 'not-signed-in' });
});

test('accepts confirmation only by a person in the page: no token, no viewer, no stranger, no page of another site', async () => {
  const s = await openStand();
  const { user_code: code } = await begin(s);
  const ann = await person(s, 'admin');
  const viewer = await person(s, 'viewer');
  const confirm = { code, decision: 'confirm' };
  const answers = await Promise.all([
    post(s, 'device-logins', confirm, { token: ann.token }),
    post(s, 'device-logins', confirm, { cookie: viewer.cookie }),
    post(s, 'device-logins', confirm),
    // The cookie alone, as sent to another port of the host; and a page of another site.
    post(s, 'device-logins', confirm, { cookie: ann.cookie, isNeighbour: true }),
    post(s, 'device-logins', confirm, {
      ...{ cookie: ann.cookie, headers: { 'sec-fetch-site': 'cross-site' } },
    }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 401, 403, 403]);
  expect(await ann.decide(code, 'confirm')).toMatchObject({ status: 200 });
});

test('decides about a code once, and neither shows nor gives the token to another user', async () => {
  const s = await openStand();
  const begun = await begin(s);
  const [ann, bob] = [await person(s, 'operator'), await person(s, 'operator')];
  // Both decisions find the code before one of them is written.
  const { devices } = s.bmdb.access;
  const { find } = devices;
  const both = Promise.withResolvers<void>();
  let looks = 0;
  Object.assign(devices, {
    async find(...asked: Parameters<typeof find>) {
      const found = await find(...asked);
      if ((looks += 1) === 2) both.resolve();
      await both.promise;
      return found;
    },
  });
  const answers = await Promise.all([
    ann.decide(begun.user_code, 'confirm'),
    ann.decide(begun.user_code, 'confirm'),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404]);
  expect(await bob.decide(begun.user_code, 'refuse')).toMatchObject({ code: 'not-found' });
  expect(await poll(s, begun.device_code)).toMatchObject({ status: 200 });
  const listed = bodyOf(await s.ask('api/v1/tokens', { cookie: bob.cookie }));
  expect(listed).toEqual({ tokens: [] });
  const all = await s.bmdb.access.tokens.list(new AbortController().signal);
  const left = all.filter(({ name, hasEnded }) => name.startsWith('cli-') && !hasEnded);
  expect(left, 'the token of the second decision is revoked').toHaveLength(1);
});

test('counts wrong codes per person, and begun logins per address', async () => {
  const s = await openStand();
  const begun = await begin(s);
  const ann = await person(s, 'operator');
  const statuses = [];
  for (const at of 'BCDFGH') statuses.push((await ann.decide(`BBBB-BBB${at}`, 'look')).status);
  expect(statuses).toEqual([404, 404, 404, 404, 404, 429]);
  expect(await ann.decide(begun.user_code, 'confirm'), 'not even the right one').toMatchObject({
    code: 'limited',
    detail: 'Too many wrong codes from you: wait 60 s, and type the code that the command shows',
  });
  s.pass(60_000);
  expect(await ann.decide(begun.user_code, 'look')).toMatchObject({ status: 200 });
  const body = { client_id: 'shepherd', host: 'x' };
  const more = [];
  for (let at = 0; at < 6; at += 1) more.push(await post(s, 'device/authorization', body));
  expect(more.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(bodyOf(more.at(-1)!)['detail']).toBe(
    'Too many logins from this address within a minute: wait 60 s, and log in again',
  );
  Object.assign(s.bmdb.access.devices, { add: async () => false });
  s.pass(60_000);
  expect(bodyOf(await post(s, 'device/authorization', body))['detail']).toBe(
    'Too many commands wait for a person to confirm their login: wait 60 s, and log in again or with a token',
  );
});

test('sends the person to the configured address, whatever host the command named', async () => {
  const s = await openStand({ publicUrl: 'https://fleet.example.org/' });
  const begun = bodyOf(await post(s, 'device/authorization', { client_id: 'shepherd', host: 'x' }));
  expect(begun['verification_uri']).toBe('https://fleet.example.org/device');
});

test('stores neither code: the database has digests, and the token only encrypted', async () => {
  const s = await openStand();
  const kept: unknown[] = [];
  const { devices } = s.bmdb.access;
  const { add, decide } = devices;
  Object.assign(devices, {
    add: (login: never) => (kept.push(login), add(login)),
    decide: (digest: never, sealed: never) => (kept.push(sealed), decide(digest, sealed)),
  });
  const begun = await begin(s);
  await (await person(s, 'admin')).decide(begun.user_code, 'confirm');
  const { access_token: token } = await poll(s, begun.device_code);
  const seen = kept.flatMap((each) =>
    each instanceof Uint8Array ? [each] : Object.values(each as object),
  );
  const texts = seen.map((each) => Buffer.from(each as Uint8Array).toString('latin1')).join('\n');
  for (const secret of [begun.device_code, begun.user_code.replace('-', ''), String(token)]) {
    expect(texts).not.toContain(secret);
  }
});

test('logs in a command through one console while a person confirms at another, after a restart', async () => {
  const s = await openStand();
  const said: string[] = [];
  let nowMs = 0;
  let waits = 0;
  const waited: number[] = [];
  const token = await loginByBrowser(
    { url: s.url, version: '1' },
    {
      ...{ host: 'laptop', monotonic: () => nowMs, say: (text) => void said.push(text) },
      async sleep(ms) {
        waited.push(ms);
        nowMs += ms;
        waits += 1;
        if (waits !== 3) return;
        s.pass(60_000);
        // Another console with the same database: nothing from the first one's memory is there.
        const accounts = { repository: s.bmdb.access, random: systemRandom, events: s.bmdb.events };
        const other = await openConsole({ accounts });
        const { token: own } = await s.token('admin');
        const send = (path: string, body: object, headers: object = {}) =>
          asked(`${other.url}api/v1/${path}`, 'POST', {
            headers: { ...OWN_PAGE, 'content-type': 'application/json', ...headers },
            body: JSON.stringify(body),
          });
        const entered = await send('login', { token: own });
        const cookie = bare([entered.headers['set-cookie'] ?? []].flat()[0]!);
        const code = /code ([A-Z]{4}-[A-Z]{4})$/.exec(said[0]!)![1]!;
        const { secret } = bodyOf(entered) as { readonly secret: string };
        const headers = { cookie, 'shepherd-secret': secret };
        const answer = await send('device-logins', { code, decision: 'confirm' }, headers);
        expect(answer.status).toBe(200);
      },
    },
  );
  // The second and third poll came too soon by the console's clock, which stood still.
  expect(waited).toEqual([5_000, 5_000, 10_000]);
  expect(said[0]).toContain(`open ${s.url}device in a browser`);
  expect(await whoami(s, token)).toMatchObject({ role: 'admin' });
});

test('returns a browser to /device after the login, and to no address chosen by the caller', async () => {
  const tokens = [{ name: 'ci', role: 'viewer', providers: null, read: () => 'x' }] as const;
  const s = await openStand({ tokens });
  const visit = (path: string) => s.ask(path, { headers: { accept: 'text/html' } });
  const location = async (path: string) => (await visit(path)).headers['location'];
  expect(await location('device?to=https://evil.example')).toBe('/login?to=device');
  expect(await location('settings')).toBe('/login');
  const script = (await visit('login.js')).body;
  expect(script).toContain("location.replace(isForCommand ? '/device' : '/')");
});

test('goes on waiting while a daemon or its gateway restarts', async () => {
  const answers = [
    [200, { device_code: 'd', user_code: 'BBBB-BBBB', expires_in: 600, interval: 5 }],
    [502, '<html>Bad Gateway</html>'],
    null,
    [200, { access_token: 'shp_x' }],
  ] as const;
  let asks = 0;
  const server = createServer((request, response) => {
    const answer = answers[asks++];
    if (!answer) return void request.socket.destroy();
    const [status, body] = answer;
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const waited: number[] = [];
  const sleep = async (ms: number) => void waited.push(ms);
  const means = { host: 'laptop', monotonic: () => 0, say: () => undefined, sleep };
  const options = { url: `http://127.0.0.1:${port}/`, version: '1' };
  expect(await loginByBrowser(options, means)).toBe('shp_x');
  expect(waited).toEqual([5_000, 10_000, 15_000]);
});
