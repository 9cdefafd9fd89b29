import { settled } from '../../../../doubles/simulated-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import type { WorldDescription } from '../../../../../emulators/equinix/world.ts';
import { createStand, live, type ClientStand } from './stand.ts';
import { publicKeyLine } from '../../driver-stand.ts';

const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const DEVICE = '/devices/{id}';
const ACTIONS = '/devices/{id}/actions';
const PROJECT_KEYS = '/projects/{id}/ssh-keys';
const ONE_KEY = '/ssh-keys/{id}';
const LOST = { type: 'drop', phase: 'after' } as const;
const UNSENT = { type: 'drop', phase: 'before' } as const;
const KEY = {
  ...{ name: 'shepherd-ci', nameSetting: 'sshKeyLabel' },
  ...{ key: publicKeyLine(1), previousKeys: [] as readonly string[] },
};
const OTHER_KEY = { ...KEY, key: publicKeyLine(2), previousKeys: [publicKeyLine(1)] };

const WORLD: WorldDescription = {
  devices: [{ id: ID, hostname: 'shepherd-ci-one', state: 'active' }],
};
let stand: ClientStand;
beforeEach(async () => {
  stand = await createStand({ fake: { world: WORLD } });
});

const fault = (method: string, route: string, effect: typeof LOST | typeof UNSENT, times = 1) =>
  stand.fake.addFault({ match: { method, route }, times, effect });
const sent = (route: string, method = 'POST') =>
  stand.calls().filter((one) => one.route === route && one.method === method);
const executed = (route: string, method = 'POST') =>
  sent(route, method).filter((one) => one.executed);
const device = () => stand.fake.devices()[0]!;
const reboot = () => stand.client.actOnce(ID, { type: 'reboot' }, live);
const REINSTALL = { type: 'reinstall', operating_system: 'debian_12' };
const power = (want: 'on' | 'off') => stand.client.switchPower(ID, want, live);
const hold = (key: typeof KEY, ...onReplaced: ((previous: string) => void)[]) =>
  stand.run(stand.client.ensureSshKey(key, live, ...onReplaced));
const keys = () => stand.run(stand.client.listSshKeys(live));

interface MutatingCall {
  readonly what: string;
  readonly request: readonly [method: string, route: string];
  act(): Promise<unknown>;
  isDone(): unknown;
  /** Not repeated if nothing shows that the request was executed. */
  readonly isOnce?: true;
}
const CHANGES: readonly MutatingCall[] = [
  {
    what: 'vector 26: a deletion',
    request: ['DELETE', DEVICE],
    act: () => stand.client.deleteDevice(ID, live),
    isDone: () => device().state === 'deprovisioning',
  },
  {
    what: 'vector 27: a reboot',
    request: ['POST', ACTIONS],
    act: () => reboot(),
    isDone: () => executed(ACTIONS).length === 1,
    isOnce: true,
  },
  {
    what: 'a reinstallation',
    request: ['POST', ACTIONS],
    act: () => stand.client.actOnce(ID, REINSTALL, live),
    isDone: () => device().state === 'reinstalling',
    isOnce: true,
  },
  {
    what: 'a power-off',
    request: ['POST', ACTIONS],
    act: () => power('off'),
    isDone: () => device().state === 'powering_off',
  },
  {
    what: 'an update',
    request: ['PUT', DEVICE],
    act: () => stand.client.updateDevice(ID, { hostname: 'two', tags: ['a', 'b'] }, live),
    isDone: () => device().hostname === 'two' && device().tags.join() === 'a,b',
  },
  {
    what: 'a stored key',
    request: ['POST', PROJECT_KEYS],
    act: () => stand.client.ensureSshKey(KEY, live),
    isDone: async () => (await keys()).length === 1,
  },
  {
    what: 'a replaced key',
    request: ['PATCH', ONE_KEY],
    act: async () => {
      await stand.client.ensureSshKey(KEY, live);
      return stand.client.ensureSshKey(OTHER_KEY, live);
    },
    isDone: async () => (await keys())[0]!.key === OTHER_KEY.key,
  },
  {
    what: 'a deleted key',
    request: ['DELETE', ONE_KEY],
    act: async () => {
      const id = await stand.client.ensureSshKey(KEY, live);
      return stand.client.deleteSshKey(id, live);
    },
    isDone: async () => (await keys()).length === 0,
  },
];

test.each(CHANGES)('$what succeeds when its reply is lost, and is sent once', async (row) => {
  const [method, route] = row.request;
  fault(method, route, LOST);
  await stand.run(row.act());
  expect([sent(route, method).length, await row.isDone()]).toEqual([1, true]);
});

test.each(CHANGES)(
  '$what is repeated if it was never sent, or has an unknown outcome',
  async (row) => {
    const [method, route] = row.request;
    fault(method, route, UNSENT);
    if (row.isOnce) {
      const error = await stand.failureOf(row.act());
      expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
      expect([sent(route, method).length, executed(route, method)]).toEqual([1, []]);
      return;
    }
    await stand.run(row.act());
    expect([sent(route, method).length, await row.isDone()]).toEqual([2, true]);
  },
);

test('vector 26: a deletion succeeds when the deleted device vanishes at once', async () => {
  stand = await createStand({ fake: { world: WORLD, timings: { deprovisioningMs: 0 } } });
  fault('DELETE', DEVICE, LOST);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(executed(DEVICE, 'DELETE')).toHaveLength(1);
});

test('sends DELETE without body or force, and treats a missing device as success', async () => {
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.calls().map(({ query, body = null }) => [query, body])).toEqual([[{}, null]]);
  stand.clock.increment(60_000);
  await stand.run(stand.client.deleteDevice(ID, live));
  expect(stand.calls().at(-1)).toMatchObject({ method: 'DELETE', status: 404 });
});

test('passes on a definite refusal of DELETE', async () => {
  stand.fake.setDeviceState(ID, 'provisioning');
  const error = await stand.failureOf(stand.client.deleteDevice(ID, live));
  expect(error).toMatchObject({ kind: 'invalid', status: 422, outcome: 'not-done' });
  expect(stand.calls()).toHaveLength(1);
});

test('does not accept the event of an earlier reboot as proof', async () => {
  await stand.run(reboot());
  stand.clock.increment(120_000);
  fault('POST', ACTIONS, UNSENT);
  expect(await stand.failureOf(reboot())).toMatchObject({ outcome: 'unknown' });
});

test('power: repeats an unsent request once, then reports an unknown outcome', async () => {
  fault('POST', ACTIONS, UNSENT, 5);
  const error = await stand.failureOf(power('off'));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(sent(ACTIONS)).toHaveLength(2);
});

test('power: treats the present state as success, and refuses an impossible one', async () => {
  await stand.run(power('on'));
  stand.fake.setDeviceState(ID, 'provisioning');
  const error = await stand.failureOf(power('on'));
  expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
});

test('sends only the given fields, and returns no secret', async () => {
  const patch = { hostname: 'deleted-one', userdata: '#!/bin/sh' };
  const updated = await stand.run(stand.client.updateDevice(ID, patch, live));
  expect(updated).not.toHaveProperty('userdata');
  expect(stand.calls()).toMatchObject([{ query: { include: 'facility' } }]);
  expect(stand.calls()[0]!.body).toEqual({ ...patch, userdata: '***' });
  stand.fake.setDeviceState(ID, 'active');
  await stand.run(stand.client.actOnce(ID, REINSTALL, live));
  expect(executed(ACTIONS).map((call) => call.body)).toEqual([REINSTALL]);
});

test('vector 29: accepts the same blob after one call, and replaces an earlier key of ours', async () => {
  const id = await hold(KEY);
  stand.forget();
  expect(await hold({ ...KEY, key: `${publicKeyLine(1, 'another comment')}\n` })).toBe(id);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`]);
  stand.forget();
  const replaced: string[] = [];
  const onReplaced = (previous: string) => void replaced.push(previous);
  expect(await hold(OTHER_KEY, onReplaced)).toBe(id);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`, `PATCH ${ONE_KEY}`]);
  expect(replaced).toEqual([publicKeyLine(1)]);
});

test('vector 29: refuses to overwrite a key with our label that is not known as ours', async () => {
  await hold(KEY);
  stand.forget();
  const other = { ...KEY, key: publicKeyLine(2), previousKeys: [publicKeyLine(3)] };
  const error = await stand.failureOf(stand.client.ensureSshKey(other, live));
  expect(error).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(error.message).toMatch(/SHA256:\S{43}.*ssh\.previousKeyPaths.*another sshKeyLabel/);
  expect(stand.routes()).toEqual([`GET ${PROJECT_KEYS}`]);
  expect(await keys()).toMatchObject([{ label: KEY.name, key: KEY.key }]);
});

test('vector 30: finds a key stored behind a 404 by its label, and reports NotFound without one', async () => {
  const match = { method: 'POST', route: PROJECT_KEYS };
  stand.fake.addFault({ match, times: 1, effect: { type: 'status', code: 404 } });
  const error = await stand.failureOf(stand.client.ensureSshKey(KEY, live));
  expect(error).toMatchObject({ kind: 'not-found', outcome: 'not-done' });
  const stored = { type: 'status', code: 404, executed: true } as const;
  stand.fake.addFault({ match, times: 1, effect: stored });
  const id = await hold(KEY);
  expect(await keys()).toMatchObject([{ id, label: KEY.name }]);
  expect(executed(PROJECT_KEYS)).toHaveLength(1);
});

test('changes a key by PUT if PATCH is not allowed', async () => {
  await hold(KEY);
  const match = { method: 'PATCH', route: ONE_KEY };
  stand.fake.addFault({ match, effect: { type: 'status', code: 405 } });
  await hold(OTHER_KEY);
  expect(stand.calls().slice(-2)).toMatchObject([
    { method: 'PATCH', status: 405 },
    { method: 'PUT', status: 200 },
  ]);
});

test('marks an ambiguous change that ends with the budget as ambiguous', async () => {
  fault('DELETE', DEVICE, UNSENT, 1_000);
  const error = await stand.failureOf(stand.client.deleteDevice(ID, live));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(stand.clock.monotonic()).toBeLessThanOrEqual(15 * 60_000);
});

test('reports an abort in the middle of a change as Cancelled and ambiguous', async () => {
  const match = { method: 'DELETE', route: DEVICE };
  stand.fake.addFault({ match, effect: { type: 'hang', phase: 'after' } });
  const controller = new AbortController();
  const deletion = stand.failureOf(stand.client.deleteDevice(ID, controller.signal));
  await settled();
  expect(stand.calls()[0]?.executed).toBe(true);
  controller.abort();
  expect(await deletion).toMatchObject({ kind: 'aborted', outcome: 'unknown' });
});
