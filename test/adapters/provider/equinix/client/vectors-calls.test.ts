import type { MemMetrics } from '../../../../doubles/mem-metrics.ts';
import { settled } from '../../../../doubles/simulated-clock.ts';
import { expect, test } from 'vitest';
import type { EquinixConfig } from '../../../../../src/adapters/provider/equinix/settings.ts';
import { failureOf } from '../setup.ts';
import { createStand, live, type ClientStand } from './stand.ts';

const GET_DEVICE = { method: 'GET', route: '/devices/{id}' };
const LIST_DEVICES = { method: 'GET', route: '/projects/{id}/devices' };
const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';

let stand: ClientStand;

async function begin(
  config: Partial<EquinixConfig> = {},
  daemons?: () => number,
): Promise<ClientStand> {
  const world = { devices: [{ id: ID, hostname: 'shepherd-ci-one', state: 'active' as const }] };
  stand = await createStand({ fake: { world }, config, ...(daemons && { daemons }) });
  return stand;
}
const atMs = () => stand.calls().map((entry) => entry.atMs);
const gaps = (times: readonly number[]) => times.slice(1).map((ms, n) => ms - times[n]!);

const pauses = ({ calls }: MemMetrics) =>
  calls.flatMap(({ name, labels, value }) =>
    name === 'equinix_api_paused_seconds_total' ? [[labels['reason'], value]] : [],
  );

test('vector 14: succeeds after three 503 replies with growing sleeps', async () => {
  const { client, fake, run, metrics } = await begin();
  fake.addFault({ match: GET_DEVICE, times: 3, effect: { type: 'status', code: 503 } });
  expect(await run(client.getDevice(ID, live))).toMatchObject({ id: ID });
  expect(stand.calls()).toHaveLength(4);
  const bounds = [
    [250, 750],
    [375, 1_125],
    [562.5, 1_687.5],
  ] as const;
  gaps(atMs()).forEach((ms, n) => {
    expect(ms).toBeGreaterThanOrEqual(bounds[n]![0]);
    expect(ms).toBeLessThanOrEqual(bounds[n]![1]);
  });
  expect(
    metrics.total('equinix_api_retries_total', { endpoint: 'GetDevice', reason: 'status' }),
  ).toBe(3);
  expect(metrics.total('equinix_api_latency', { endpoint: 'GetDevice', status_code: '503' })).toBe(
    3,
  );
  expect(metrics.total('equinix_api_latency', { endpoint: 'GetDevice', status_code: '200' })).toBe(
    1,
  );
});

test('vector 15: ends within the budget on endless 500 replies, with the last failure as cause', async () => {
  const { client, fake, failureOf: failure, clock } = await begin();
  fake.addFault({ match: GET_DEVICE, effect: { type: 'status', code: 500 } });
  const error = await failure(client.getDevice(ID, live));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(error.cause).toMatchObject({ status: 500 });
  expect(error.attempts).toBe(stand.calls().length);
  expect(error.attempts).toBeGreaterThan(20);
  expect(clock.monotonic()).toBeLessThanOrEqual(15 * 60_000);
  const [first] = atMs();
  expect(atMs().at(-1)! - first!).toBeLessThanOrEqual(15 * 60_000);
  expect(Math.max(...gaps(atMs()))).toBeLessThanOrEqual(90_000);
  // The client does not begin a sleep beyond the budget.
  expect(error.elapsedMs).toBeCloseTo(atMs().at(-1)! - first!, 1);
});

test.each([
  ['is down', { type: 'status', code: 503 }],
  ['takes no connection', { type: 'drop', phase: 'before' }],
] as const)('A8: ends a listing of a provider that %s soon, and states why', async (_, effect) => {
  const { client, fake, failureOf: failure, clock } = await begin();
  fake.addFault({ match: LIST_DEVICES, effect });
  const error = await failure(client.listDevices(live));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(error.cause).toMatchObject({ kind: 'transient' });
  expect(error.attempts).toBeGreaterThan(5);
  expect(clock.monotonic()).toBeGreaterThan(60_000);
  expect(clock.monotonic()).toBeLessThanOrEqual(4 * 60_000);
});

test('vector 17: pauses the whole client after a 429, then sends one trial first', async () => {
  const { client, fake, run, metrics, inFlight } = await begin({ parallelism: 3 });
  fake.addFault({
    match: { ...GET_DEVICE, nth: 1 },
    effect: { type: 'status', code: 429, headers: { 'Retry-After': '7' } },
  });
  // The trial takes a second, which shows whether it runs alone.
  fake.addFault({ match: { ...GET_DEVICE, nth: 2 }, effect: { type: 'latency', ms: 1_000 } });
  const first = client.getDevice(ID, live);
  await settled();
  expect(pauses(metrics)).toHaveLength(1);
  const others = [client.getDevice(ID, live), client.getDevice(ID, live)];
  expect(inFlight()).toBe(0);
  const results = await run(Promise.all([first, ...others]));
  expect(results.map(({ id }) => id)).toEqual([ID, ID, ID]);
  const [limited, trial, ...rest] = atMs();
  expect(trial! - limited!).toBeGreaterThanOrEqual(7_000);
  expect(rest).toHaveLength(2);
  for (const ms of rest) expect(ms - trial!).toBeGreaterThanOrEqual(1_000);
  expect(pauses(metrics)).toEqual([['rate_limit', 7]]);
});

test('vector 18: reports a wait of an hour as RateLimited at once', async () => {
  const { client, fake, failureOf: failure, clock } = await begin();
  const headers = { 'Retry-After': '3600' };
  fake.addFault({ match: LIST_DEVICES, effect: { type: 'status', code: 429, headers } });
  const error = await failure(client.listDevices(live));
  expect(error).toMatchObject({ kind: 'transient', retryAt: clock.now() + 3_600_000 });
  expect(clock.monotonic()).toBe(0);
  expect(stand.calls()).toHaveLength(1);
});

test('A3: leaves a wait of over a minute to the caller, even if the budget would allow it', async () => {
  const { client, fake, failureOf: failure, clock } = await begin();
  const headers = { 'Retry-After': '61' };
  fake.addFault({ match: GET_DEVICE, effect: { type: 'status', code: 429, headers } });
  const error = await failure(client.getDevice(ID, live));
  expect(error).toMatchObject({ kind: 'transient', retryAt: clock.now() + 61_000 });
  expect(stand.calls()).toHaveLength(1);
});

test('A3: keeps no long wait in the client, so that the caller decides when it is over', async () => {
  const { client, fake, run, failureOf: failure } = await begin({ parallelism: 1 });
  const headers = { 'Retry-After': '999999' };
  fake.addFault({ match: GET_DEVICE, times: 1, effect: { type: 'status', code: 429, headers } });
  const first = failure(client.getDevice(ID, live));
  const waiting = failure(client.getDevice(ID, live));
  expect(await first).toMatchObject({ kind: 'transient' });
  expect(await waiting, 'it is not sent after that').toMatchObject({ kind: 'transient' });
  expect(stand.calls()).toHaveLength(1);
  expect((await run(client.getDevice(ID, live))).id, 'the next one is').toBe(ID);
});

test('respects Retry-After of a 503 for that read, and delays no other call', async () => {
  const { client, fake, run, metrics } = await begin();
  const headers = { 'Retry-After': '30' };
  fake.addFault({ match: GET_DEVICE, times: 1, effect: { type: 'status', code: 503, headers } });
  await run(client.getDevice(ID, live));
  expect(gaps(atMs())).toEqual([30_000]);
  expect(pauses(metrics)).toEqual([]);
});

test('vector 19: has one slot, and two seconds between starts', async () => {
  const { client, run, clock, metrics } = await begin({ parallelism: 1, apiRate: 2_000 });
  const results = await run(
    Promise.all(Array.from({ length: 5 }, () => client.getDevice(ID, live))),
  );
  expect(results).toHaveLength(5);
  for (const gapMs of gaps(atMs())) expect(gapMs).toBeGreaterThanOrEqual(2_000);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(8_000);
  const flights = metrics.calls.filter(({ name }) => name === 'equinix_api_in_flight');
  expect(Math.max(...flights.map(({ value }) => value))).toBe(1);
});

test('shares the budget of calls among the live daemons', async () => {
  let daemons = 3;
  const { client, run } = await begin({ parallelism: 3, apiRate: 2_000 }, () => daemons);
  await run(Promise.all([client.getDevice(ID, live), client.getDevice(ID, live)]));
  expect(gaps(atMs())).toEqual([6_000]);
  daemons = 1;
  await run(Promise.all([client.getDevice(ID, live), client.getDevice(ID, live)]));
  expect(gaps(atMs()).slice(1)).toEqual([2_000, 2_000]);
});

test('vector 20: leaves a slot for a quick call while list pages hang', async () => {
  const { client, fake, clock, inFlight, run } = await begin({ parallelism: 3 });
  fake.addFault({ match: LIST_DEVICES, effect: { type: 'latency', ms: 100_000 } });
  const lists = [1, 2, 3].map(() => client.listDevices(live));
  await settled();
  expect(stand.calls().length).toBe(2);
  expect(await run(client.getDevice(ID, live))).toMatchObject({ id: ID });
  expect(clock.monotonic()).toBe(0);
  expect(inFlight()).toBe(2);
  const walked = await run(Promise.all(lists));
  expect(walked.every(({ complete }) => complete)).toBe(true);
});

test('vector 21: holds no slot while an operation sleeps', async () => {
  const { client, fake, run } = await begin({ parallelism: 1 });
  const other = '0c9a7c52-1f0d-4d6e-8b55-0c9a4de2f702';
  fake.addFault({
    match: { ...GET_DEVICE, deviceId: ID },
    times: 1,
    effect: { type: 'status', code: 503 },
  });
  const sleeping = client.getDevice(ID, live);
  await settled();
  expect(stand.calls()[0]?.status).toBe(503);
  expect(await failureOf(run(client.getDevice(other, live)))).toMatchObject({ kind: 'not-found' });
  await run(sleeping);
  expect(stand.calls().map(({ path }) => path)).toEqual([
    `/devices/${ID}`,
    `/devices/${other}`,
    `/devices/${ID}`,
  ]);
});

test('vector 25: leaves the server at once on an abort, and frees the slot', async () => {
  const { client, fake, clock, run, failureOf: failure } = await begin({ parallelism: 1 });
  fake.addFault({ match: GET_DEVICE, times: 1, effect: { type: 'latency', ms: 600_000 } });
  const controller = new AbortController();
  clock.setTimeout(() => controller.abort(), 3_000);
  const error = await failure(client.getDevice(ID, controller.signal));
  expect(error).toMatchObject({ kind: 'aborted', outcome: 'not-done', attempts: 1 });
  expect(clock.monotonic()).toBe(3_000);
  await settled();
  expect(stand.calls()[0]!.fate).toBe('clientGone');
  expect(await run(client.getDevice(ID, live))).toMatchObject({ id: ID });
  expect(
    stand.metrics.total('equinix_api_latency', {
      endpoint: 'GetDevice',
      status_code: 'ctx canceled',
    }),
  ).toBe(1);
});

test('ends an abort during a sleep and one in the queue at once, without a call', async () => {
  const { client, fake, clock } = await begin({ parallelism: 1 });
  fake.addFault({ match: GET_DEVICE, effect: { type: 'status', code: 503 } });
  const controller = new AbortController();
  const sleeping = client.getDevice(ID, controller.signal);
  await settled();
  expect(stand.calls()[0]?.status).toBe(503);
  controller.abort();
  expect(await failureOf(sleeping)).toMatchObject({ kind: 'aborted', attempts: 1 });
  expect(await failureOf(client.getDevice(ID, AbortSignal.abort()))).toMatchObject({
    kind: 'aborted',
    attempts: 0,
  });
  expect(clock.monotonic()).toBe(0);
});

test('abandons a silent server after a minute, and a list page after three', async () => {
  const { client, fake, run } = await begin();
  fake.addFault({ match: GET_DEVICE, times: 1, effect: { type: 'latency', ms: 3_600_000 } });
  fake.addFault({ match: LIST_DEVICES, times: 1, effect: { type: 'latency', ms: 3_600_000 } });
  await run(client.getDevice(ID, live));
  expect(gaps(atMs())[0]).toBeGreaterThanOrEqual(60_000);
  expect(gaps(atMs())[0]).toBeLessThanOrEqual(61_000);
  await run(client.listDevices(live));
  expect(gaps(atMs())[2]).toBeGreaterThanOrEqual(180_000);
  expect(gaps(atMs())[2]).toBeLessThanOrEqual(181_000);
  expect(
    stand.metrics.total('equinix_api_latency', {
      endpoint: 'GetDevice',
      status_code: 'deadline exceeded',
    }),
  ).toBe(1);
  expect(
    stand.metrics.total('equinix_api_retries_total', { endpoint: 'GetDevice', reason: 'timeout' }),
  ).toBe(1);
});

test('sends nothing after a 401 for a minute, or until the token changes', async () => {
  let token = 'an-old-token';
  const { client, fake, failureOf: failure, run, clock } = await begin({ token: () => token });
  expect(await failure(client.getDevice(ID, live))).toMatchObject({ kind: 'auth' });
  expect(await failure(client.listDevices(live))).toMatchObject({ attempts: 0 });
  clock.increment(59_000);
  expect(await failure(client.listDevices(live))).toMatchObject({ kind: 'auth' });
  expect(stand.calls()).toHaveLength(1);
  clock.increment(1_000);
  expect(await failure(client.getDevice(ID, live))).toMatchObject({ status: 401 });
  expect(stand.calls()).toHaveLength(2);
  token = fake.tokens.user;
  expect(await run(client.getDevice(ID, live))).toMatchObject({ id: ID });
  expect(pauses(stand.metrics)).toEqual([
    ['unauthorized', 60],
    ['unauthorized', 0],
  ]);
});

test('B2: makes no third attempt with a token that is rotated and refused each time', async () => {
  let reads = 0;
  const { client, failureOf: failure } = await begin({ token: () => `old-token-${(reads += 1)}` });
  expect(await failure(client.getDevice(ID, live))).toMatchObject({
    kind: 'auth',
    status: 401,
    attempts: 2,
  });
  expect(stand.calls().map(({ status }) => status)).toEqual([401, 401]);
});

test('gives up soon if the token cannot be read or sent', async () => {
  const unreadable = new Error('no such file');
  let token: () => string = () => {
    throw unreadable;
  };
  const { client, failureOf: failure } = await begin({ token: () => token() });
  const error = await failure(client.getDevice(ID, live));
  expect(error).toMatchObject({ kind: 'auth', cause: unreadable, attempts: 0 });
  token = () => 'two\nlines-of-secret';
  const unsent = await failure(client.getDevice(ID, live));
  expect(unsent).toMatchObject({ kind: 'invalid', attempts: 1 });
  expect(JSON.stringify(unsent) + unsent.stack).not.toContain('lines-of-secret');
  expect(stand.calls()).toEqual([]);
});

test.each(['truncated', 'html', 'notJson', 'wrongType'] as const)(
  'vector 34: reports 200 with %s as Protocol after three repetitions',
  async (kind) => {
    const { client, fake, failureOf: failure } = await begin();
    fake.addFault({ match: GET_DEVICE, effect: { type: 'garbage', kind } });
    const error = await failure(client.getDevice(ID, live));
    expect(error).toMatchObject({ kind: 'permanent', status: 200, attempts: 4 });
    expect(stand.calls()).toHaveLength(4);
    const shown = JSON.stringify(error) + error.stack + String(error.cause);
    for (const text of ['shepherd-ci-one', 'unavailable', 'upstream', 'unexpected']) {
      expect(shown).not.toContain(text);
    }
  },
);

test('vector 35: keeps secrets out of errors and logs at any level', async () => {
  const { fake, failureOf: failure, lines } = await begin();
  const patch = {
    userdata: '#!/bin/sh\nexport PASSWORD=hunter2-in-userdata\n',
    customdata: { deep: { secret: 'hunter2-in-customdata' } },
  };
  const quotes = [
    `bad token ${fake.tokens.user}`,
    'line export PASSWORD=hunter2-in-userdata is wrong',
    'value hunter2-in-customdata is wrong',
  ];
  const named = [
    'userdata: starts with export PASS',
    'root_password is hunter2-root',
    '-----BEGIN OPENSSH PRIVATE KEY----- hunter2-key',
  ];
  const shown: unknown[] = [];
  for (const code of [400, 401, 404, 422, 500]) {
    for (const errors of [quotes, named]) {
      fake.clearFaults();
      const body = { errors, root_password: 'hunter2-root', userdata: 'hunter2-in-userdata' };
      fake.addFault({ effect: { type: 'status', code, body } });
      const update = stand.another().updateDevice(ID, patch, live);
      const error = await failure(update);
      shown.push(error.message, error.stack, JSON.stringify(error), String(error.cause));
      shown.push(JSON.stringify(error.cause));
    }
  }
  const everything = [...lines, ...shown].join('\n');
  expect(everything).toContain('bad token [redacted]');
  expect(everything).toContain('value [redacted] is wrong');
  const secrets = [fake.tokens.user, 'export PASS', 'hunter2'];
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});

test('vector 35: passes on no secret of a device reply', async () => {
  const { client, fake, run, lines } = await begin();
  const [device] = fake.devices();
  const userdata = 'hunter2-in-userdata';
  const updated = await run(client.updateDevice(device!.id, { userdata }, live));
  const read = await run(client.getDevice(device!.id, live));
  expect(JSON.stringify([updated, read, lines])).not.toContain('hunter2');
});

test('shows only the values of paging and include in logged addresses', async () => {
  const { client, run, lines } = await begin();
  await run(client.listDevices(live));
  const urls = lines.map((line) => (JSON.parse(line) as { url: string }).url);
  expect(urls[0]).toMatch(
    /devices\?include=facility&sort_by=\*&sort_direction=\*&page=1&per_page=100$/,
  );
});
