import { expect, test } from 'vitest';
import type { RobotFaultRule } from '../../../../emulators/hetzner-robot/api.ts';
import { testRows } from '../../../support/rows.ts';
import { at, failureOf, refusal, startStand } from './stand.ts';

const how = { signal: new AbortController().signal };
const UNAUTHORIZED = refusal(401, 'UNAUTHORIZED');
type FaultEffect = RobotFaultRule['effect'];
const says = (body: unknown, code = 200) => ({ type: 'status' as const, code, body });

/**
 * A client whose requests get the test's answers, for replies that an honest account never gives.
 */
async function startClient(effect?: FaultEffect) {
  const stand = await startStand();
  const answer = (next: FaultEffect) => void stand.fake.addFault({ id: 'answer', effect: next });
  if (effect) answer(effect);
  return { ...stand, answer, open: stand.client, client: stand.client() };
}

test('vector 3: returns an empty listing for an account without servers', async () => {
  const { client } = await startClient(refusal(404, 'SERVER_NOT_FOUND'));
  expect(await client.listServers(how)).toEqual({ servers: [], unreadable: [], nameless: 0 });
});

test('vector 5: sends nothing after one 401 for ten minutes, or until the password changes', async () => {
  const { client, env, clock, sent, log } = await startClient();
  const right = env['PASSWORD']!;
  env['PASSWORD'] = 'wrong';
  // Concurrent calls also make only one failed login.
  const tasks = [321, 322, 323, 324].map((server) => failureOf(client.getServer(server, how)));
  for (const error of await Promise.all(tasks)) expect(error).toMatchObject({ kind: 'auth' });
  for (let n = 0; n < 11; n++) {
    expect(await failureOf(client.listServers(how))).toMatchObject({ kind: 'auth' });
    clock.increment(50_000);
  }
  expect(sent()).toHaveLength(1);
  const alarms = log.lines.filter(({ fields }) => fields['alarm'] === 'login-refused');
  expect(alarms).toHaveLength(1);
  env['PASSWORD'] = right;
  await client.listServers(how);
  expect(sent()).toHaveLength(2);
});

test('causes no more failed logins by a revoked password than Robot forgives', async () => {
  const { client, answer, clock, sent } = await startClient();
  await client.listServers(how);
  answer(UNAUTHORIZED);
  const ask = () =>
    Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => failureOf(client.getServer(320 + n, how))));
  for (const error of await ask()) expect(error).toMatchObject({ kind: 'auth' });
  const failed = sent().length - 1;
  expect(failed).toBeLessThan(3);
  // After the pause one call tries, and the others wait for its result.
  clock.increment(600_001);
  await ask();
  expect(sent()).toHaveLength(1 + failed + 1);
});

test('vector 6: delays only the rate-limited path', async () => {
  const { client, fake, inMs, clock, sent } = await startClient();
  const limit = { max_requests: 200, interval: 3600 };
  fake.addFault(at('GET /server', refusal(403, 'RATE_LIMIT_EXCEEDED', limit)));
  const error = await failureOf(client.listServers(how));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(inMs(error)).toBe(60_000);
  expect(await failureOf(client.listServers(how))).toMatchObject({ kind: 'transient' });
  await client.reset(321, 'hw', how);
  expect(sent()).toEqual(['GET /server', 'POST /reset/321 hw']);
  clock.increment(61_000);
  const again = await failureOf(client.listServers(how));
  expect([inMs(again), sent().length]).toEqual([120_000, 3]);
});

const MINUTE_MS = 60_000;
const HTML = { ...says('<html>'), headers: { 'content-type': 'text/html' } };
const ENDS: readonly (readonly [string, FaultEffect, (number | null)?, string?])[] = [
  ['not-found', refusal(404, 'SERVER_NOT_FOUND')],
  ['not-implemented', refusal(404, 'RESET_NOT_AVAILABLE')],
  ['not-implemented', refusal(404, 'BOOT_NOT_AVAILABLE')],
  ['not-implemented', refusal(400, 'INVALID_INPUT', { invalid: ['type'] })],
  ['invalid', refusal(400, 'INVALID_INPUT', { invalid: ['name'] })],
  ['conflict', refusal(409, 'BOOT_ALREADY_ENABLED')],
  ['conflict', refusal(500, 'BOOT_BLOCKED')],
  ['conflict', refusal(409, 'SOMETHING_ELSE')],
  ['auth', refusal(403, 'SOMETHING_ELSE')],
  // Vectors 13, 7 and 8.
  ['transient', refusal(409, 'RESET_MANUAL_ACTIVE'), 30 * MINUTE_MS],
  ['transient', says('', 403), MINUTE_MS],
  ['transient', { ...says('', 503), headers: { 'retry-after': '90' } }, 90_000, 'unknown'],
  ['transient', says('', 503), 5 * MINUTE_MS, 'unknown'],
  ['transient', refusal(500, 'RESET_FAILED'), null, 'unknown'],
  // A 404 that is not the API's own proves nothing about the server.
  ['transient', { ...HTML, code: 404 }, null, 'unknown'],
  ['permanent', says('<html>'), null, 'unknown'],
];
const endOf = ([kind, effect, retryMs = null, outcome = 'not-done']: (typeof ENDS)[number]) =>
  [kind, effect, retryMs, outcome] as const;
testRows(ENDS.map(endOf))('is %s after one reset: %j', async (kind, effect, retryMs, outcome) => {
  const { client, inMs, sent } = await startClient(effect);
  const error = await failureOf(client.reset(321, 'sw', how));
  expect(error).toMatchObject({ kind, outcome });
  expect(inMs(error)).toBe(retryMs);
  expect(sent()).toHaveLength(1);
});

testRows([
  ['no JSON', says('<html>')],
  ['about another server', says({ server: { server_number: 999, server_name: 'a' } })],
] as const)('treats an answer to a read that is %s as permanent', async (_, effect) => {
  const { client } = await startClient(effect);
  const error = await failureOf(client.getServer(321, how));
  expect(error).toMatchObject({ kind: 'permanent', outcome: 'not-done' });
});

test('vector 29: encodes one key or two as PHP reads lists', async () => {
  const { client, fake } = await startClient(says({ rescue: { active: true, os: 'linux' } }));
  await client.armRescue(321, ['aa:bb'], how);
  await client.armRescue(321, ['aa:bb', 'cc:dd'], how);
  expect(fake.requests().map(({ body }) => body)).toEqual([
    { os: 'linux', 'authorized_key[]': 'aa:bb' },
    { os: 'linux', 'authorized_key[0]': 'aa:bb', 'authorized_key[1]': 'cc:dd' },
  ]);
});

const MD5 = Array.from({ length: 16 }, () => 'ab').join(':');
const KEY = { key: { fingerprint: MD5 } };
testRows([
  [
    { active: true, os: 'linux', authorized_key: [KEY], host_key: [MD5] },
    { isArmed: true, systems: ['linux'], keys: [MD5], hostKeys: [MD5] },
  ],
  [
    { active: false, os: ['linux', 'vkvm'], authorized_key: [], host_key: [] },
    { isArmed: false, systems: ['linux', 'vkvm'], keys: [], hostKeys: [] },
  ],
  [
    { active: true, os: 'linux', authorized_key: null, host_key: [KEY, 7, 'x'] },
    { isArmed: true, systems: ['linux'], keys: [], hostKeys: [MD5] },
  ],
] as const)('vector 31: reads boot objects in both forms: %j', async (rescue, read) => {
  const { client } = await startClient(says({ rescue: { ...rescue, password: 'x' } }));
  expect(await client.rescue(321, how)).toEqual(read);
});

testRows([
  [{ rescue: { active: true, os: 'linux' }, linux: { active: false, dist: ['Debian'] } }, true, []],
  [
    { rescue: null, linux: { active: true }, windows: { active: true } },
    ...([false, ['linux', 'windows']] as const),
  ],
  [{ linux: 'odd', vnc: null, cpanel: [] }, false, []],
] as const)(
  'reads the next boot of a server despite unknown fields: %j',
  async (boot, armed, others) => {
    const { client, sent } = await startClient(says({ boot }));
    expect(await client.bootState(321, how)).toEqual({ isRescueArmed: armed, others });
    expect(sent()).toEqual(['GET /boot/321']);
  },
);

test('vector 32: keeps the password out of every log and error in any failure', async () => {
  const { log, env, ...stand } = await startClient();
  const password = env['PASSWORD']!;
  const answers: FaultEffect[] = [
    says({ rescue: { active: 'x', password } }),
    says(`{"password":"${password}"`),
    says(password, 500),
    refusal(400, 'INVALID_INPUT', { message: `password ${password}` }),
    refusal(403, password),
    refusal(401, 'UNAUTHORIZED', { message: password }),
  ];
  const told: string[] = [];
  for (const answer of answers) {
    const client = stand.open();
    stand.answer(answer);
    const ask = [client.rescue(321, how), client.armRescue(321, ['aa'], how)];
    told.push(...(await Promise.all(ask.map(failureOf))).map(deepText));
  }
  expect(told).toHaveLength(12);
  const basic = Buffer.from(`${stand.fake.credentials.user}:${password}`).toString('base64');
  for (const secret of [password, basic]) {
    expect(JSON.stringify([told, log.lines])).not.toContain(secret);
  }
});

function deepText(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    parts.push(at.message, at.stack ?? '', JSON.stringify(at));
  }
  return parts.join('\n');
}

test('names unreadable entries of a listing by their numbers', async () => {
  const server = {
    server_number: 321,
    server_name: 'free-321',
    status: 'in process',
    product: null,
  };
  const { client } = await startClient(
    says([
      { server: { ...server, server_ip: null, server_ipv6_net: '2a01:4f8:111:4221::', ip: null } },
      { server: { server_number: 322, server_name: 7 } },
      ...[{ nonsense: true }, { server: null }, 7],
    ]),
  );
  const list = await client.listServers(how);
  expect(list).toMatchObject({ servers: [{ number: 321 }], unreadable: [322], nameless: 3 });
});
