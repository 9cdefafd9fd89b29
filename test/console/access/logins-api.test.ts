import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestOf } from '../../../src/console/access/secrets.ts';
import { readStream } from '../api/stream-reader.ts';
import { bare, openStand, OWN_PAGE, type Stand } from './stand.ts';

interface Login {
  readonly id: string;
  readonly name: string;
  readonly isThis: boolean;
}
const logins = async (stand: Stand, shown: { token?: string; cookie?: string }) => {
  const { status, body } = await stand.ask('api/v1/logins', shown);
  expect(status).toBe(200);
  return (JSON.parse(body) as { logins: Login[] }).logins;
};
const end = (stand: Stand, id: string, shown: { token?: string; cookie?: string }) =>
  stand
    .ask(`api/v1/logins/${id}`, { method: 'DELETE', headers: OWN_PAGE, ...shown })
    .then(({ status }) => status);
const enter = async (stand: Stand, ...[role, change]: Parameters<Stand['token']>) =>
  bare(await stand.logIn({ token: (await stand.token(role, change)).token }));

test('everybody sees and ends their own sessions, and those of nobody else', async () => {
  const stand = await openStand();
  const ann = { cookie: await enter(stand, 'viewer', { name: 'ann' }) };
  const bob = { cookie: await enter(stand, 'operator', { name: 'bob' }) };
  const [own, ...others] = await logins(stand, ann);
  expect([own, others]).toMatchObject([
    { name: 'token:ann', role: 'viewer', proven: true, providers: null, isThis: true },
    [],
  ]);
  expect(await logins(stand, {})).toEqual([]);
  expect(await end(stand, own!.id, bob)).toBe(404);
  expect(await end(stand, own!.id, {})).toBe(404);
  expect(await end(stand, own!.id, ann)).toBe(204);
  stand.pass(5_000);
  const after = await stand.ask('api/v1/whoami', ann);
  expect(JSON.parse(after.body)).toMatchObject({ name: 'anonymous' });
});

test('an admin has to do with all sessions, unless their grant is for some providers', async () => {
  const stand = await openStand();
  await enter(stand, 'viewer', { name: 'ann' });
  const some = await stand.token('admin', { providers: ['rack'] });
  const all = await stand.token('admin');
  const [login] = await logins(stand, all);
  expect(login).toMatchObject({ name: 'token:ann', isThis: false });
  expect(await logins(stand, some)).toEqual([]);
  expect(await end(stand, login!.id, some)).toBe(404);
  expect(await end(stand, login!.id, all)).toBe(204);
  expect(await logins(stand, all)).toEqual([]);
});

test('an admin ends a session beyond the thousand that are listed', async () => {
  const stand = await openStand();
  const all = await stand.token('admin');
  await enter(stand, 'viewer', { name: 'ann' });
  const [login] = await logins(stand, all);
  stand.pass(1_000);
  const { sessions } = stand.bmdb.access;
  for (let at = 0; at < 1_000; at++) {
    const made = {
      name: 'token:ci',
      identity: 'token:ci',
      role: 'viewer',
      providers: null,
    } as const;
    const keys = { id: randomUUID(), digest: digestOf(`${at}`), tokenId: null, renewal: null };
    await sessions.open({ ...made, ...keys, proven: true });
  }
  expect(await end(stand, login!.id, all)).toBe(204);
  expect(await end(stand, login!.id, all)).toBe(404);
});

test('V29: a stream of whom nobody knows any more says why, and ends', async () => {
  const stand = await openStand();
  const { token, id } = await stand.token('admin');
  // Of another token: a login ends with the one that it came by.
  const other = { token: (await stand.token('admin')).token };
  const cookies = [bare(await stand.logIn(other)), bare(await stand.logIn(other))] as const;
  const shown = [{ authorization: `Bearer ${token}` }, ...cookies.map((cookie) => ({ cookie }))];
  const streams = await Promise.all(
    shown.map((headers) => readStream(`${stand.url}api/v1/stream?view=fleet`, undefined, headers)),
  );
  const ended = (await logins(stand, { cookie: cookies[0] })).find(({ isThis }) => !isThis);
  await stand.bmdb.access.tokens.revoke(id, 'oidc:bob');
  expect(await end(stand, ended!.id, { cookie: cookies[0] })).toBe(204);
  const out = { cookie: cookies[0], method: 'POST', headers: OWN_PAGE };
  expect((await stand.ask('api/v1/logout', out)).status).toBe(204);
  stand.pass(5_000);
  await Promise.all(streams.map((stream) => stream.ended));
  const said = streams.map(({ ofType }) => ofType('bye').map(({ data }) => data['reason']));
  expect(said).toEqual([['revoked'], ['signed-out'], ['signed-out']]);
});
