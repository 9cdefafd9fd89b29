import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import {
  createEquinixClient,
  type EquinixClient,
} from '../../../src/adapters/provider/equinix/client.ts';
import { EquinixError } from '../../../src/adapters/provider/equinix/errors.ts';
import { configFor, type Recorded, recordingDeps, TOKEN } from './equinix-setup.ts';
import { answer, type Script, type ScriptedApi, startScriptedApi } from './scripted-api.ts';

const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const DEVICE = { id: ID, hostname: 'shepherd-ci-4f0c2d9a', state: 'active', tags: [] };
const live = () => new AbortController().signal;

let api: ScriptedApi;
let client: EquinixClient;
let deps: Recorded;

async function start(script: Script, change: Parameters<typeof configFor>[1] = {}) {
  api = await startScriptedApi(script);
  deps = recordingDeps();
  client = createEquinixClient(configFor(api.url, change), deps);
}
afterEach(async () => {
  client.stop();
  await api.close();
});

const failureOf = async (promise: Promise<unknown>): Promise<EquinixError> => {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(EquinixError);
  return error as EquinixError;
};

test('sends our headers below any base path, and nothing is logged of the token', async () => {
  await start((_, res) => answer(res, 200, DEVICE));
  await client.getDevice(ID, live());
  const [request] = api.seen;
  expect(request).toMatchObject({ method: 'GET', path: `/some/prefix/devices/${ID}` });
  expect(request!.query.get('include')?.split(',')).toContain('facility');
  expect(request!.headers).toMatchObject({
    'x-auth-token': TOKEN,
    'x-consumer-token': 'tester',
    'content-type': 'application/json',
    accept: 'application/json',
  });
  expect(deps.lines.join('\n')).not.toContain(TOKEN);
  expect(deps.calls).toEqual([{ endpoint: 'GetDevice', status: '200' }]);
});

test('vector 14: three times 503, then success, with growing waits', async () => {
  await start((_, res, count) =>
    count <= 3 ? answer(res, 503, '') : answer(res, 200, { ...DEVICE, facility: null }),
  );
  const device = await client.getDevice(ID, live());
  expect(device.id).toBe(ID);
  expect(api.seen).toHaveLength(4);
  const waits = deps.clock.delaysMs.filter((ms) => ms < 2_000);
  expect(waits).toHaveLength(3);
  const bounds = [
    [250, 750],
    [375, 1125],
    [562.5, 1687.5],
  ] as const;
  waits.forEach((ms, index) => {
    expect(ms).toBeGreaterThanOrEqual(bounds[index]![0]);
    expect(ms).toBeLessThanOrEqual(bounds[index]![1]);
  });
});

test('vector 15: always 500 ends in Deadline with the last failure as cause', async () => {
  await start((_, res) => answer(res, 500, { error: 'broken' }), {
    timings: { operationTimeoutMs: 60_000 },
  });
  const error = await failureOf(client.getDevice(ID, live()));
  expect(error).toMatchObject({ kind: 'Deadline', ambiguous: false, attempts: api.seen.length });
  expect(error.cause).toMatchObject({ status: 500, messages: ['broken'] });
  expect(error.attempts).toBeGreaterThan(1);
});

test.each([
  [400, 'Rejected'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Rejected'],
  [422, 'Rejected'],
  [302, 'Protocol'],
])('vector 16: status %i is permanent: %s', async (status, kind) => {
  await start((_, res) => answer(res, status, { errors: ['no'] }, { Location: '/elsewhere' }));
  expect(await failureOf(client.getDevice(ID, live()))).toMatchObject({ kind, status });
  expect(api.seen).toHaveLength(1);
});

test('an id that is no UUID never leaves', async () => {
  await start((_, res) => answer(res, 200, DEVICE));
  const error = await failureOf(client.getDevice('../projects', live()));
  expect(error.kind).toBe('InvalidArgument');
  expect(api.seen).toHaveLength(0);
});

test('a refused token is not tried again, a rotated one is', async () => {
  let token = 'old';
  await start(
    (request, res) =>
      request.headers['x-auth-token'] === 'new'
        ? answer(res, 200, DEVICE)
        : answer(res, 401, { error: 'Invalid authentication token' }),
    { token: () => token },
  );
  expect(await failureOf(client.getDevice(ID, live()))).toMatchObject({ kind: 'Unauthorized' });
  expect(await failureOf(client.getDevice(ID, live()))).toMatchObject({ kind: 'Unauthorized' });
  expect(api.seen).toHaveLength(1);
  token = 'new';
  expect(await client.getDevice(ID, live())).toMatchObject({ id: ID });
});

test('vector 17: a 429 holds the whole client, then one trial goes first', async () => {
  const arrivedMs: number[] = [];
  let trialDone = Promise.resolve();
  let othersDuringTrial = 0;
  await start(
    async (_, res, count) => {
      arrivedMs.push(deps.clock.monotonic());
      if (count === 1) return answer(res, 429, { errors: ['slow'] }, { 'Retry-After': '7' });
      if (count === 2) {
        trialDone = new Promise((resolve) => deps.clock.setTimeout(() => resolve(), 3_000));
        await trialDone;
        othersDuringTrial = api.seen.length - 2;
      }
      answer(res, 200, DEVICE);
    },
    { parallelism: 1 },
  );
  const all = Promise.all([1, 2, 3].map(() => client.getDevice(ID, live())));
  expect(await all).toHaveLength(3);
  expect(arrivedMs[1]! - arrivedMs[0]!).toBeGreaterThan(6_800);
  expect(othersDuringTrial).toBe(0);
  expect(api.seen).toHaveLength(4);
});

test('vector 18: a wait beyond the budget is RateLimited at once, for those in the queue too', async () => {
  await start((_, res) => answer(res, 429, '', { 'Retry-After': '3600' }), { parallelism: 1 });
  const errors = await Promise.all([
    failureOf(client.listDevices(live())),
    failureOf(client.getDevice(ID, live())),
  ]);
  for (const { kind, retryAt } of errors) {
    expect(kind).toBe('RateLimited');
    expect(retryAt! - deps.clock.now()).toBeGreaterThan(3_000_000);
  }
  expect(await failureOf(client.getDevice(ID, live()))).toMatchObject({ kind: 'RateLimited' });
  expect(api.seen).toHaveLength(1);
});

test('vector 19: parallelism one is never two in flight', async () => {
  await start((_, res) => void deps.clock.setTimeout(() => answer(res, 200, DEVICE), 500), {
    parallelism: 1,
  });
  await Promise.all(Array.from({ length: 5 }, () => client.getDevice(ID, live())));
  expect(api.seen).toHaveLength(5);
  expect(api.inFlightMax()).toBe(1);
});

test('vector 21: an operation that waits holds no slot', async () => {
  const other = ID.replace('e', 'f');
  let failing = true;
  await start(
    ({ path }, res) =>
      path.endsWith(ID) && failing ? answer(res, 503, '') : answer(res, 200, DEVICE),
    { parallelism: 1, timings: { backoffInitialMs: 100_000, operationTimeoutMs: 10_000_000 } },
  );
  const stuck = client.getDevice(ID, live());
  await client.getDevice(other, live());
  failing = false;
  expect(deps.clock.delaysMs.filter((ms) => ms >= 50_000 && ms <= 150_000)).toHaveLength(1);
  client.stop();
  expect(await failureOf(stuck)).toMatchObject({ kind: 'Cancelled' });
});

test('vector 22: pages of one hundred, verified', async () => {
  const devices = Array.from({ length: 250 }, (_, index) => ({
    ...DEVICE,
    id: `${String(index).padStart(8, '0')}-0000-4000-8000-000000000000`,
  }));
  await start(({ query }, res) => {
    const page = Number(query.get('page'));
    const size = Number(query.get('per_page'));
    const meta = { total: 250, current_page: page, last_page: Math.ceil(250 / size) };
    const next = page < meta.last_page ? { href: '/never/followed' } : null;
    const items = devices.slice((page - 1) * size, page * size);
    answer(res, 200, { devices: items, meta: { ...meta, next } });
  });
  const { items, complete } = await client.listDevices(live());
  expect(complete).toBe(true);
  expect(new Set(items.map(({ id }) => id)).size).toBe(250);
  expect(api.seen).toHaveLength(3);
  expect(api.seen.every(({ query }) => query.get('sort_by') === 'hostname')).toBe(true);
  expect(api.seen.every(({ query }) => query.get('per_page') === '100')).toBe(true);
});

test('vector 25: an abort closes the socket and frees the slot', async () => {
  let arrived: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (arrived = resolve));
  const left = Promise.withResolvers<void>();
  await start(
    (_, res, count) => {
      if (count > 1) return answer(res, 200, DEVICE);
      void once(res, 'close').then(() => left.resolve());
      arrived();
    },
    { parallelism: 1 },
  );
  const controller = new AbortController();
  const hung = client.getDevice(ID, controller.signal);
  await waiting;
  controller.abort();
  expect(await failureOf(hung)).toMatchObject({ kind: 'Cancelled', ambiguous: false });
  await left.promise;
  expect(api.abandoned()).toBe(1);
  expect(await client.getDevice(ID, live())).toMatchObject({ id: ID });
});

test('abort before sending sends nothing', async () => {
  await start((_, res) => answer(res, 200, DEVICE));
  const error = await failureOf(client.getDevice(ID, AbortSignal.abort()));
  expect(error.kind).toBe('Cancelled');
  expect(api.seen).toHaveLength(0);
});

test('a silent server is left after the attempt limit and asked again', async () => {
  await start((_, res, count) => (count === 1 ? undefined : answer(res, 200, DEVICE)), {
    timings: { attemptTimeoutMs: 20_000 },
  });
  expect(await client.getDevice(ID, live())).toMatchObject({ id: ID });
  expect(deps.calls.map(({ status }) => status)).toEqual(['deadline exceeded', '200']);
});

test.each([
  ['truncated JSON', '{"id":"secret-body-text'],
  ['an HTML page', '<html>secret-body-text</html>'],
  ['a wrong type', JSON.stringify({ id: 5, hostname: 'secret-body-text' })],
])('vector 34: %s is Protocol after three repetitions', async (_name, body) => {
  await start((_, res) => answer(res, 200, body));
  const error = await failureOf(client.getDevice(ID, live()));
  expect(error.kind).toBe('Protocol');
  expect(api.seen).toHaveLength(4);
  expect(JSON.stringify(error) + error.message + String(error.cause)).not.toContain('secret-body');
});

test('a malformed field is named by its path', async () => {
  await start((_, res) => answer(res, 200, { ...DEVICE, ip_addresses: [{ address: 7 }] }));
  const error = await failureOf(client.getDevice(ID, live()));
  expect(error.message).toContain('$.ip_addresses.0.address');
});

test('vector 35: secrets are absent from errors and logs', async () => {
  const echo = { errors: [`bad token ${TOKEN}`], root_password: 'pass-1', userdata: 'data-1' };
  await start((_, res) => answer(res, 422, echo));
  const error = await failureOf(client.getDevice(ID, live()));
  const everything = [...deps.lines, error.message, error.stack, JSON.stringify(error)].join('\n');
  expect(everything).toContain('bad token [redacted]');
  for (const secret of [TOKEN, 'pass-1', 'data-1']) expect(everything).not.toContain(secret);
});

test('no listener is retried, then Deadline with the refusal as cause', async () => {
  await start(() => undefined, { timings: { operationTimeoutMs: 60_000 } });
  await api.close();
  const error = await failureOf(client.getDevice(ID, live()));
  expect(error).toMatchObject({ kind: 'Deadline' });
  expect(error.cause).toMatchObject({ kind: 'Network' });
  expect(error.attempts).toBeGreaterThan(1);
});

test('vector 29: a key with the same blob is taken, another blob is a conflict', async () => {
  const blob = 'A'.repeat(68);
  const keys = [{ id: ID, label: 'mine', key: `ssh-ed25519 ${blob} old comment\n` }];
  await start((_, res) => answer(res, 200, { ssh_keys: keys }));
  const same = { label: 'mine', key: `ssh-ed25519 ${blob} new` };
  expect(await client.createSshKey(same, live())).toMatchObject({ id: ID });
  const other = { label: 'mine', key: `ssh-ed25519 ${'B'.repeat(68)}` };
  expect(await failureOf(client.createSshKey(other, live()))).toMatchObject({
    kind: 'KeyLabelConflict',
  });
  expect(api.seen.map(({ method }) => method)).toEqual(['GET', 'GET']);
});

test('two keys with one label are refused', async () => {
  const key = { label: 'mine', key: 'ssh-ed25519 AAAA' };
  const ids = [ID, ID.replace('e', 'f')];
  await start((_, res) => answer(res, 200, { ssh_keys: ids.map((id) => ({ id, ...key })) }));
  const error = await failureOf(client.ensureSshKey(key, live()));
  expect(error.kind).toBe('KeyLabelConflict');
});
