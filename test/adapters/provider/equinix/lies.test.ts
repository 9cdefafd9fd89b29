import { expect, test } from 'vitest';
import { live, publicKeyLine } from '../driver-stand.ts';
import {
  answer,
  failureOf,
  PROJECT_ID,
  scriptedClient,
  type Operations,
  type ScriptedApi,
} from './setup.ts';

const [ID, OTHER] = [
  'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701',
  'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f702',
];
const { signal } = live;
const ERRORS = { errors: ['it was refused'] };

let api: ScriptedApi;
let client: Operations;

const start = async (...args: Parameters<typeof scriptedClient>) =>
  ({ api, client } = await scriptedClient(...args));
/** A server that answers changes and reads with the given replies. */
const changesAndReads = (changed: unknown, read: unknown) =>
  start(({ method }, res) => answer(res, 200, method === 'GET' ? read : changed));
const changes = () => api.seen.filter(({ method }) => method !== 'GET').length;

test('A6: treats a reboot answered with 200 and errors as failed, and does not repeat it', async () => {
  await changesAndReads(ERRORS, { events: [] });
  expect(await failureOf(client.actOnce(ID, { type: 'reboot' }, signal))).toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
    cause: { messages: [expect.stringContaining('it was refused')] },
  });
  expect(changes()).toBe(1);
});

test.each([
  { errors: [{ code: 403, detail: 'it was refused' }] },
  { errors: { base: ['it was refused'] } },
  { error: true },
])('A6: does the same for errors in another form, such as %j', async (body) => {
  await changesAndReads(body, { events: [] });
  expect(await failureOf(client.actOnce(ID, { type: 'reboot' }, signal))).toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
  });
  expect(changes()).toBe(1);
});

test('A6: reads the power state after an answer with errors, and so knows the outcome', async () => {
  await changesAndReads({ error: 'no' }, { id: ID, state: 'active' });
  expect(await failureOf(client.switchPower(ID, 'off', signal))).toMatchObject({
    kind: 'transient',
  });
  await client.switchPower(ID, 'on', signal);
});

test('A6: does not read a list of errors as an empty list of keys', async () => {
  await changesAndReads(ERRORS, ERRORS);
  const key = { name: 'ours', nameSetting: '', key: publicKeyLine(1), previousKeys: [] };
  expect(await failureOf(client.ensureSshKey(key, signal))).toMatchObject({ kind: 'permanent' });
  expect(changes(), 'so no second key of that name is made').toBe(0);
});

test('A6: ignores empty errors', async () => {
  await changesAndReads({}, { id: ID, errors: [], error: null });
  expect((await client.getDevice(ID, signal)).id).toBe(ID);
});

const READS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['a device', () => client.getDevice(ID, signal)],
  ['a reservation', () => client.getReservation(ID, signal)],
];
test.each(READS)('A6: rejects a reply about another %s', async (_, read) => {
  await changesAndReads(null, { id: OTHER, state: 'active' });
  expect(await failureOf(read())).toMatchObject({
    kind: 'permanent',
    messages: [expect.stringContaining('$.id')],
  });
});

const OLD_KEY = { label: 'ours', key: publicKeyLine(1) };
const NEW_KEY = {
  ...{ name: 'ours', nameSetting: '' },
  ...{ key: publicKeyLine(2), previousKeys: [publicKeyLine(1)] },
};
const CHANGES: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['an update', () => client.updateDevice(ID, { hostname: 'new' }, signal)],
  ['a change of a key', async () => ({ id: await client.ensureSshKey(NEW_KEY, signal) })],
];
test.each(CHANGES)('A6: looks at %s that is answered with another id', async (_, change) => {
  const before = { ssh_keys: [{ id: ID, ...OLD_KEY }] };
  const wanted = {
    id: ID,
    hostname: 'new',
    project: { id: PROJECT_ID },
    ...NEW_KEY,
    label: 'ours',
    ...before,
  };
  await changesAndReads({ ...wanted, id: OTHER }, wanted);
  expect(await change()).toMatchObject({ id: ID });
  expect(changes()).toBe(1);
});

test('A6: limits an endless listing, and names the limit in the error', async () => {
  const padding = 'x'.repeat(400_000);
  await start(
    ({ query }, res) => {
      const page = Number(query.get('page'));
      const meta = { total: 1e9, current_page: page, last_page: page + 1, next: { href: 'x' } };
      answer(res, 200, { devices: [], meta, padding });
    },
    { listingBytesMax: 2 * 1024 * 1024 },
  );
  expect(await failureOf(client.listDevices(signal))).toMatchObject({
    kind: 'permanent',
    messages: ['the listing is larger than 2 MiB'],
    attempts: 6,
  });
});

test('does not mistake a key with another id for the changed key', async () => {
  const [label, key] = ['shepherd-ci', publicKeyLine(2)];
  const wanted = { name: label, nameSetting: '', key: publicKeyLine(1), previousKeys: [key] };
  await start(({ method, path }, res) => {
    if (path.endsWith(`/ssh-keys/${ID}`) && method === 'GET') {
      return answer(res, 200, { id: OTHER, label, key: wanted.key });
    }
    if (method === 'GET') return answer(res, 200, { ssh_keys: [{ id: ID, label, key }] });
    return answer(res, 502, '');
  });
  expect(await failureOf(client.ensureSshKey(wanted, signal))).toMatchObject({ kind: 'permanent' });
});
