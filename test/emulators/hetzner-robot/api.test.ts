import { expect, test } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { codeOf, newKey, type Robot, SERVER, startRobot } from './harness.ts';

/** An account without keys, whose second server cannot be reset; then one with a key. */
const UNKNOWN = '00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff';
const ARM = 'os=linux&authorized_key[]=';
const REFUSED: readonly string[] = [
  ...[
    'GET /server/999',
    'GET /server/127.0.0.1',
    'POST /server/321 ',
    'POST /server/999 server_name=a',
  ],
  ...['GET /reset/999', 'GET /reset/322', 'POST /reset/322 type=hw', 'POST /reset/321 '],
  ...['POST /reset/321 type=warm', 'POST /reset/321 type=power', 'GET /boot/999', 'GET /boot/322'],
  ...['GET /boot/322/rescue', 'POST /boot/321/rescue ', 'POST /boot/321/rescue os=plan9'],
  ...[`POST /boot/321/rescue ${ARM}${UNKNOWN}`, 'GET /key', `GET /key/${UNKNOWN}`],
  ...[`DELETE /key/${UNKNOWN}`, 'POST /key ', 'POST /key name=a&data=b', 'GET /order/server'],
  'POST /boot/321 ',
];
const KEY = newKey('somebody@somewhere');
const answered = (fingerprint: string): readonly string[] => [
  ...['GET /server', 'GET /reset', 'GET /key', 'GET /boot/321', 'GET /server/321'],
  ...['POST /server/321 server_name=shep-a', 'GET /reset/321', 'POST /reset/321 type=hw'],
  ...['GET /boot/321/rescue', `POST /boot/321/rescue ${ARM}${fingerprint}`, 'GET /boot/321/rescue'],
  ...['DELETE /boot/321/rescue', 'DELETE /boot/321/linux', `GET /key/${fingerprint}`],
  `DELETE /key/${fingerprint}`,
];

test('answers as the vendor describes its web service, field by field', async () => {
  const robot = await startRobot({ servers: [{}, { resetTypes: null, hasRescue: false }] });
  const told: string[] = [];
  async function tell(line: string): Promise<void> {
    const [, method = '', path = '', , form] = /^(\S+) (\S+)( (.*))?$/.exec(line)!;
    const reply = await robot.ask(method, path, form === undefined ? {} : { form });
    const type = reply.headers.get('content-type') ?? 'no type';
    told.push(`${line}\n${reply.status} ${type} ${JSON.stringify(reply.body, null, 1)}\n`);
  }
  for (const line of REFUSED) await tell(line);
  const made = await robot.post('/key', { name: 'ours', data: KEY.line });
  const { fingerprint } = (made.body as { key: { fingerprint: string } }).key;
  for (const line of answered(fingerprint)) await tell(line);
  const shown = told
    .join('\n')
    .replaceAll(fingerprint, 'FINGERPRINT')
    .replaceAll(/("data": "ssh-ed25519 )[^"]+/g, '$1BLOB')
    .replaceAll(/("password": ")[^"]+/g, '$1PASSWORD')
    .replaceAll(/\b127\.(?!0\.0\.1\b)[\d.]+/g, 'ADDRESS');
  await expect(shown).toMatchFileSnapshot('golden/answers.txt');
});

test('reads no field from JSON, which is not a form', async () => {
  const robot = await startRobot();
  const headers = { 'content-type': 'application/json' };
  const reply = await robot.ask('POST', '/reset/321', { form: 'type=hw', headers });
  expect(reply.body).toMatchObject({ error: { missing: ['type'] } });
  expect(robot.machine().resets).toEqual([]);
});

const FORMS = [
  ['authorized_key[]=A', ['A']],
  ['authorized_key[0]=A&authorized_key[1]=B', ['A', 'B']],
  ['authorized_key=A', ['A']],
  ['authorized_key=A&authorized_key=B', ['B']],
  ['authorized_key[]=A&authorized_key[]=B', ['B']],
] as const;

async function armedKeys(robot: Robot, form: string): Promise<string[]> {
  const names = new Map<string, string>();
  let filled = form;
  for (const name of ['A', 'B']) {
    const fingerprint = await robot.addKey(newKey(), name);
    names.set(fingerprint, name);
    filled = filled.replaceAll(`=${name}`, `=${fingerprint}`);
  }
  const reply = await robot.post(`/boot/${SERVER}/rescue`, `os=linux&${filled}`);
  const { rescue } = reply.body as {
    rescue: { authorized_key: { key: { fingerprint: string } }[] };
  };
  return rescue.authorized_key.map(({ key }) => names.get(key.fingerprint)!);
}

testRows(FORMS)('vector 29: %s arms %j', async (form, keys) => {
  expect(await armedKeys(await startRobot(), form)).toEqual(keys);
});

test('allows one boot configuration at a time', async () => {
  const robot = await startRobot();
  const arm = () => robot.post('/boot/321/rescue', 'os=linux');
  expect((await arm()).status).toBe(200);
  expect(codeOf(await arm())).toEqual([409, 'BOOT_ALREADY_ENABLED']);
  await robot.ask('DELETE', '/boot/321/linux');
  expect(robot.machine().isArmed).toBe(true);
  await robot.ask('DELETE', '/boot/321/rescue');
  expect(robot.machine().isArmed).toBe(false);
});

const MINUTE_MS = 60_000;

test('refuses requests over the limit for an hour, counting lists and single reads together', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 2 } });
  const look = () => robot.ask('GET', '/server/321');
  expect((await robot.ask('GET', '/server')).status).toBe(200);
  expect((await look()).status).toBe(200);
  const refused = await look();
  expect(codeOf(refused)).toEqual([403, 'RATE_LIMIT_EXCEEDED']);
  const { error } = refused.body as { error: object };
  expect(error).toMatchObject({ max_requests: 2, max_request: 2, interval: 3_600 });
  expect((await robot.post('/server/321', 'server_name=a')).status).toBe(200);
  await robot.fake.advance(60 * MINUTE_MS - 1);
  expect((await look()).status).toBe(403);
  await robot.fake.advance(1);
  expect((await look()).status).toBe(200);
});

test('blocks an address for ten minutes after three wrong logins', async () => {
  const robot = await startRobot();
  for (const auth of ['wrong', 'none', 'wrong'] as const) {
    expect((await robot.ask('GET', '/server')).status).toBe(200);
    expect(codeOf(await robot.ask('GET', '/server', { auth }))).toEqual([401, 'UNAUTHORIZED']);
  }
  const isShutOut = () => robot.ask('GET', '/server').then(() => false, isCut);
  expect(await isShutOut()).toBe(true);
  await robot.fake.advance(10 * MINUTE_MS - 1);
  expect(await isShutOut()).toBe(true);
  await robot.fake.advance(1);
  expect(await isShutOut()).toBe(false);
});

const isCut = (error: unknown) => String((error as Error).cause).includes('other side closed');

test('forgets a wrong login after ten minutes, and does not count it against the limits', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 1 } });
  for (let n = 0; n < 4; n++) {
    expect((await robot.ask('GET', '/server', { auth: 'wrong' })).status).toBe(401);
    await robot.fake.advance(6 * MINUTE_MS);
  }
  expect((await robot.ask('GET', '/server')).status).toBe(200);
});

test('records requests in the journal, without passwords and keys', async () => {
  const robot = await startRobot();
  await robot.rescue();
  const told = robot.fake.requests();
  expect(told.map(({ method, route, status }) => [method, route, status])).toEqual([
    ['POST', '/key', 201],
    ['POST', '/boot/{n}/rescue', 200],
    ['POST', '/reset/{n}', 200],
  ]);
  expect(JSON.stringify(told)).not.toContain(robot.fake.credentials.password);
  expect(JSON.stringify(told)).not.toContain('AAAAC3');
});
