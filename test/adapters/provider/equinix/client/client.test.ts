import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import {
  answer,
  clientOf,
  configFor,
  failureOf,
  operationsOver,
  recordingDeps,
  scriptedClient,
  TOKEN,
  type Operations,
  type RecordingDeps,
  type ScriptedApi,
} from '../setup.ts';
import { live } from './stand.ts';

const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const DEVICE = { id: ID, hostname: 'shepherd-ci-4f0c2d9a', state: 'active', tags: [] };

let api: ScriptedApi;
let client: Operations;
let deps: RecordingDeps;

const start = async (...args: Parameters<typeof scriptedClient>) =>
  ({ api, client, deps } = await scriptedClient(...args));

test('sends our headers below any base path, and never logs the token', async () => {
  await start((_, res) => answer(res, 200, DEVICE));
  await client.getDevice(ID, live);
  const [request] = api.seen;
  expect(request).toMatchObject({ method: 'GET', path: `/some/prefix/devices/${ID}` });
  expect(request!.query.get('include')?.split(',')).toContain('facility');
  expect(request!.headers).toMatchObject({
    'x-auth-token': TOKEN,
    'x-consumer-token': 'tester',
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'shepherd',
  });
  expect(deps.lines.join('\n')).not.toContain(TOKEN);
  expect(deps.calls).toEqual([{ endpoint: 'GetDevice', status: '200' }]);
});

test.each([
  ['a list', { errors: ['one', 'two'] }, ['one', 'two'], true],
  ['a text', { error: 'one' }, ['one'], true],
  ['nothing', '', [expect.stringContaining('a proxy may have answered')], false],
  ['a page', '<html>no JSON</html>', [expect.stringContaining('json, 20 bytes')], false],
])('reads status and messages of an error sent as %s', async (_name, body, messages, isTheApis) => {
  await start((_, res) => answer(res, 404, body));
  const error = await failureOf(client.getDevice(ID, live));
  const kind = isTheApis ? 'not-found' : 'transient';
  expect(error).toMatchObject({ kind, status: 404, messages });
  expect(error.message).toMatch(/^getDevice: .*404/);
});

test('treats null, nothing and an empty list alike', async () => {
  const bare = { id: ID, tags: null, facility: null, ip_addresses: [null] };
  await start((_, res, count) => answer(res, 200, count === 1 ? bare : { id: ID }));
  const [one, other] = [await client.getDevice(ID, live), await client.getDevice(ID, live)];
  expect(one).toEqual(other);
  expect(one).toEqual({ id: ID, tags: [], ip_addresses: [] });
});

test('keeps an unknown state, and omits an unknown field', async () => {
  await start((_, res) => answer(res, 200, { ...DEVICE, state: 'weird', root_password: 'x' }));
  const device = await client.getDevice(ID, live);
  expect(device.state).toBe('weird');
  expect(device).not.toHaveProperty('root_password');
});

test.each([
  [{ ...DEVICE, ip_addresses: [{ address: 7, address_family: 4 }] }, '$.ip_addresses[0].address'],
  [{ ...DEVICE, id: undefined }, '$.id'],
  [{ ...DEVICE, tags: 'secret-value' }, '$.tags'],
])('names a malformed field by its path and never by its value', async (body, path) => {
  await start((_, res) => answer(res, 200, body));
  const error = await failureOf(client.getDevice(ID, live));
  expect(error.kind).toBe('permanent');
  expect(error.message).toContain(path);
  expect(error.message).not.toContain('secret-value');
});

test('never sends an id that is no UUID', async () => {
  await start((_, res) => answer(res, 200, DEVICE));
  for (const id of ['../projects', ID.toUpperCase(), '']) {
    const error = await failureOf(client.getDevice(id, live));
    expect(error).toMatchObject({ kind: 'invalid', attempts: 0 });
  }
  expect(api.seen).toHaveLength(0);
});

test('reports a deprecated route once', async () => {
  const headers = { Deprecation: 'true', Sunset: 'Tue, 30 Jun 2026 00:00:00 GMT' };
  await start((_, res) => answer(res, 200, DEVICE, headers));
  await client.getDevice(ID, live);
  await client.getDevice(ID, live);
  const told = deps.lines.filter((line) => line.includes('will withdraw'));
  expect(told).toHaveLength(1);
  expect(JSON.parse(told[0]!)).toMatchObject({ endpoint: 'GetDevice', announced: headers.Sunset });
});

test('logs response headers short and without the token', async () => {
  const long = `${TOKEN.slice(0, 12)} ${'1234567890'.repeat(30)}`;
  const headers = { Deprecation: long, 'X-Request-Id': long };
  await start((_, res) => answer(res, 200, DEVICE, headers));
  await client.getDevice(ID, live);
  const lines = deps.lines.join('\n');
  expect(lines).not.toContain(TOKEN.slice(0, 12));
  const logged = deps.lines.map((line) => JSON.parse(line) as Record<string, string>);
  const ids = logged.flatMap(({ requestId }) => requestId ?? []);
  const announced = logged.flatMap((fields) => fields['announced'] ?? []);
  expect([ids.length, announced.length]).toEqual([1, 1]);
  for (const value of [...ids, ...announced]) expect(value.length).toBeLessThanOrEqual(64);
});

test.each([
  ['headers', 'HTTP/1.1 200 OK\r\nbad header: hunter2\r\n\r\n'],
  ['body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhunter2\r\n'],
])('leaves no byte of a reply with broken %s in the error', async (_, reply) => {
  const server = new EventEmitter().on('connection', (socket: Duplex) =>
    socket.once('data', () => socket.end(reply)),
  );
  const recorded = recordingDeps();
  const { port } = recorded.network.listen(server, { host: '127.0.0.1', port: 0 });
  const brief = { operationTimeout: 90_000 };
  const broken = clientOf(`http://127.0.0.1:${port}`, recorded, brief);
  const error = await failureOf(broken.getDevice(ID, live));
  const chain: object[] = [];
  for (let one: unknown = error.error; one instanceof Error; one = one.cause) chain.push(one);
  expect(chain.length).toBeGreaterThan(1);
  expect(chain.some((one) => 'code' in one && String(one.code).startsWith('HPE_'))).toBe(true);
  expect(chain.every((one) => !('rawPacket' in one))).toBe(true);
  expect(inspect(error.error, { depth: null, showHidden: true })).not.toContain('hunter2');
});

test('abandons a connection that is never established, and repeats the change', async () => {
  const recorded = recordingDeps();
  recorded.network.silent.add('127.0.0.1:8443');
  const brief = { connectTimeout: 10_000, operationTimeout: 60_000 };
  const silent = clientOf('https://127.0.0.1:8443', recorded, brief);
  const error = await failureOf(silent.deleteDevice(ID, live));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(error.cause).toMatchObject({ messages: ['no connection within the time limit'] });
  expect(error.attempts).toBeGreaterThan(1);
  expect(recorded.calls[0]).toEqual({ endpoint: 'DeleteDevice', status: 'deadline exceeded' });
});

test.each([
  ['http://203.0.113.7/metal/v1', /loopback only/],
  ['ftp://127.0.0.1/', /not an http or https/],
  ['https://user:secret@example.invalid/', /credentials/],
  ['nothing', /not an http or https/],
])('refuses the base URL %s before any call', (baseUrl, message) => {
  expect(() => operationsOver(configFor(baseUrl), recordingDeps())).toThrow(message);
});

test('accepts the same key stored twice by daemons that started together', async () => {
  const [label, key] = ['mine', 'ssh-ed25519 AAAA'];
  const wanted = { name: label, nameSetting: 'sshKeyLabel', key, previousKeys: [] };
  const ids = [ID.replace('e', 'f'), ID];
  await start((_, res) => answer(res, 200, { ssh_keys: ids.map((id) => ({ id, label, key })) }));
  expect(await client.ensureSshKey(wanted, live)).toBe(ID);
  expect(api.seen.map(({ method }) => method)).toEqual(['GET']);
});
