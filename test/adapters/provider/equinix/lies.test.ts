import { expect, test } from 'vitest';
import type { EquinixClient } from '../../../../src/adapters/provider/equinix/client.ts';
import { live, publicKeyLine } from '../driver-stand.ts';
import { answer, PROJECT_ID, type ScriptedApi, scriptedClient } from './setup.ts';

const [ID, OTHER] = [
  'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701',
  'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f702',
];
const { signal } = live;
const ERRORS = { errors: ['it was refused'] };

let api: ScriptedApi;
let client: EquinixClient;

const start = async (...args: Parameters<typeof scriptedClient>) =>
  ({ api, client } = await scriptedClient(...args));
/** A server that answers changes, and reads, with these. */
const changesAndReads = (changed: unknown, read: unknown) =>
  start(({ method }, res) => answer(res, 200, method === 'GET' ? read : changed));
const changes = () => api.seen.filter(({ method }) => method !== 'GET').length;

test('A6: a reboot that is answered 200 with errors is no success, and is not repeated', async () => {
  await changesAndReads(ERRORS, { events: [] });
  await expect(client.rebootDevice(ID, signal)).rejects.toMatchObject({
    kind: 'OutcomeUnknown',
    ambiguous: true,
    cause: { messages: [expect.stringContaining('it was refused')] },
  });
  expect(changes()).toBe(1);
});

test.each([
  { errors: [{ code: 403, detail: 'it was refused' }] },
  { errors: { base: ['it was refused'] } },
  { error: true },
])('A6: nor is one that is answered with errors in another form, such as %j', async (body) => {
  await changesAndReads(body, { events: [] });
  await expect(client.rebootDevice(ID, signal)).rejects.toMatchObject({
    kind: 'OutcomeUnknown',
    ambiguous: true,
  });
  expect(changes()).toBe(1);
});

test('A6: power that is answered with errors is looked at, and then it is known', async () => {
  await changesAndReads({ error: 'no' }, { id: ID, state: 'active' });
  await expect(client.powerOff(ID, signal)).rejects.toMatchObject({ kind: 'OutcomeUnknown' });
  await client.powerOn(ID, signal);
});

test('A6: a list of keys that is a list of errors is not empty', async () => {
  await changesAndReads(ERRORS, ERRORS);
  const key = { label: 'ours', key: publicKeyLine(1) };
  await expect(client.ensureSshKey(key, signal)).rejects.toMatchObject({ kind: 'Protocol' });
  expect(changes(), 'so no second key of that name is made').toBe(0);
});

test('A6: errors that are none are no errors', async () => {
  await changesAndReads({}, { id: ID, errors: [], error: null });
  expect((await client.getDevice(ID, signal)).id).toBe(ID);
});

const READS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['a device', () => client.getDevice(ID, signal)],
  ['a reservation', () => client.getReservation(ID, signal)],
];
test.each(READS)('A6: the reply about another %s is no reply', async (_, read) => {
  await changesAndReads(null, { id: OTHER, state: 'active' });
  await expect(read()).rejects.toMatchObject({
    kind: 'Protocol',
    messages: [expect.stringContaining('$.id')],
  });
});

const OLD_KEY = { label: 'ours', key: publicKeyLine(1) };
const NEW_KEY = { label: 'ours', key: publicKeyLine(2), previousKeys: [publicKeyLine(1)] };
const CHANGES: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['an update', () => client.updateDevice(ID, { hostname: 'new' }, signal)],
  ['a change of a key', async () => ({ id: await client.ensureSshKey(NEW_KEY, signal) })],
];
test.each(CHANGES)('A6: %s that is answered with another id is looked at', async (_, change) => {
  const before = { ssh_keys: [{ id: ID, ...OLD_KEY }] };
  const wanted = { id: ID, hostname: 'new', project: { id: PROJECT_ID }, ...NEW_KEY, ...before };
  await changesAndReads({ ...wanted, id: OTHER }, wanted);
  expect(await change()).toMatchObject({ id: ID });
  expect(changes()).toBe(1);
});

test('A6: a listing that goes on and on has a limit, and the error says so', async () => {
  const padding = 'x'.repeat(400_000);
  await start(
    ({ query }, res) => {
      const page = Number(query.get('page'));
      const meta = { total: 1e9, current_page: page, last_page: page + 1, next: { href: 'x' } };
      answer(res, 200, { devices: [], meta, padding });
    },
    { listingBytesMax: 2 * 1024 * 1024 },
  );
  await expect(client.listDevices(signal)).rejects.toMatchObject({
    kind: 'Protocol',
    messages: ['the listing is larger than 2 MiB'],
    attempts: 6,
  });
});

test('a key that answers with another id is not taken for the one that was changed', async () => {
  const [label, key] = ['shepherd-ci', publicKeyLine(2)];
  const wanted = { label, key: publicKeyLine(1), previousKeys: [key] };
  await start(({ method, path }, res) => {
    if (path.endsWith(`/ssh-keys/${ID}`) && method === 'GET') {
      return answer(res, 200, { ...wanted, id: OTHER });
    }
    if (method === 'GET') return answer(res, 200, { ssh_keys: [{ id: ID, label, key }] });
    return answer(res, 502, '');
  });
  await expect(client.ensureSshKey(wanted, signal)).rejects.toMatchObject({ kind: 'Protocol' });
});
