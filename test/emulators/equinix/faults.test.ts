import { expect, test } from 'vitest';
import type { FaultRule } from '../../../emulators/equinix/fault-rules.ts';
import type { EquinixEmulator } from '../../../emulators/equinix/options.ts';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, adminOf, clientOf, createDevice, createOn, KEY, start } from './harness.ts';

type Effect = FaultRule['effect'];
const LAG_MS = 10_000;
const creates = { method: 'POST', route: '/projects/{p}/devices' };
const create = (fake: EquinixEmulator, index = 0, more: object = {}, init: RequestInit = {}) =>
  clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, createOn(fake, index, more), init);
const raw = (fake: EquinixEmulator, path = '/user') =>
  fetch(`${fake.url}${path}`, {
    headers: { 'x-auth-token': fake.tokens.user },
    redirect: 'manual',
  });
const statusOf = async (fake: EquinixEmulator, path = '/user') => (await raw(fake, path)).status;
const last = (fake: EquinixEmulator) => fake.requests().at(-1)!;
/** The first letters of all host names: those of strangers are `stranger-`. */
const hosts = (fake: EquinixEmulator) => fake.devices().map((one) => one.hostname.slice(0, 9));
const reservationPath = (fake: EquinixEmulator, index = 0) =>
  `/hardware-reservations/${fake.reservations()[index]!.id}`;

const limit = { type: 'rateLimit', limit: 0, windowMs: 7_000 } as const;
const TEXT = { 'Retry-After': '7', 'Content-Type': 'text/plain' };
/** An effect, and status, body and headers of the answer to `GET /user`. */
const ANSWERS: readonly [Effect, number, string | RegExp, object?][] = [
  [{ type: 'status', code: 502, body: null }, 502, /^$/, { 'content-type': null }],
  [{ type: 'status', code: 502, body: '<p>no' }, 502, '<p>no', { 'content-type': 'text/html' }],
  [
    { type: 'status', code: 502, body: { error: 'no' } },
    502,
    '{"error":"no"}',
    { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'fake-1' },
  ],
  [
    { type: 'status', code: 503, body: 'no', headers: TEXT },
    503,
    'no',
    { 'retry-after': '7', 'content-type': 'text/plain' },
  ],
  [{ type: 'headers', headers: { Deprecation: 'true' } }, 200, /"id"/, { deprecation: 'true' }],
  [{ type: 'headers', headers: { Date: 'x' } }, 200, /"id"/, { date: 'x' }],
  [{ type: 'garbage', kind: 'notJson' }, 200, /^[^{"]/],
  [{ type: 'garbage', kind: 'wrongType' }, 200, '"unexpected"'],
  [{ type: 'garbage', kind: 'redirect' }, 302, /^/, { location: '/elsewhere' }],
  [
    limit,
    429,
    '{"errors":["Too many requests"]}',
    { 'retry-after': '7', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578407' },
  ],
  [{ ...limit, retryAfter: 'date' }, 429, /^/, { 'retry-after': 'Sat, 01 Aug 2026 10:00:07 GMT' }],
  [{ ...limit, retryAfter: 'none' }, 429, /^/, { 'retry-after': null }],
];

testRows(ANSWERS)('answers by %j once', async (effect, status, body, headers = {}) => {
  const fake = await start();
  fake.addFault({ times: 1, effect });
  const reply = await raw(fake);
  expect([reply.status, await reply.text()]).toEqual([
    status,
    typeof body === 'string' ? body : expect.stringMatching(body),
  ]);
  for (const [name, value] of Object.entries(headers)) {
    expect([name, reply.headers.get(name)]).toEqual([name, value]);
  }
  expect(await statusOf(fake)).toBe(200);
});

testRows([
  [{ type: 'status', code: 500, executed: true }, 500, 1, 'replied'],
  [{ type: 'drop', phase: 'midBody' }, null, 1, 'dropped'],
  [{ type: 'hang', phase: 'after' }, null, 1, 'hung'],
  [{ type: 'hang', phase: 'midBody' }, null, 1, 'hung'],
] as const)(
  'answers a creation by %j with %j and makes %i devices',
  async (effect, status, count, fate) => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect });
    // The API refuses by itself: nothing is spoiled, and the rule is not spent, where it comes after.
    if ('executed' in effect) expect((await create(fake, 0, { plan: 'none' })).status).toBe(422);
    const stop = new AbortController();
    const reply = create(fake, 0, {}, { signal: stop.signal });
    const seen = reply.then((one) => one.status).catch(() => null);
    await expect.poll(() => last(fake)?.fate).toBe(fate);
    if (fate === 'hung') {
      expect(last(fake).doneAtMs).toBeNull();
      stop.abort();
    }
    expect(await seen).toBe(status);
    await expect.poll(() => last(fake).doneAtMs).not.toBeNull();
    expect([fake.devices().length, last(fake).executed]).toEqual([count, count === 1]);
    expect((await create(fake, 1)).status).toBe(201);
  },
);

test('delays answers on its own clock, by the same jitter for the same seed', async () => {
  const waits = async (jitterSeed: number) => {
    const delays: number[] = [];
    const clock = {
      now: () => 0,
      setTimeout: (fn: () => void, ms: number) => {
        delays.push(ms);
        queueMicrotask(fn);
      },
      clearTimeout: () => undefined,
    };
    const fake = await start({ clock });
    fake.addFault({ effect: { type: 'latency', minMs: 10, maxMs: 1_000, jitterSeed } });
    for (let i = 0; i < 3; i++) await raw(fake);
    fake.clearFaults();
    fake.addFault({ effect: { type: 'latency', ms: 5_000 } });
    await raw(fake);
    expect(delays.pop()).toBe(5_000);
    expect(delays.every((ms) => ms >= 10 && ms < 1_000)).toBe(true);
    return delays;
  };
  const one = await waits(3);
  expect(new Set(one).size).toBe(3);
  expect(await waits(3)).toEqual(one);
  expect(await waits(4)).not.toEqual(one);
});

test('limits the requests of a token within a window', async () => {
  const fake = await start();
  fake.addFault({ effect: { type: 'rateLimit', limit: 2, windowMs: 7_000 } });
  const left = (await raw(fake)).headers.get('x-ratelimit-remaining');
  expect([left, await statusOf(fake), await statusOf(fake)]).toEqual(['1', 200, 429]);
  expect((await clientOf(fake, fake.tokens.project)('GET', '/user')).status).toBe(200);
  await fake.advance(7_000);
  expect(await statusOf(fake)).toBe(200);
});

const race = (when: 'beforeCheck' | 'betweenCheckAndCreate' | 'afterLostReply'): Effect => ({
  ...{ type: 'race', when },
});
/** Rules, the answers to a look at the first reservation and to a creation on it, and who is there. */
const RACES: readonly (readonly [
  rules: readonly FaultRule[],
  seen: boolean,
  created: number | null,
  hosts: readonly string[],
])[] = [
  [[{ effect: race('beforeCheck') }], true, 422, ['stranger-']],
  [[{ effect: race('betweenCheckAndCreate') }], false, 422, ['stranger-']],
  [[{ effect: race('afterLostReply') }], false, 201, ['machine-0']],
  ...(['drop', 'hang'] as const).map(
    (type) =>
      [
        [
          { match: creates, effect: { type, phase: 'before' } as const },
          { effect: race('afterLostReply') },
        ],
        ...[false, null, ['stranger-']],
      ] as unknown as (typeof RACES)[number],
  ),
  [
    [
      { match: creates, effect: { type: 'drop', phase: 'after' } },
      { effect: race('afterLostReply') },
    ],
    false,
    null,
    ['machine-0'],
  ],
];

testRows(RACES)('lets a stranger in by %j', async (rules, isSeen, created, expected) => {
  const fake = await start();
  const reservationId = fake.reservations()[0]!.id;
  for (const { match, effect } of rules) {
    const named = effect.type === 'race' && effect.when !== 'afterLostReply';
    fake.addFault({
      ...(match && { match }),
      effect: { ...effect, ...(named && { reservationId }) },
    });
  }
  const { body } = await clientOf(fake)('GET', `${reservationPath(fake)}?include=device`);
  expect(body['device'] !== null).toBe(isSeen);
  const stop = new AbortController();
  const asked = create(fake, 0, {}, { signal: stop.signal }).then((one) => one.status);
  const seen = asked.catch(() => null);
  await expect.poll(() => hosts(fake)).toEqual(expected);
  if (created === null) stop.abort();
  expect(await seen).toBe(created);
  expect(fake.violations()).toEqual([]);
});

test('lets a stranger in where a creation leaves the choice, and waits for the named reservation', async () => {
  const fake = await start();
  const inFrankfurt = fake.reservations().filter((one) => one.facility === 'fr2');
  const [lowest, second] = inFrankfurt.map((one) => one.id).toSorted();
  const when = 'betweenCheckAndCreate';
  fake.addFault({ effect: { type: 'race', reservationId: lowest!, when } });
  const other = fake.reservations().findIndex(({ id }) => id !== lowest && id !== second);
  expect((await create(fake, other)).status).toBe(201);
  await createDevice(fake, 0, { hardware_reservation_id: 'next-available', metro: 'fr' });
  expect(hosts(fake)).toEqual([`machine-${other}`, 'stranger-', 'machine-0']);
  expect(fake.devices()[2]!.reservationId).toBe(second);
});

/**
 * A rule, and what is shown of a new device: whether its reservation is free, alone and in the list, the status
 * of its own page, and how many devices of its tag are listed.
 */
testRows([
  [{ view: 'both' }, [true, true, 404, 0]],
  [{ view: 'list', resource: 'reservation' }, [false, true, 200, 1]],
  [{ view: 'single', resource: 'device' }, [false, false, 404, 1]],
] as const)('shows things late by %j', async (rule, expected) => {
  const fake = await start();
  fake.addFault({ effect: { type: 'stale', lagMs: LAG_MS, ...rule } });
  const id = await createDevice(fake, 0, { tags: ['witness'] });
  const see = async () => {
    const project = `/projects/${fake.projectId}`;
    const ask = (path: string) => clientOf(fake)('GET', path);
    const list = (await ask(`${project}/hardware-reservations`)).body['hardware_reservations'];
    return [
      (await ask(reservationPath(fake))).body['provisionable'],
      list![0]!['provisionable'],
      (await ask(`/devices/${id}`)).status,
      (await ask(`${project}/devices?tag=witness`)).body['devices']!.length,
    ];
  };
  expect(await see()).toEqual(expected);
  expect((await create(fake)).status).toBe(422);
  await fake.advance(LAG_MS - 1);
  expect(await see()).toEqual(expected);
  await fake.advance(1);
  expect(await see()).toEqual([false, false, 200, 1]);
});

test('shows each step of a reservation as late as the rule says', async () => {
  const fake = await start();
  fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: LAG_MS } });
  const id = await createDevice(fake);
  await fake.advance(ACTIVE_MS);
  await clientOf(fake)('DELETE', `/devices/${id}`);
  const seen: unknown[] = [];
  for (const ms of [60_000, LAG_MS - 1, 1, 240_000 - LAG_MS, LAG_MS - 1, 1]) {
    await fake.advance(ms);
    const { body } = await clientOf(fake)('GET', reservationPath(fake));
    seen.push(`${body['device'] === null ? 'empty' : 'in use'} ${String(body['provisionable'])}`);
  }
  const empty = 'empty false';
  expect(seen).toEqual(['in use false', 'in use false', empty, empty, empty, 'empty true']);
});

/** How pages of 25 devices are spoiled, how they are sorted, and whether a walk over them shows all. */
testRows([
  ['shuffle', '', false],
  ['shuffle', 'sort_by=hostname', true],
  ['duplicate', 'sort_by=hostname', false],
  ['omit', 'sort_by=hostname', false],
  ['totalDrift', 'sort_by=hostname', true],
] as const)('spoils pages by %s with %j; whole: %j', async (mode, query, isWhole) => {
  const devices = Array.from({ length: 25 }, (_, i) => ({ hostname: `host-${i}` }));
  const fake = await start({ world: parseWorld({ devices }) });
  const walk = async () => {
    const [ids, totals] = [new Set<unknown>(), new Set<unknown>()];
    for (const page of [1, 2, 3]) {
      const path = `/projects/${fake.projectId}/devices?${query}&page=${page}`;
      const { body } = await clientOf(fake)('GET', path);
      for (const one of body['devices']!) ids.add(one['id']);
      totals.add(body['meta']!['total']);
    }
    return { isWhole: ids.size === 25, drifts: totals.size > 1 };
  };
  fake.addFault({ times: 3, effect: { type: 'unstablePages', mode } });
  expect(await walk()).toEqual({ isWhole, drifts: mode === 'totalDrift' });
  expect(await walk()).toEqual({ isWhole: true, drifts: false });
});

test('keeps given devices from being installed at once, and the next one of a reservation', async () => {
  const fake = await start();
  const [stuck, failing] = [await createDevice(fake, 0), await createDevice(fake, 1)];
  fake.addFault({
    match: { reservationId: fake.reservations()[2]!.id },
    effect: { type: 'failProvisioning' },
  });
  for (const index of [2, 3]) await createDevice(fake, index);
  await fake.advance(60_000);
  fake.addFault({ match: { deviceId: stuck }, effect: { type: 'stuck' } });
  await fake.advance(65_000);
  const rule = { type: 'failProvisioning', reason: 'dust' } as const;
  fake.addFault({ match: { deviceId: failing }, effect: rule });
  await fake.advance(0);
  const states = () => fake.devices().map(({ state }) => state);
  expect(states()).toEqual(['provisioning', 'failed', 'failed', 'provisioning']);
  await fake.advance(3_600_000);
  expect(states()).toEqual(['provisioning', 'failed', 'failed', 'active']);
  expect(fake.faults().map((one) => one.applied)).toEqual([1, 1, 1]);
  const { body } = await clientOf(fake)('GET', `/devices/${failing}/events?per_page=50`);
  expect(body['events']![0]).toMatchObject({ body: 'Provisioning failed: dust' });
});

test('loses the answer to a new key, shows a device as gone, and revokes tokens', async () => {
  const fake = await start();
  const call = clientOf(fake);
  fake.addFault({ times: 2, effect: { type: 'keyCreate404' } });
  const id = await createDevice(fake);
  for (const path of ['/ssh-keys', `/projects/${fake.projectId}/ssh-keys`]) {
    expect((await call('POST', path, { label: path, key: KEY })).status).toBe(404);
  }
  expect((await call('GET', '/ssh-keys')).body['ssh_keys']).toHaveLength(2);
  const other = await createDevice(fake, 1);
  fake.addFault({ match: { deviceId: id }, effect: { type: 'deviceGone403' } });
  expect(await statusOf(fake, `/devices/${id}`)).toBe(403);
  expect(await statusOf(fake, `/devices/${other}`)).toBe(200);
  fake.addFault({ match: { ...creates, nth: 2 }, effect: { type: 'tokenRevoked' } });
  const created = [(await create(fake, 2)).status, (await create(fake, 3)).status];
  expect([created, await statusOf(fake), fake.devices().length]).toEqual([[201, 401], 401, 3]);
  fake.addFault({ effect: { type: 'tokenRevoked', token: fake.tokens.readOnly } });
  for (const [token, status] of [
    [fake.tokens.project, 200],
    [fake.tokens.readOnly, 401],
  ] as const) {
    expect((await clientOf(fake, token)('GET', '/user')).status).toBe(status);
  }
});

/** What a rule strikes of: a creation on each of two reservations, a look at the first, two at the user. */
testRows([
  [{ method: 'post' }, undefined, [500, 500, 200, 200, 200]],
  [{ route: '/projects/:any/devices/' }, undefined, [500, 500, 200, 200, 200]],
  [{ method: 'POST', route: '/user' }, undefined, [201, 201, 200, 200, 200]],
  [{ reservationId: 'first' }, undefined, [500, 201, 500, 200, 200]],
  [{ token: 'project' }, undefined, [201, 201, 200, 200, 200]],
  [{ nth: 2 }, undefined, [201, 500, 200, 200, 200]],
  [{ every: 2 }, undefined, [201, 500, 200, 500, 200]],
  [{ every: 2 }, 1, [201, 500, 200, 200, 200]],
  [{ probability: 0 }, undefined, [201, 201, 200, 200, 200]],
  [{ probability: 1 }, undefined, [500, 500, 500, 500, 500]],
] as const)('strikes what matches %j, %j times', async (match, times, expected) => {
  const fake = await start();
  fake.addFault({
    match: {
      ...match,
      ...('reservationId' in match && { reservationId: fake.reservations()[0]!.id }),
      ...('token' in match && { token: fake.tokens.project }),
    },
    ...(times && { times }),
    effect: { type: 'status', code: 500 },
  });
  const statuses = [
    (await create(fake, 0)).status,
    (await create(fake, 1)).status,
    await statusOf(fake, reservationPath(fake)),
    await statusOf(fake),
    await statusOf(fake),
  ];
  expect(statuses).toEqual(expected);
});

test('applies rules of one kind in their order, beside those of others; an id takes the place of its rule', async () => {
  const fake = await start();
  fake.addFault({ id: 'one', effect: { type: 'status', code: 418 } });
  fake.addFault({ id: 'one', times: 1, effect: { type: 'status', code: 500 } });
  fake.addFault({ times: 1, effect: { type: 'status', code: 503 } });
  fake.addFault({ effect: { type: 'rateLimit', limit: 2, windowMs: 1_000 } });
  const seen = [await statusOf(fake), await statusOf(fake), await statusOf(fake)];
  expect([seen, fake.faults().length]).toEqual([[500, 503, 429], 3]);
});

testRows([
  [{ effect: { type: 'latency' } }],
  [{ effect: { type: 'latency', minMs: 5 } }],
  [{ effect: { type: 'latency', minMs: 5, maxMs: 4 } }],
  [{ effect: { type: 'latency', ms: 1, minMs: 5, maxMs: 9 } }],
  [{ effect: { type: 'hang' } }],
  [{ effect: { type: 'status' } }],
  [{ effect: { type: 'unstablePages', mode: 'other' } }],
  [{ effect: { type: 'nothing' } }],
  [{ match: { route: '/metal/v1/user' }, effect: { type: 'stuck' } }, '/devices/{id}/actions'],
  [{ match: { route: 'user' }, effect: { type: 'stuck' } }, 'no route user; there are'],
])('refuses the rule %j', async (rule, message = '') => {
  const fake = await start();
  const { status, body } = await adminOf(fake)('POST', '/faults', rule);
  expect([status, fake.faults()]).toEqual([422, []]);
  expect(body['errors']!.join()).toContain(message);
  expect(() => fake.addFault(rule as FaultRule)).toThrow(message);
});
