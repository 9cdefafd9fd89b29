import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRobotEmulator } from '../../../emulators/hetzner-robot/emulator.ts';
import type { RobotEmulator } from '../../../emulators/hetzner-robot/options.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { faultsOf, type Fields, FIELDS } from './field-table.ts';
import { clientOf, newKey, type Robot, SERVER, START_MS, startRobot } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const judge = (value: unknown, wrapper: string | null, fields: Fields) => {
  const inside = wrapper === null ? value : (value as Record<string, unknown>)[wrapper];
  expect(faultsOf(inside, fields), JSON.stringify(value)).toEqual([]);
  if (wrapper !== null) expect(Object.keys(value as object)).toEqual([wrapper]);
};

/** What is asked, in this order, with what comes: status, wrapper, fields. */
type Line = readonly [
  method: string,
  path: string,
  form: string | undefined,
  status: number,
  wrapper: string,
  fields: Fields,
];
const KEY = newKey('somebody@somewhere');

const lines = (fingerprint: string): Line[] => [
  ['GET', '/server/321', undefined, 200, 'server', FIELDS.server],
  ['POST', '/server/321', 'server_name=shep-a', 200, 'server', FIELDS.server],
  ['GET', '/server/321/cancellation', undefined, 200, 'cancellation', FIELDS.cancellation],
  ['GET', '/reset/321', undefined, 200, 'reset', FIELDS.reset],
  ['POST', '/reset/321', 'type=hw', 200, 'reset', FIELDS.resetDone],
  ['GET', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueInactive],
  ['GET', '/boot/321/linux', undefined, 200, 'linux', FIELDS.linuxInactive],
  [
    'POST',
    '/boot/321/rescue',
    `os=linux&authorized_key[]=${fingerprint}&keyboard=de`,
    200,
    'rescue',
    FIELDS.rescueActive,
  ],
  ['GET', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueActive],
  ['GET', '/boot/321/rescue/last', undefined, 200, 'rescue', { ...FIELDS.rescueActive }],
  ['DELETE', '/boot/321/rescue', undefined, 200, 'rescue', FIELDS.rescueInactive],
  ['POST', '/boot/321/linux', 'dist=Debian+12+base&lang=en', 200, 'linux', FIELDS.linuxActive],
  ['GET', '/boot/321/linux/last', undefined, 200, 'linux', FIELDS.linuxActive],
  ['DELETE', '/boot/321/linux', undefined, 200, 'linux', FIELDS.linuxInactive],
  ['GET', `/key/${fingerprint}`, undefined, 200, 'key', FIELDS.key],
  ['POST', `/key/${fingerprint}`, 'name=other', 200, 'key', FIELDS.key],
  ['GET', '/wol/321', undefined, 200, 'wol', FIELDS.wol],
  ['POST', '/wol/321', '', 200, 'wol', FIELDS.wol],
];

test('every reply has the fields that are described, and no others', async () => {
  const robot = await startRobot({ servers: 2 });
  const made = await robot.post('/key', { name: 'ours', data: KEY.line });
  expect(made.status).toBe(201);
  judge(made.body, 'key', FIELDS.key);
  const { fingerprint } = (made.body as { key: { fingerprint: string } }).key;
  for (const [method, path, form, status, wrapper, fields] of lines(fingerprint)) {
    const reply = await robot.ask(method, path, form === undefined ? {} : { form });
    expect([reply.status, reply.text], `${method} ${path}`).toEqual([status, reply.text]);
    expect(reply.headers['content-type']).toContain('application/json');
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
  judge(boot['vnc'], null, FIELDS.vnc);
  const address = robot.machine().address!;
  const dns = await robot.ask('PUT', `/rdns/${address}`, { form: 'ptr=a.example' });
  expect(dns.status).toBe(201);
  judge(dns.body, 'rdns', FIELDS.rdns);
  for (const one of await listed('/rdns')) judge(one, 'rdns', FIELDS.rdns);
  expect((await robot.ask('DELETE', `/rdns/${address}`)).status).toBe(200);
  expect((await robot.ask('DELETE', `/key/${fingerprint}`)).status).toBe(200);
});

type Refusal = readonly [
  method: string,
  path: string,
  form: string | undefined,
  status: number,
  code: string,
  more?: object,
];
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
  ['GET', '/boot/321/rescue/last', undefined, 404, 'NOT_FOUND'],
  ['POST', '/boot/321/rescue', '', 400, 'INVALID_INPUT', missing('os')],
  ['POST', '/boot/321/rescue', 'os=plan9', 400, 'INVALID_INPUT', invalid('os')],
  ['POST', '/boot/321/rescue', 'os=linux&keyboard=xx', 400, 'INVALID_INPUT', invalid('keyboard')],
  [
    'POST',
    '/boot/321/rescue',
    `os=linux&authorized_key[]=${UNKNOWN}`,
    400,
    'INVALID_INPUT',
    invalid('authorized_key'),
  ],
  ['POST', '/boot/321/linux', 'dist=Debian+12+base', 400, 'INVALID_INPUT', missing('lang')],
  ['POST', '/boot/321/linux', 'dist=Debian&lang=en', 400, 'INVALID_INPUT', invalid('dist')],
  ['GET', '/key', undefined, 404, 'NOT_FOUND'],
  ['GET', `/key/${UNKNOWN}`, undefined, 404, 'NOT_FOUND'],
  ['DELETE', `/key/${UNKNOWN}`, undefined, 404, 'NOT_FOUND'],
  ['POST', '/key', '', 400, 'INVALID_INPUT', missing('name', 'data')],
  ['POST', '/key', 'name=a&data=b', 400, 'INVALID_INPUT', invalid('data')],
  ['GET', '/rdns/192.0.2.1', undefined, 404, 'IP_NOT_FOUND'],
  ['GET', '/order/server', undefined, 404, 'NOT_FOUND'],
];

/** An account without keys, whose second server cannot be reset; what is refused changes nothing. */
let fakeBare: RobotEmulator;
let bare: ReturnType<typeof clientOf>;
beforeAll(async () => {
  fakeBare = await startRobotEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(START_MS),
    servers: [{}, { resetTypes: null, hasRescue: false }],
  });
  bare = clientOf(fakeBare);
});
afterAll(() => fakeBare.close());

testRows(REFUSALS)('%s %s with %j is refused with %i %s', async (...line) => {
  const [method, path, form, status, code, more = {}] = line as unknown as Refusal;
  const asked = form === undefined ? {} : { form };
  const reply = await bare.ask(method, path, asked);
  expect(reply.status).toBe(status);
  const { error } = reply.body as { error: object };
  expect(error).toMatchObject({ status, code, ...more });
  const fields = code === 'INVALID_INPUT' ? FIELDS.invalidInput : FIELDS.error;
  expect(faultsOf(error, fields)).toEqual([]);
});

test('an account without servers has no list of them, and one without keys none of those', async () => {
  const robot = await startRobot({ servers: 0 });
  for (const [path, code] of [
    ['/server', 'SERVER_NOT_FOUND'],
    ['/reset', 'NOT_FOUND'],
    ['/key', 'NOT_FOUND'],
  ] as const) {
    const reply = await robot.ask('GET', path);
    expect([reply.status, reply.body]).toMatchObject([404, { error: { code } }]);
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
  expect((await robot.post('/boot/321/rescue', 'os=linux')).status).toBe(200);
  for (const [path, form] of [
    ['/boot/321/rescue', 'os=linux'],
    ['/boot/321/linux', 'dist=Debian+12+base&lang=en'],
  ] as const) {
    const reply = await robot.post(path, form);
    expect(reply).toMatchObject({ status: 409, body: { error: { code: 'BOOT_ALREADY_ENABLED' } } });
  }
  await robot.ask('DELETE', '/boot/321/linux');
  expect(robot.machine().isArmed).toBe(true);
  await robot.ask('DELETE', '/boot/321/rescue');
  expect(robot.machine().isArmed).toBe(false);
});
