import { settled } from '../../../../doubles/simulated-clock.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { World } from '../../../../../src/simulator/fakequinix/world.ts';
import { publicKeyLine } from '../setup.ts';
import { createStand, live, type Stand } from './stand.ts';

const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const RESERVATION = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';
const DEVICE = '/devices/{id}';
const ACTIONS = '/devices/{id}/actions';
const MOVE = '/hardware-reservations/{id}/move';
const LOST = { type: 'drop', phase: 'after' } as const;
const UNSENT = { type: 'drop', phase: 'before' } as const;

const WORLD: World = {
  projects: [{ name: 'ours' }, { name: 'theirs' }],
  reservations: [{ id: RESERVATION, project: 'ours' }],
  devices: [{ id: ID, hostname: 'shepherd-ci-one', state: 'active' }],
};
let stand: Stand;
beforeEach(async () => {
  stand = await createStand({ fake: { world: WORLD } });
});
afterEach(() => stand.close());

const fault = (method: string, route: string, effect: typeof LOST | typeof UNSENT, times = 1) =>
  stand.fake.addFault({ match: { method, route }, times, effect });
const executed = (route: string, method = 'POST') =>
  stand.calls().filter((one) => one.route === route && one.method === method && one.executed);
const shape = () => stand.calls().map(({ method, path }) => `${method} ${path.split('/')[1]}`);
const device = () => stand.fake.devices()[0]!;

test('vector 26: a lost reply to DELETE is success, without a second one', async () => {
  fault('DELETE', DEVICE, LOST);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.routes()).toEqual([`DELETE ${DEVICE}`, `GET ${DEVICE}`]);
  expect(device().state).toBe('deprovisioning');
});

test('vector 26: so it is where a deleted device vanishes at once', async () => {
  await stand.close();
  const knobs = { deleteVisibility: 'immediate404' } as const;
  stand = await createStand({ fake: { world: WORLD, knobs } });
  fault('DELETE', DEVICE, LOST);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(executed(DEVICE, 'DELETE')).toHaveLength(1);
});

test('an unsent DELETE is repeated; a device that is gone is success', async () => {
  fault('DELETE', DEVICE, UNSENT);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.routes()).toEqual([`DELETE ${DEVICE}`, `GET ${DEVICE}`, `DELETE ${DEVICE}`]);
  expect(stand.metrics.count('equinixRetry', 'DeleteDevice', 'ambiguous')).toBe(1);
  stand.clock.increment(60_000);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.calls().at(-1)).toMatchObject({ method: 'DELETE', status: 404 });
});

test('DELETE has no body, and forces nothing', async () => {
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.calls().map(({ query, body = null }) => [query, body])).toEqual([[{}, null]]);
});

test('a definite refusal of DELETE is passed on', async () => {
  stand.fake.setDeviceState(ID, 'provisioning');
  const error = await stand.failureOf(stand.client.deleteDevice(ID, live));
  expect(error).toMatchObject({ kind: 'Rejected', status: 422, ambiguous: false });
  expect(stand.calls()).toHaveLength(1);
});

test('vector 27: a lost reply to reboot is success by its event, and one reboot', async () => {
  fault('POST', ACTIONS, LOST);
  await stand.run(stand.client.rebootDevice(ID, live));
  expect(executed(ACTIONS)).toHaveLength(1);
  expect(stand.calls().filter(({ method }) => method === 'POST')).toHaveLength(1);
});

test('vector 27: without an event the outcome is unknown, and nothing is repeated', async () => {
  fault('POST', ACTIONS, UNSENT);
  const error = await stand.failureOf(stand.client.rebootDevice(ID, live));
  expect(error).toMatchObject({ kind: 'OutcomeUnknown', ambiguous: true });
  expect(stand.calls().filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect(executed(ACTIONS)).toEqual([]);
});

test('the event of an earlier reboot proves nothing', async () => {
  await stand.run(stand.client.rebootDevice(ID, live));
  stand.clock.increment(120_000);
  fault('POST', ACTIONS, UNSENT);
  const error = await stand.failureOf(stand.client.rebootDevice(ID, live));
  expect(error.kind).toBe('OutcomeUnknown');
});

test('a lost reply to reinstall is success by the state, and one reinstall', async () => {
  fault('POST', ACTIONS, LOST);
  await stand.run(stand.client.reinstallDevice(ID, { operatingSystem: 'debian_12' }, live));
  const body = { type: 'reinstall', operating_system: 'debian_12' };
  expect(executed(ACTIONS).map((call) => call.body)).toEqual([body]);
  expect(device().state).toBe('reinstalling');
});

test('power: a lost reply is settled by the state', async () => {
  fault('POST', ACTIONS, LOST);
  await stand.run(stand.client.powerOff(ID, live));
  expect(executed(ACTIONS).map(({ body }) => body)).toEqual([{ type: 'power_off' }]);
  stand.clock.increment(10_000);
  fault('POST', ACTIONS, LOST);
  await stand.run(stand.client.powerOn(ID, live));
  expect(device().state).toBe('powering_on');
});

test('power: an unsent request is repeated once, and then unknown', async () => {
  fault('POST', ACTIONS, UNSENT, 5);
  const error = await stand.failureOf(stand.client.powerOff(ID, live));
  expect(error).toMatchObject({ kind: 'OutcomeUnknown', ambiguous: true });
  expect(stand.calls().filter(({ method }) => method === 'POST')).toHaveLength(2);
});

test('power: what is so already is success, what cannot be is refused', async () => {
  await stand.run(stand.client.powerOn(ID, live));
  stand.fake.setDeviceState(ID, 'provisioning');
  const error = await stand.failureOf(stand.client.powerOn(ID, live));
  expect(error).toMatchObject({ kind: 'Rejected', ambiguous: false });
});

test('vector 28: a lost reply to a move is success after one read', async () => {
  fault('POST', MOVE, LOST);
  const target = await otherProject();
  stand.forget();
  const moved = await stand.run(stand.client.moveReservation(RESERVATION, target, live));
  expect(moved.project?.id).toBe(target);
  expect(stand.routes()).toEqual([`POST ${MOVE}`, 'GET /hardware-reservations/{id}']);
  expect(executed(MOVE)).toHaveLength(1);
});

test('an unsent move is repeated; one into its own project is success', async () => {
  fault('POST', MOVE, UNSENT);
  const target = await otherProject();
  await stand.run(stand.client.moveReservation(RESERVATION, target, live));
  await stand.run(stand.client.moveReservation(RESERVATION, target, live));
  expect(executed(MOVE)).toHaveLength(2);
  expect(stand.fake.reservations()[0]!.projectId).toBe(target);
});

async function otherProject(): Promise<string> {
  const { projectId } = stand.fake;
  const { url, tokens } = stand.fake;
  const reply = await stand.network.fetch(`${url}/projects`, {
    headers: { 'X-Auth-Token': tokens.user },
  });
  const { projects } = (await reply.json()) as { projects: { id: string }[] };
  return projects.find(({ id }) => id !== projectId)!.id;
}

test('update: only given fields are sent; a lost reply is settled by comparing', async () => {
  fault('PUT', DEVICE, LOST);
  const patch = { hostname: 'deleted-one', tags: ['a', 'b'], userdata: '#!/bin/sh' };
  const updated = await stand.run(stand.client.updateDevice(ID, patch, live));
  expect(updated).toMatchObject({ id: ID, hostname: 'deleted-one', tags: ['a', 'b'] });
  expect(updated).not.toHaveProperty('userdata');
  expect(executed(DEVICE, 'PUT')).toHaveLength(1);
  expect(executed(DEVICE, 'PUT')[0]!.body).toEqual({ ...patch, userdata: '***' });
  expect(stand.calls()[0]!.query).toEqual({ include: 'facility' });
});

test('update: an unsent change is repeated, an empty one refused', async () => {
  fault('PUT', DEVICE, UNSENT);
  await stand.run(stand.client.updateDevice(ID, { hostname: 'two' }, live));
  expect(shape()).toEqual(['PUT devices', 'GET devices', 'PUT devices']);
  expect(device().hostname).toBe('two');
  expect(await stand.failureOf(stand.client.updateDevice(ID, {}, live))).toMatchObject({
    kind: 'InvalidArgument',
  });
});

const KEY = { label: 'shepherd-ci', key: publicKeyLine(1) };
const PROJECT_KEYS = '/projects/{id}/ssh-keys';
const keys = () => stand.run(stand.client.listProjectSshKeys(live));

test('vector 29: takes the same blob after one call, and replaces an earlier key of ours', async () => {
  const id = await stand.run(stand.client.ensureSshKey(KEY, live));
  stand.forget();
  const same = { ...KEY, key: `${publicKeyLine(1, 'another comment')}\n` };
  expect(await stand.run(stand.client.ensureSshKey(same, live))).toBe(id);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`]);
  stand.forget();
  const replaced: string[] = [];
  const onReplaced = (previous: string) => void replaced.push(previous);
  const other = { ...KEY, key: publicKeyLine(2), previousKeys: [publicKeyLine(1)], onReplaced };
  expect(await stand.run(stand.client.ensureSshKey(other, live))).toBe(id);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`, 'PATCH /ssh-keys/{id}']);
  expect(replaced).toEqual([publicKeyLine(1)]);
});

test('vector 29: refuses to overwrite a key with our label that is not known as ours', async () => {
  await stand.run(stand.client.ensureSshKey(KEY, live));
  stand.forget();
  const other = { ...KEY, key: publicKeyLine(2), previousKeys: [publicKeyLine(3)] };
  const error = await stand.failureOf(stand.client.ensureSshKey(other, live));
  expect(error).toMatchObject({ kind: 'KeyLabelConflict', ambiguous: false });
  expect(error.message).toMatch(/SHA256:\S{43}.*ssh\.previousKeyPaths.*another sshKeyLabel/);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`]);
  expect(await keys()).toMatchObject([KEY]);
});

test('vector 30: a key stored behind a 404 is found by its label', async () => {
  stand.fake.addFault({ effect: { type: 'keyCreate404' } });
  const id = await stand.run(stand.client.ensureSshKey(KEY, live));
  expect(await keys()).toMatchObject([{ id, label: KEY.label }]);
  expect(executed(PROJECT_KEYS)).toHaveLength(1);
});

test('a 404 without a stored key is NotFound', async () => {
  const match = { method: 'POST', route: PROJECT_KEYS };
  stand.fake.addFault({ match, effect: { type: 'status', code: 404 } });
  const error = await stand.failureOf(stand.client.ensureSshKey(KEY, live));
  expect(error).toMatchObject({ kind: 'NotFound', ambiguous: false });
});

test('SSH key create: a lost reply is settled by label, an unsent one is repeated', async () => {
  fault('POST', PROJECT_KEYS, LOST);
  await stand.run(stand.client.ensureSshKey(KEY, live));
  expect(executed(PROJECT_KEYS)).toHaveLength(1);
  fault('POST', PROJECT_KEYS, UNSENT);
  const second = { label: 'second', key: publicKeyLine(2) };
  await stand.run(stand.client.ensureSshKey(second, live));
  expect((await keys()).map(({ label }) => label)).toContain('second');
  expect(executed(PROJECT_KEYS)).toHaveLength(2);
});

test('SSH key update: lost, unsent, refused as PATCH', async () => {
  const hold = (n: number) =>
    stand.run(
      stand.client.ensureSshKey(
        { ...KEY, key: publicKeyLine(n), previousKeys: [publicKeyLine(n - 1)] },
        live,
      ),
    );
  await hold(1);
  fault('PATCH', '/ssh-keys/{id}', LOST);
  await hold(2);
  expect(executed('/ssh-keys/{id}', 'PATCH')).toHaveLength(1);
  fault('PATCH', '/ssh-keys/{id}', UNSENT);
  await hold(3);
  expect(executed('/ssh-keys/{id}', 'PATCH')).toHaveLength(2);
  const match = { method: 'PATCH', route: '/ssh-keys/{id}' };
  stand.fake.addFault({ match, effect: { type: 'status', code: 405 } });
  await hold(4);
  expect(stand.calls().slice(-2)).toMatchObject([
    { method: 'PATCH', status: 405 },
    { method: 'PUT', status: 200 },
  ]);
});

test('SSH key delete: lost, unsent and gone are success', async () => {
  const route = '/ssh-keys/{id}';
  const first = await stand.run(stand.client.ensureSshKey(KEY, live));
  fault('DELETE', route, LOST);
  await stand.run(stand.client.deleteSshKey(first, live));
  expect(executed(route, 'DELETE')).toHaveLength(1);
  await stand.run(stand.client.deleteSshKey(first, live));
  const second = await stand.run(stand.client.ensureSshKey(KEY, live));
  fault('DELETE', route, UNSENT);
  await stand.run(stand.client.deleteSshKey(second, live));
  expect(executed(route, 'DELETE')).toHaveLength(2);
  expect(await keys()).toEqual([]);
});

test('an ambiguous change that ends with the budget says so', async () => {
  fault('DELETE', DEVICE, UNSENT, 1_000);
  const error = await stand.failureOf(stand.client.deleteDevice(ID, live));
  expect(error).toMatchObject({ kind: 'Deadline', ambiguous: true });
  expect(stand.clock.monotonic()).toBeLessThanOrEqual(15 * 60_000);
});

test('an abort in the middle of a change is Cancelled and ambiguous', async () => {
  const match = { method: 'DELETE', route: DEVICE };
  stand.fake.addFault({ match, effect: { type: 'hang', phase: 'after' } });
  const controller = new AbortController();
  const deletion = stand.failureOf(stand.client.deleteDevice(ID, controller.signal));
  await settled();
  expect(stand.calls()[0]?.executed).toBe(true);
  controller.abort();
  expect(await deletion).toMatchObject({ kind: 'Cancelled', ambiguous: true });
});

test('include and exclude of a read, facility always included', async () => {
  const expansion = { include: ['project'], exclude: ['tags'] };
  const read = await stand.run(stand.client.getDevice(ID, live, expansion));
  expect(stand.calls()[0]!.query).toEqual({ include: 'facility,project', exclude: 'tags' });
  expect(read.tags).toEqual([]);
  expect(read.project?.id).toBe(stand.fake.projectId);
});
