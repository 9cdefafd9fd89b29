import { expect, test } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { faultsOf, type Fields, FIELDS } from './field-table.ts';
import { codeOf, newKey, type Robot, SERVER, startRobot } from './harness.ts';

const judge = (value: unknown, wrapper: string | null, fields: Fields) => {
  const inside = wrapper === null ? value : (value as Record<string, unknown>)[wrapper];
  expect(faultsOf(inside, fields), JSON.stringify(value)).toEqual([]);
  if (wrapper !== null) expect(Object.keys(value as object)).toEqual([wrapper]);
};

/** Method, path and form, in this order, with what comes: status, wrapper, fields. */
type Line = readonly [string, string, string | undefined, number, string, Fields];
const KEY = newKey('somebody@somewhere');
const ARM = 'os=linux&authorized_key[]=';

const lines = (fingerprint: string): Line[] => [
  ['GET', '/server/321', undefined, 200, 'server', FIELDS.server],
  ['POST', '/server/321', 'server_name=shep-a', 200, 'server', FIELDS.server],
  ['GET', '/reset/321', undefined, 200, 'reset', FIELDS.reset],
  ['POST', '/reset/321', 'type=hw', 200, 'reset', FIELDS.resetDone],
  ['GET', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueInactive],
  ['POST', '/boot/321/rescue', `${ARM}${fingerprint}`, 200, 'rescue', FIELDS.rescueActive],
  ['GET', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueActive],
  ['DELETE', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueInactive],
  ['DELETE', '/boot/321/linux', undefined, 200, 'linux', FIELDS.linuxInactive],
  ['GET', `/key/${fingerprint}`, undefined, 200, 'key', FIELDS.key],
];

test('every reply has the fields that are described, and no others', async () => {
  const robot = await startRobot({ servers: 2 });
  const made = await robot.post('/key', { name: 'ours', data: KEY.line });
  expect(made.status).toBe(201);
  judge(made.body, 'key', FIELDS.key);
  const { fingerprint } = (made.body as { key: { fingerprint: string } }).key;
  for (const [method, path, form, status, wrapper, fields] of lines(fingerprint)) {
    const reply = await robot.ask(method, path, form === undefined ? {} : { form });
    expect(reply.status, `${method} ${path} ${reply.text}`).toBe(status);
    expect(reply.headers.get('content-type')).toContain('application/json');
    judge(reply.body, wrapper, fields);
  }
  const listed = async (path: string) => (await robot.get(path)) as readonly unknown[];
  const servers = await listed('/server');
  expect(servers).toHaveLength(2);
  for (const one of servers) judge(one, 'server', FIELDS.listedServer);
  for (const one of await listed('/reset')) judge(one, 'reset', FIELDS.listedReset);
  for (const one of await listed('/key')) judge(one, 'key', FIELDS.key);
  const { boot } = (await robot.get('/boot/321')) as { boot: Record<string, unknown> };
  expect(Object.keys(boot)).toEqual(['rescue', 'linux', 'vnc', 'windows', 'plesk', 'cpanel']);
  judge(boot['rescue'], null, FIELDS.rescueInactive);
  judge(boot['linux'], null, FIELDS.linuxInactive);
  expect((await robot.ask('DELETE', `/key/${fingerprint}`)).status).toBe(200);
});

/** What is asked, and the status, code and more that come. */
type Refusal = readonly [string, string, string | undefined, number, string, object?];
const UNKNOWN = '00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff';
const missing = (...names: string[]) => ({ missing: names, invalid: null });
const invalid = (...names: string[]) => ({ missing: null, invalid: names });
const REFUSALS: readonly Refusal[] = [
  ['GET', '/server/999', undefined, 404, 'SERVER_NOT_FOUND'],
  ['GET', '/server/127.0.0.1', undefined, 404, 'SERVER_NOT_FOUND'],
  ['POST', '/server/321', '', 400, 'INVALID_INPUT', missing('server_name')],
  ['POST', '/server/999', 'server_name=a', 404, 'SERVER_NOT_FOUND'],
  ['GET', '/reset/999', undefined, 404, 'SERVER_NOT_FOUND'],
  ['GET', '/reset/322', undefined, 404, 'RESET_NOT_AVAILABLE'],
  ['POST', '/reset/322', 'type=hw', 404, 'RESET_NOT_AVAILABLE'],
  ['POST', '/reset/321', '', 400, 'INVALID_INPUT', missing('type')],
  ['POST', '/reset/321', 'type=warm', 400, 'INVALID_INPUT', invalid('type')],
  ['POST', '/reset/321', 'type=power', 400, 'INVALID_INPUT', invalid('type')],
  ['GET', '/boot/999', undefined, 404, 'SERVER_NOT_FOUND'],
  ['GET', '/boot/322', undefined, 404, 'BOOT_NOT_AVAILABLE'],
  ['GET', '/boot/322/rescue', undefined, 404, 'BOOT_NOT_AVAILABLE'],
  ['POST', '/boot/321/rescue', '', 400, 'INVALID_INPUT', missing('os')],
  ['POST', '/boot/321/rescue', 'os=plan9', 400, 'INVALID_INPUT', invalid('os')],
  ['POST', '/boot/321/rescue', ARM + UNKNOWN, 400, 'INVALID_INPUT', invalid('authorized_key')],
  ['GET', '/key', undefined, 404, 'NOT_FOUND'],
  ['GET', `/key/${UNKNOWN}`, undefined, 404, 'NOT_FOUND'],
  ['DELETE', `/key/${UNKNOWN}`, undefined, 404, 'NOT_FOUND'],
  ['POST', '/key', '', 400, 'INVALID_INPUT', missing('name', 'data')],
  ['POST', '/key', 'name=a&data=b', 400, 'INVALID_INPUT', invalid('data')],
  ['GET', '/order/server', undefined, 404, 'NOT_FOUND'],
  ['POST', '/boot/321', '', 405, 'METHOD_NOT_ALLOWED'],
];

test('what is refused: an account without keys, whose second server cannot be reset', async () => {
  const robot = await startRobot({ servers: [{}, { resetTypes: null, hasRescue: false }] });
  for (const [method, path, form, status, code, more = {}] of REFUSALS) {
    const reply = await robot.ask(method, path, form === undefined ? {} : { form });
    expect(codeOf(reply), `${method} ${path} ${form}`).toEqual([status, code]);
    const { error } = reply.body as { error: object };
    expect(error).toMatchObject(more);
    const fields = code === 'INVALID_INPUT' ? FIELDS.invalidInput : FIELDS.error;
    expect(faultsOf(error, fields)).toEqual([]);
  }
});

test('an account without servers has no list of them, and one without keys none of those', async () => {
  const robot = await startRobot({ servers: 0 });
  expect(codeOf(await robot.ask('GET', '/server'))).toEqual([404, 'SERVER_NOT_FOUND']);
  for (const path of ['/reset', '/key']) {
    expect(codeOf(await robot.ask('GET', path))).toEqual([404, 'NOT_FOUND']);
  }
});

test('JSON is no form: no field of it is read', async () => {
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

test('keys are unique by what they are, not by their names, and lose their comments', async () => {
  const robot = await startRobot();
  const data = KEY.line;
  const first = await robot.post('/key', { name: 'ours', data });
  expect((first.body as { key: object }).key).toMatchObject({
    data: data.split(' ').slice(0, 2).join(' '),
    type: 'ED25519',
    size: 256,
  });
  const again = await robot.post('/key', { name: 'theirs', data: `${data} again` });
  expect(again).toMatchObject({ status: 409, body: { error: { code: 'KEY_ALREADY_EXISTS' } } });
  expect((await robot.post('/key', { name: 'ours', data: newKey().line })).status).toBe(201);
});

test('one boot configuration at a time', async () => {
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

test('what is over the limit is refused until an hour has passed, a list and a single one together', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 2 } });
  const look = () => robot.ask('GET', '/server/321');
  expect((await robot.ask('GET', '/server')).status).toBe(200);
  expect((await look()).status).toBe(200);
  const refused = await look();
  expect(codeOf(refused)).toEqual([403, 'RATE_LIMIT_EXCEEDED']);
  const { error } = refused.body as { error: object };
  expect(error).toMatchObject({ max_requests: 2, max_request: 2, interval: 3_600 });
  expect(faultsOf(error, FIELDS.rateLimit)).toEqual([]);
  expect((await robot.post('/server/321', 'server_name=a')).status).toBe(200);
  await robot.fake.advance(60 * MINUTE_MS - 1);
  expect((await look()).status).toBe(403);
  await robot.fake.advance(1);
  expect((await look()).status).toBe(200);
});

test('three wrong logins shut the address out for ten minutes', async () => {
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

test('a wrong login is forgotten after ten minutes, and has no share in the limits', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 1 } });
  for (let n = 0; n < 4; n++) {
    expect((await robot.ask('GET', '/server', { auth: 'wrong' })).status).toBe(401);
    await robot.fake.advance(6 * MINUTE_MS);
  }
  expect((await robot.ask('GET', '/server')).status).toBe(200);
});

test('the journal tells what was asked, and no password or key', async () => {
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
