import { expect, test } from 'vitest';
import { messagesOf, ROOT, SESSIONS, startFish } from './harness.ts';
import { testRows } from '../../support/rows.ts';

test('the root is open, everything else asks who it is', async () => {
  const { fake, ask } = await startFish();
  const root = await ask('GET', `${ROOT}/`, { auth: 'none' });
  expect(root.body).toMatchObject({
    '@odata.id': '/redfish/v1/',
    Links: { Sessions: { '@odata.id': SESSIONS } },
  });
  expect(root.certSha256).toBe(fake.bmcs()[0]!.certSha256);
  expect((await ask('GET', '/redfish', { auth: 'none' })).body).toEqual({ v1: '/redfish/v1/' });
  for (const auth of ['none', 'wrong', { token: 'made-up' }] as const) {
    const refused = await ask('GET', `${ROOT}/Systems`, { auth });
    expect([auth, refused.status]).toEqual([auth, 401]);
  }
  const unknown = await ask('GET', `${ROOT}/Nowhere`, { auth: 'none' });
  expect([unknown.status, messagesOf(unknown)]).toEqual([401, ['NoValidSession']]);
});

test('every link leads somewhere', async () => {
  const { ask } = await startFish({ systems: 2, bmcs: 1 });
  const seen = new Set<string>();
  const linksIn = (value: unknown): string[] => {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) =>
      name === '@odata.id' ? [String(inner)] : linksIn(inner),
    );
  };
  const open = [`${ROOT}/`];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const { status, body, headers } = await ask('GET', next);
    expect([next, status, body['@odata.id'], headers['odata-version']]).toEqual([
      next,
      200,
      next,
      '4.0',
    ]);
    open.push(...linksIn(body));
  }
  expect(seen.size).toBe(22);
});

test('a session is made, shown, used and ended', async () => {
  const { fake, ask, login } = await startFish();
  const made = await login();
  expect(made.status).toBe(201);
  const { location = '', 'x-auth-token': token } = made.headers;
  const auth = { token: String(token) };
  expect((await ask('GET', location, { auth })).body).toMatchObject({ UserName: 'admin' });
  expect((await ask('GET', SESSIONS, { auth })).body).toMatchObject({ 'Members@odata.count': 1 });
  expect((await ask('DELETE', location, { auth })).status).toBe(204);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(401);
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
  expect(JSON.stringify(fake.requests())).not.toContain(fake.credentials.password);
  expect(fake.requests().map((entry) => entry.auth)).toEqual([
    'none',
    ...Array.from({ length: 4 }, () => 'session'),
  ]);
});

test('a session ends when nobody uses it, and a use keeps it', async () => {
  const { fake, ask, login } = await startFish();
  await ask('PATCH', `${ROOT}/SessionService`, { body: { SessionTimeout: 60 } });
  const auth = { token: String((await login()).headers['x-auth-token']) };
  await fake.advance(59_000);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(200);
  await fake.advance(59_000);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(200);
  await fake.advance(60_000);
  expect((await ask('GET', SESSIONS, { auth })).status).toBe(401);
});

testRows([
  ['generic', 'SessionLimitExceeded'],
  ['idrac9', 'RAC0218'],
] as const)('%s has room for so many sessions, and then says %s', async (profile, message) => {
  const { fake, login } = await startFish({ profile });
  for (let n = 0; n < 16; n++) expect((await login()).status).toBe(201);
  const refused = await login();
  expect([refused.status, messagesOf(refused)]).toEqual([503, [message]]);
  await fake.advance(600_000);
  expect((await login()).status).toBe(201);
});

testRows([
  ['nothing', undefined, 'MalformedJSON'],
  ['no JSON', '{', 'MalformedJSON'],
  ['a list', [], 'UnrecognizedRequestBody'],
  ['no password', { UserName: 'admin' }, 'PropertyMissing'],
  ['a number', { UserName: 'admin', Password: 1 }, 'PropertyValueTypeError'],
  ['something more', { UserName: 'a', Password: 'b', Role: 'x' }, 'PropertyUnknown'],
])('a login with %s is refused', async (_what, body, message) => {
  const { login } = await startFish();
  const refused = await login({ body });
  expect([refused.status, messagesOf(refused)]).toEqual([400, [message]]);
});

testRows([
  ['an unknown property', { Colour: 'red' }, 'PropertyUnknown'],
  ['a read-only property', { SerialNumber: 'X' }, 'PropertyNotWritable'],
  ['a wrong type', { AssetTag: 7 }, 'PropertyValueTypeError'],
  ['null where there must be a text', { AssetTag: null }, 'PropertyValueTypeError'],
  ['an unknown property inside', { Boot: { Order: 1 } }, 'PropertyUnknown'],
  [
    'a value that is not allowed',
    { Boot: { BootSourceOverrideTarget: 'Floppy' } },
    'PropertyValueNotInList',
  ],
  ['nothing', {}, 'EmptyJSON'],
])('a change of a system with %s is refused, and nothing is changed', async (_what, body, name) => {
  const { ask, path, system } = await startFish();
  const before = await system();
  const refused = await ask('PATCH', path, { body: { ...body } });
  expect([refused.status, messagesOf(refused)]).toEqual([400, [name]]);
  expect(refused.body).toMatchObject({
    error: { code: expect.stringMatching(/^Base\.\d/), message: expect.stringMatching(/./) },
  });
  expect(await system()).toEqual(before);
});

testRows([
  ['without a type', {}, 'ActionParameterMissing'],
  ['with a made-up type', { ResetType: 'Kick' }, 'ActionParameterValueNotInList'],
  ['with a number', { ResetType: 1 }, 'ActionParameterValueTypeError'],
  ['with a type that it has not', { ResetType: 'FullPowerCycle' }, 'ActionParameterNotSupported'],
  ['with something more', { ResetType: 'On', Force: true }, 'ActionParameterUnknown'],
])('a reset %s is refused', async (_what, body, name) => {
  const { ask, path, fake } = await startFish();
  const refused = await ask('POST', `${path}/Actions/ComputerSystem.Reset`, { body });
  expect([refused.status, messagesOf(refused)]).toEqual([400, [name]]);
  expect(fake.bmcs()[0]!.systems[0]!.power).toBe('Off');
});

test('a change with the ETag of what was seen is made, with that of something older refused', async () => {
  const { ask, path, system } = await startFish();
  const { etag = '' } = (await ask('GET', path)).headers;
  expect(etag).toMatch(/^"\w+"$/);
  const change = (tag: string, wanted: string) =>
    ask('PATCH', path, { body: { AssetTag: tag }, headers: { 'if-match': wanted } });
  expect((await change('one', etag)).status).toBe(200);
  const late = await change('two', etag);
  expect([late.status, messagesOf(late)]).toEqual([412, ['PreconditionFailed']]);
  expect((await system())['AssetTag']).toBe('one');
  expect((await change('three', '*')).status).toBe(200);
  expect((await ask('PATCH', path, { body: { AssetTag: 'four' } })).status).toBe(200);
});

test('the form of a request is looked at', async () => {
  const { ask, path } = await startFish();
  const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).status;
  expect(await status('DELETE', path)).toBe(405);
  expect((await ask('GET', path)).headers['allow']).toBe('GET, HEAD, PATCH');
  expect((await ask('DELETE', path)).headers['allow']).toBe('GET, HEAD, PATCH');
  expect(await status('GET', `${path}?$expand=.`)).toBe(501);
  expect(await status('GET', path, { headers: { 'odata-version': '3.0' } })).toBe(412);
  const asText = { body: 'x', headers: { 'content-type': 'text/plain' } };
  expect(await status('PATCH', path, asText)).toBe(415);
  expect(await status('GET', `${ROOT}/Systems/2`)).toBe(404);
  expect(await status('GET', `${path}/`)).toBe(200);
});
