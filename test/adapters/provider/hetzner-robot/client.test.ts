import { expect, test } from 'vitest';
import {
  failureOf,
  how,
  OK,
  PASSWORD,
  type PeerAnswer,
  refusal,
  SERVER,
  useClientStand,
} from './client-stand.ts';

const stand = useClientStand();

test('vector 3: an account without servers is an empty listing', async () => {
  stand.peer.answers = () => refusal(404, 'SERVER_NOT_FOUND');
  expect(await stand.open().listServers(how)).toEqual({ servers: [], unreadable: [], nameless: 0 });
});

test('vector 5: after one 401 nothing is asked for ten minutes, or until the password changes', async () => {
  const client = stand.open();
  stand.peer.answers = () => refusal(401, 'UNAUTHORIZED');
  for (let n = 0; n < 11; n++) {
    expect(await failureOf(client.listServers(how))).toMatchObject({ kind: 'auth' });
    stand.clock.increment(50_000);
  }
  expect(stand.peer.seen).toHaveLength(1);
  expect(stand.log.lines.filter(({ fields }) => fields['alarm'] === 'login-refused')).toHaveLength(
    1,
  );
  stand.password = 'another-password';
  stand.peer.answers = () => OK;
  await client.listServers(how);
  expect(stand.peer.seen).toHaveLength(2);
});

test('several calls at once with a wrong password are one failed login', async () => {
  const client = stand.open();
  stand.peer.answers = () => refusal(401, 'UNAUTHORIZED');
  const tasks = [321, 322, 323, 324].map((server) => failureOf(client.getServer(server, how)));
  for (const error of await Promise.all(tasks)) expect(error).toMatchObject({ kind: 'auth' });
  expect(stand.peer.seen).toHaveLength(1);
});

test('a password that is revoked costs no more failed logins than Robot forgives', async () => {
  const client = stand.open();
  await client.listServers(how);
  stand.peer.answers = () => refusal(401, 'UNAUTHORIZED');
  const ask = () =>
    Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => failureOf(client.getServer(320 + n, how))));
  for (const error of await ask()) expect(error).toMatchObject({ kind: 'auth' });
  const failed = stand.peer.seen.length - 1;
  expect(failed).toBeLessThan(3);
  // When the silence is over one asks, and the others wait for what it is told.
  stand.clock.increment(600_001);
  await ask();
  expect(stand.peer.seen).toHaveLength(1 + failed + 1);
});

test('vector 6: a rate limit holds up its own path, and no other', async () => {
  const client = stand.open();
  stand.peer.answers = ({ line }) =>
    line.startsWith('GET /server')
      ? refusal(403, 'RATE_LIMIT_EXCEEDED', { max_requests: 200, interval: 3600 })
      : { status: 200, body: { reset: { type: 'hw' } } };
  const error = await failureOf(client.listServers(how));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(stand.inMs(error)).toBe(60_000);
  expect(await failureOf(client.listServers(how))).toMatchObject({ kind: 'transient' });
  await client.reset(321, 'hw', how);
  expect(stand.peer.lines()).toEqual(['GET /server', 'POST /reset/321']);
  stand.clock.increment(61_000);
  const again = await failureOf(client.listServers(how));
  expect([stand.inMs(again), stand.peer.seen.length]).toEqual([120_000, 3]);
});

const MINUTE_MS = 60_000;
test.each<[string, PeerAnswer, string, string, number | null]>([
  ['a server that is not there', refusal(404, 'SERVER_NOT_FOUND'), 'not-found', 'not-done', null],
  ['no reset', refusal(404, 'RESET_NOT_AVAILABLE'), 'not-implemented', 'not-done', null],
  ['no boot', refusal(404, 'BOOT_NOT_AVAILABLE'), 'not-implemented', 'not-done', null],
  ['a name', refusal(400, 'INVALID_INPUT', { invalid: ['name'] }), 'invalid', 'not-done', null],
  [
    'a type',
    refusal(400, 'INVALID_INPUT', { invalid: ['type'] }),
    ...(['not-implemented', 'not-done', null] as const),
  ],
  ['what is enabled', refusal(409, 'BOOT_ALREADY_ENABLED'), 'conflict', 'not-done', null],
  ['what is blocked', refusal(500, 'BOOT_BLOCKED'), 'conflict', 'not-done', null],
  ['an unknown conflict', refusal(409, 'SOMETHING_ELSE'), 'conflict', 'not-done', null],
  ['an internal error', refusal(500, 'INTERNAL_ERROR'), 'transient', 'unknown', null],
  ['a failed boot', refusal(500, 'BOOT_ACTIVATION_FAILED'), 'transient', 'unknown', null],
  ['vector 12: RESET_FAILED', refusal(500, 'RESET_FAILED'), 'transient', 'unknown', null],
  [
    'vector 13: a technician is at it',
    refusal(409, 'RESET_MANUAL_ACTIVE'),
    ...(['transient', 'not-done', 30 * MINUTE_MS] as const),
  ],
  ['vector 7: a bare 403 is a limit', { status: 403 }, 'transient', 'not-done', MINUTE_MS],
  ['another 403', refusal(403, 'FORBIDDEN'), 'auth', 'not-done', null],
])('%s is told as that, after one request', async (_, answer, kind, outcome, inMs) => {
  stand.peer.answers = () => answer;
  const error = await failureOf(stand.open().reset(321, 'sw', how));
  expect(error).toMatchObject({ kind, outcome });
  expect(stand.inMs(error)).toBe(inMs);
  expect(stand.peer.seen).toHaveLength(1);
});

test('vector 8: maintenance is over in five minutes, unless it says when', async () => {
  const inMs = async () => stand.inMs(await failureOf(stand.open().listServers(how)));
  stand.peer.answers = () => ({ status: 503 });
  expect(await inMs()).toBe(5 * MINUTE_MS);
  stand.peer.answers = () => ({ status: 503, headers: { 'Retry-After': '90' } });
  expect(await inMs()).toBe(90_000);
});

test('a 404 that is not the API’s own says nothing of the server', async () => {
  stand.peer.answers = () => ({
    status: 404,
    body: '<html>',
    headers: { 'Content-Type': 'text/html' },
  });
  expect(await failureOf(stand.open().getServer(321, how))).toMatchObject({ kind: 'transient' });
});

test('a success that is not JSON: permanent, and unknown after a change', async () => {
  stand.peer.answers = () => ({ status: 200, body: '<html>' });
  const read = await failureOf(stand.open().getServer(321, how));
  expect(read).toMatchObject({ kind: 'permanent', outcome: 'not-done' });
  const changed = await failureOf(stand.open().rename(321, 'x', how));
  expect(changed).toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

test('vector 29: one key or two, as PHP reads lists', async () => {
  stand.peer.answers = () => ({ status: 200, body: { rescue: { active: true, os: 'linux' } } });
  const client = stand.open();
  await client.armRescue(321, ['aa:bb'], how);
  await client.armRescue(321, ['aa:bb', 'cc:dd'], how);
  expect(stand.peer.seen.map(({ body }) => decodeURIComponent(body))).toEqual([
    'os=linux&authorized_key[]=aa:bb',
    'os=linux&authorized_key[0]=aa:bb&authorized_key[1]=cc:dd',
  ]);
});

test('vector 31: boot objects are read in both forms', async () => {
  const md5 = Array.from({ length: 16 }, () => 'ab').join(':');
  const forms = [
    { active: true, os: 'linux', authorized_key: [{ key: { fingerprint: md5 } }], host_key: [md5] },
    { active: false, os: ['linux', 'vkvm'], authorized_key: [], host_key: [] },
    { active: true, os: 'linux', authorized_key: null, host_key: [{ key: { fingerprint: md5 } }] },
  ];
  const client = stand.open();
  const read: unknown[] = [];
  for (const rescue of forms) {
    stand.peer.answers = () => ({
      status: 200,
      body: { rescue: { ...rescue, password: PASSWORD } },
    });
    read.push(await client.rescue(321, how));
  }
  expect(read).toEqual([
    { isArmed: true, systems: ['linux'], keys: [md5], hostKeys: [md5] },
    { isArmed: false, systems: ['linux', 'vkvm'], keys: [], hostKeys: [] },
    { isArmed: true, systems: ['linux'], keys: [], hostKeys: [md5] },
  ]);
});

test('what a server boots next is read past what nobody knows, and no password with it', async () => {
  const boots = [
    { rescue: { active: true, os: 'linux' }, linux: { active: false, dist: ['Debian'] } },
    { rescue: null, linux: { active: true, password: PASSWORD }, windows: { active: true } },
    { linux: 'odd', vnc: null, cpanel: [] },
  ];
  const client = stand.open();
  const read: unknown[] = [];
  for (const boot of boots) {
    stand.peer.answers = () => ({ status: 200, body: { boot } });
    read.push(await client.bootState(321, how));
  }
  expect(read).toEqual([
    { isRescueArmed: true, others: [] },
    { isRescueArmed: false, others: ['linux', 'windows'] },
    { isRescueArmed: false, others: [] },
  ]);
  expect(stand.peer.lines()).toEqual(boots.map(() => 'GET /boot/321'));
});

test('vector 32: whatever fails, no password is in any log or error', async () => {
  const answers: PeerAnswer[] = [
    { status: 200, body: { rescue: { active: 'x', password: PASSWORD } } },
    { status: 200, body: `{"password":"${PASSWORD}"` },
    { status: 500, body: PASSWORD },
    refusal(400, 'INVALID_INPUT', { message: `password ${PASSWORD}` }),
    refusal(403, PASSWORD),
    refusal(401, 'UNAUTHORIZED', { message: PASSWORD }),
  ];
  const errors: unknown[] = [];
  for (const answer of answers) {
    const client = stand.open();
    stand.peer.answers = () => answer;
    const ask = [client.rescue(321, how), client.armRescue(321, ['aa'], how)];
    errors.push(...(await Promise.all(ask.map(failureOf))));
  }
  const told: string[] = errors.map(deepText);
  expect(told).toHaveLength(12);
  expect(JSON.stringify([told, stand.log.lines])).not.toContain(PASSWORD);
  const basic = Buffer.from(`#ws+test:${PASSWORD}`).toString('base64');
  expect(JSON.stringify([told, stand.log.lines])).not.toContain(basic);
  expect(stand.peer.seen[0]?.authorization).toBe(`Basic ${basic}`);
});

function deepText(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    parts.push(at.message, at.stack ?? '', JSON.stringify(at));
  }
  return parts.join('\n');
}

test('a listing tells what it cannot read by its number', async () => {
  stand.peer.answers = () => ({
    status: 200,
    body: [
      { server: { ...SERVER, server_ip: null, server_ipv6_net: '2a01:4f8:111:4221::', ip: null } },
      { server: { server_number: 322, server_name: 7 } },
      { nonsense: true },
    ],
  });
  const list = await stand.open().listServers(how);
  expect(list).toMatchObject({ servers: [{ number: 321 }], unreadable: [322], nameless: 1 });
});

test('an answer about another server is none', async () => {
  stand.peer.answers = () => ({ status: 200, body: { server: { ...SERVER, server_number: 999 } } });
  expect(await failureOf(stand.open().getServer(321, how))).toMatchObject({ kind: 'permanent' });
});
