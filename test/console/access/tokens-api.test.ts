import { expect, test } from 'vitest';
import { bare, openStand, OWN_PAGE, type Stand } from './stand.ts';

const make = async (stand: Stand, token: string, body: object) => {
  const answer = await stand.ask('api/v1/tokens', { method: 'POST', token, body });
  return { status: answer.status, ...(JSON.parse(answer.body) as { id: string; token: string }) };
};
const names = async (stand: Stand, token: string) => {
  const { body } = await stand.ask('api/v1/tokens', { token });
  return (JSON.parse(body) as { tokens: { name: string }[] }).tokens.map(({ name }) => name);
};

test('tokens: an operator makes, sees and revokes their own, not above their role', async () => {
  const stand = await openStand();
  const [viewer, ann, bob] = [
    (await stand.token('viewer')).token,
    (await stand.token('operator', { name: 'ann' })).token,
    (await stand.token('operator', { name: 'bob' })).token,
  ];
  expect((await make(stand, viewer, { name: 'a', role: 'viewer' })).status).toBe(403);
  expect((await make(stand, ann, { name: 'a', role: 'admin' })).status).toBe(403);
  const made = await make(stand, ann, { name: 'a', role: 'operator' });
  expect(made).toMatchObject({ status: 201, token: expect.stringMatching(/^shp_[\w]{10}_/) });
  const shown = await stand.ask('api/v1/whoami', { token: made.token });
  expect(JSON.parse(shown.body)).toMatchObject({ name: 'token:a', role: 'operator' });
  expect([await names(stand, ann), await names(stand, bob)]).toEqual([['a'], []]);
  const revoke = (token: string) =>
    stand.ask(`api/v1/tokens/${made.id}`, { method: 'DELETE', token });
  expect((await revoke(bob)).status).toBe(404);
  expect((await revoke(ann)).status).toBe(204);
  stand.pass(5_000);
  expect((await stand.ask('api/v1/whoami', { token: made.token })).status).toBe(401);
});

test('tokens: an admin has to do with all of them, and they last a year at most', async () => {
  const stand = await openStand();
  const admin = (await stand.token('admin', { name: 'root' })).token;
  const ann = (await stand.token('operator', { name: 'ann' })).token;
  const { id } = await make(stand, ann, { name: 'a', role: 'operator' });
  expect(await names(stand, admin)).toEqual(expect.arrayContaining(['root', 'ann', 'a']));
  const forMs = 366 * 86_400_000;
  expect((await make(stand, admin, { name: 'b', role: 'viewer', forMs })).status).toBe(400);
  const again = await make(stand, admin, { name: 'a', role: 'viewer' });
  expect(again.status).toBe(422);
  const gone = await stand.ask(`api/v1/tokens/${id}`, { method: 'DELETE', token: admin });
  expect(gone.status).toBe(204);
});

test('V28: a grant for some providers can be given on for those only', async () => {
  const stand = await openStand();
  const { token } = await stand.token('operator', { providers: ['rack'] });
  const body = { name: 'a', role: 'viewer' };
  expect((await make(stand, token, body)).status).toBe(403);
  expect((await make(stand, token, { ...body, providers: ['rack', 'other'] })).status).toBe(403);
  expect((await make(stand, token, { ...body, providers: ['rack'] })).status).toBe(201);
});

test('V36: a token is told once, and stands in no list and no log', async () => {
  const logged: unknown[] = [];
  const note = (...said: unknown[]) => void logged.push(said);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const stand = await openStand({ log });
  const { token } = await stand.token('admin');
  const made = await make(stand, token, { name: 'a', role: 'viewer' });
  await stand.logIn({ token });
  const { body } = await stand.ask('api/v1/tokens', { token });
  const said = JSON.stringify(logged) + body;
  expect(said).toContain('a token was made');
  for (const secret of [made.token, token]) expect(said).not.toContain(secret.slice(15));
});

test('E4: gives a token with the name of a configured one none of its tokens, logins and audit', async () => {
  const deploy = 'secret-of-the-configured-one';
  const configured = { name: 'deploy', providers: null, read: () => deploy };
  const stand = await openStand({ tokens: [{ ...configured, role: 'operator' }] });
  const mallory = (await stand.token('operator', { name: 'mallory' })).token;
  const victim = await make(stand, deploy, { name: 'rollout', role: 'operator' });
  const login = bare(await stand.logIn({ token: deploy }));
  const taken = await make(stand, mallory, { name: 'deploy', role: 'operator' });
  expect(taken.status).toBe(201);
  expect([await names(stand, deploy), await names(stand, taken.token)]).toEqual([['rollout'], []]);
  const seen = await stand.ask('api/v1/logins', { token: taken.token });
  const { logins } = JSON.parse((await stand.ask('api/v1/logins', { token: deploy })).body) as {
    logins: { id: string }[];
  };
  expect([JSON.parse(seen.body), logins.length]).toEqual([{ logins: [] }, 1]);
  const attempts = [`tokens/${victim.id}`, `logins/${logins[0]!.id}`].map((path) =>
    stand.ask(`api/v1/${path}`, { method: 'DELETE', token: taken.token }),
  );
  expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([404, 404]);
  const known = async (shown: { token?: string; cookie?: string }) =>
    (JSON.parse((await stand.ask('api/v1/whoami', shown)).body) as { name: string }).name;
  expect([
    await known({ token: deploy }),
    await known({ cookie: login }),
    await known(taken),
  ]).toEqual(['config:deploy', 'config:deploy', 'token:deploy']);
});

const YEAR_MS = 365 * 86_400_000;
const statusOf = async (stand: Stand, shown: { token?: string; cookie?: string }) =>
  (await stand.ask('api/v1/tokens', shown)).status;

test('E3: ends a token with the one that made it, however long it was asked for', async () => {
  const stand = await openStand();
  const maker = await stand.token('admin', { forMs: 60_000 });
  const other = (await stand.token('admin')).token;
  const child = await make(stand, maker.token, { name: 'a', role: 'admin', forMs: YEAR_MS });
  const grandchild = await make(stand, child.token, { name: 'b', role: 'admin', forMs: YEAR_MS });
  const { body } = await stand.ask('api/v1/tokens', { token: other });
  const { tokens } = JSON.parse(body) as {
    tokens: { name: string; createdAtMs: number; expiresAtMs: number }[];
  };
  const made = tokens.filter(({ name }) => name === 'a' || name === 'b');
  const lasting = made.map((each) => each.expiresAtMs - each.createdAtMs <= 60_000);
  expect(lasting).toEqual([true, true]);
  expect([await statusOf(stand, child), await statusOf(stand, grandchild)]).toEqual([200, 200]);
  stand.pass(60_000);
  expect([await statusOf(stand, child), await statusOf(stand, grandchild)]).toEqual([401, 401]);
});

test('refuses what a revoked token had made, and what was logged in by that', async () => {
  const stand = await openStand();
  const maker = await stand.token('admin');
  const other = (await stand.token('admin')).token;
  const child = await make(stand, maker.token, { name: 'a', role: 'admin' });
  const grandchild = await make(stand, child.token, { name: 'b', role: 'admin' });
  const cookie = bare(await stand.logIn({ token: grandchild.token }));
  expect(await statusOf(stand, { cookie })).toBe(200);
  await stand.bmdb.access.tokens.revoke(maker.id, 'oidc:bob');
  stand.pass(5_000);
  expect([await statusOf(stand, child), await statusOf(stand, grandchild)]).toEqual([401, 401]);
  expect(await statusOf(stand, { cookie })).toBe(401);
  const { body } = await stand.ask('api/v1/tokens', { token: other });
  const { tokens } = JSON.parse(body) as { tokens: { name: string; hasEnded: boolean }[] };
  expect(tokens.filter(({ hasEnded }) => hasEnded).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['a', 'b']),
  );
});

test('refuses a token once the login in which it was made has ended', async () => {
  const stand = await openStand();
  const { token } = await stand.token('admin');
  const made = async (name: string) => {
    const cookie = bare(await stand.logIn({ token }));
    const body = { name, role: 'admin', forMs: YEAR_MS };
    const shown = { method: 'POST', cookie, headers: OWN_PAGE };
    const answer = await stand.ask('api/v1/tokens', { ...shown, body });
    return { cookie, ...(JSON.parse(answer.body) as { token: string; expiresAtMs: number }) };
  };
  const [first, second] = [await made('a'), await made('b')];
  expect(first.expiresAtMs).toBeLessThanOrEqual(Date.now() + 86_400_000);
  expect([await statusOf(stand, { token: first.token }), await statusOf(stand, second)]).toEqual([
    ...[200, 200],
  ]);
  const out = { method: 'POST', cookie: first.cookie, headers: OWN_PAGE };
  expect((await stand.ask('api/v1/logout', out)).status).toBe(204);
  stand.pass(5_000);
  expect(await statusOf(stand, { token: first.token })).toBe(401);
  // To use the token is to use the login.
  for (let hours = 0; hours < 18; hours += 6) {
    expect(await statusOf(stand, { token: second.token })).toBe(200);
    stand.pass(6 * 3_600_000);
  }
  expect(await statusOf(stand, { token: second.token })).toBe(200);
  stand.pass(6 * 3_600_000);
  expect(await statusOf(stand, { token: second.token })).toBe(401);
});

test('refuses what came from a configured token once the configuration has another', async () => {
  let secret = 'secret-of-the-configured-one';
  const read = () => secret;
  const stand = await openStand({
    tokens: [{ name: 'deploy', role: 'operator', providers: null, read }],
  });
  const child = await make(stand, secret, { name: 'a', role: 'operator' });
  const grandchild = await make(stand, child.token, { name: 'b', role: 'operator' });
  const cookie = bare(await stand.logIn({ token: secret }));
  const shown = [{ token: child.token }, { token: grandchild.token }, { cookie }];
  const all = () => Promise.all(shown.map((each) => statusOf(stand, each)));
  expect(await all()).toEqual([200, 200, 200]);
  secret = 'another-secret-in-its-place';
  stand.pass(5_000);
  expect(await all()).toEqual([401, 401, 401]);
});

test('refuses a token to the last of sixteen that made each other', async () => {
  const stand = await openStand({
    tokens: [{ name: 'deploy', role: 'operator', providers: null, read: () => 'of-the-first-one' }],
  });
  const statuses: number[] = [];
  let token = 'of-the-first-one';
  for (let at = 0; at < 17; at += 1) {
    const made = await make(stand, token, { name: `t${at}`, role: 'operator' });
    statuses.push(made.status);
    token = made.token;
  }
  expect(statuses).toEqual([...Array.from({ length: 16 }, () => 201), 422]);
});

test('revokes a token for an admin however many were made after it', async () => {
  const stand = await openStand();
  const { token } = await stand.token('admin', { name: 'ann' });
  const old = await stand.token('operator', { name: 'old' });
  stand.pass(1_000);
  for (let at = 0; at < 1_000; at++) await stand.token('viewer', { name: `new-${at}` });
  const revoked = await stand.ask(`api/v1/tokens/${old.id}`, { method: 'DELETE', token });
  expect(revoked.status).toBe(204);
  stand.pass(5_000);
  expect((await stand.ask('api/v1/tokens', { token: old.token })).status).toBe(401);
  const unknown = await stand.ask('api/v1/tokens/none', { method: 'DELETE', token });
  expect(unknown.status).toBe(404);
});
