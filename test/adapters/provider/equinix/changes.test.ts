import { expect, test } from 'vitest';
import { deletedName } from '../../../../src/adapters/provider/equinix/device-view.ts';
import {
  IDLE_TAG,
  SECRET_TAG,
  SET_ID_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { settled, advance } from '../../../doubles/simulated-clock.ts';
import { callOf, INSTANCE_SET_ID, live } from '../driver-stand.ts';
import { FOREIGN, OURS, startStand, reservationId, type EquinixStand } from './stand.ts';

const UPDATE = 'PUT /devices/{id}';
const ACT = 'POST /devices/{id}/actions';
const NAME = 'shepherd-ci-x';

let stand: EquinixStand;
const start = (device: object = {}) =>
  startStand({ devices: [{ hostname: NAME, tags: OURS, ...device }] });
const tags = () => stand.fake.devices()[0]?.tags ?? [];
const id = () => stand.fake.devices()[0]!.id;
const actions = () =>
  stand.fake
    .requests()
    .filter(({ method, route }) => `${method} ${route}` === ACT)
    .map(({ body }) => body);
const refuseActions = (code: number) =>
  stand.fake.addFault({
    match: { method: 'POST', route: '/devices/{id}/actions' },
    effect: { type: 'status', code, body: { errors: ['no'] } },
  });

test("replaces our tags in the API's spelling, and keeps all others in order", async () => {
  const foreign = ['team=a', 'plain', 'team=a', 'x=y=z'];
  stand = await start({ tags: [...foreign, 'shepherd-old=1', ...OURS, 'shepherd-plain'] });
  const ours = { [SET_ID_TAG]: INSTANCE_SET_ID, [IDLE_TAG]: 'hold' };
  await stand.driver.setTags(id(), { ...ours, team: 'b' }, callOf());
  expect(tags()).toEqual([...foreign, ...OURS, `${IDLE_TAG}=hold`]);
});

test.each([
  ['tags', (which: string) => stand.provider.setTags(which, {}, live)],
  ['reboot', (which: string) => stand.provider.rebootMachine(which, 'force', live)],
  ['power', (which: string) => stand.provider.setPower(which, 'off', live)],
  ['reinstall', (which: string) => stand.provider.reinstallMachine(which, live)],
])('%s: changes only devices that are ours by name and by tag', async (_, change) => {
  stand = await startStand({
    devices: [
      { hostname: 'shepherd-ci-orphan' },
      { hostname: 'shepherd-ci-foreign', tags: FOREIGN },
      { hostname: 'shepherd-ci-disputed', tags: [...OURS, ...FOREIGN] },
      { hostname: 'stranger', tags: OURS },
    ],
  });
  for (const device of stand.fake.devices()) {
    await expect(change(device.id)).rejects.toMatchObject({
      code: 'conflict',
      outcome: 'not-done',
    });
  }
  const unknown = change('00000000-0000-4000-8000-00000000dead');
  await expect(unknown).rejects.toMatchObject({ code: 'not-found' });
  expect(stand.changes()).toEqual([]);
});

const REINSTALL = {
  image: null,
  tags: { [SET_ID_TAG]: INSTANCE_SET_ID, [SECRET_TAG]: 'new' },
  initCommand: '#!/bin/sh\necho new',
  publicKey: '',
};

test('stores the first-boot script and the tags before a reinstallation', async () => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`, 'team=a'] });
  const seq = stand.lastSeq();
  const { operationRef } = await stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  expect(operationRef).toMatch(/^reinstall\//);
  expect(stand.changes(seq)).toEqual([UPDATE, ACT]);
  const update = stand.fake.requests().find(({ method }) => method === 'PUT');
  expect(Object.keys(update?.body as object).toSorted()).toEqual(['tags', 'userdata']);
  expect(actions()).toEqual([{ type: 'reinstall' }]);
  expect(tags()).toEqual(['team=a', ...OURS, `${SECRET_TAG}=new`]);
  expect(stand.fake.devices()[0]?.state).toBe('reinstalling');
});

test('requests another image by its name', async () => {
  stand = await start();
  await stand.driver.reinstallMachine(id(), { ...REINSTALL, image: 'debian_12' }, callOf());
  expect(actions()).toEqual([{ type: 'reinstall', operating_system: 'debian_12' }]);
});

test('keeps the tags after a refused reinstallation', async () => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`] });
  refuseActions(422);
  const refused = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(refused).rejects.toMatchObject({ code: 'invalid', outcome: 'not-done' });
  expect(tags()).toEqual([...OURS, `${SECRET_TAG}=old`]);
});

test.each([
  ['before it was asked for', { method: 'GET', route: '/devices/{id}/events' }],
  ['while it was prepared', { method: 'PUT', route: '/devices/{id}' }],
])('keeps the tags after a reinstallation given up %s', async (_, match) => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`] });
  stand.fake.addFault({ match, times: 1, effect: { type: 'hang', phase: 'after' } });
  const controller = new AbortController();
  const { signal } = controller;
  const given = stand.bareDriver.reinstallMachine(id(), REINSTALL, callOf({ signal }));
  const failed = expect(given).rejects.toMatchObject({ code: 'aborted' });
  const isHung = () =>
    stand.fake
      .requests()
      .some(({ method, route }) => method === match.method && route === match.route);
  await settled();
  expect(isHung()).toBe(true);
  expect(tags()).toContain(`${SECRET_TAG}=new`);
  controller.abort();
  await failed;
  expect(tags()).toEqual([...OURS, `${SECRET_TAG}=old`]);
  expect(actions()).toEqual([]);
});

test('keeps the tags of the new system after a reinstallation with unknown outcome', async () => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`] });
  refuseActions(500);
  const lost = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(lost).rejects.toMatchObject({ outcome: 'unknown' });
  expect(tags()).toContain(`${SECRET_TAG}=new`);
});

test('does not prepare a locked device, nor one in a transient state', async () => {
  stand = await start({ locked: true });
  const locked = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(locked).rejects.toMatchObject({ code: 'conflict' });
  stand.fake.setDeviceState(id(), 'reinstalling');
  const passing = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(passing).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  expect(stand.changes()).toEqual([]);
});

test("uses the API's one reboot for both modes", async () => {
  stand = await start();
  await stand.provider.rebootMachine(id(), 'graceful', live);
  await stand.provider.rebootMachine(id(), 'force', live);
  expect(actions()).toEqual([{ type: 'reboot' }, { type: 'reboot' }]);
});

test('allows a retry of an action that is refused because of a transient state', async () => {
  stand = await start();
  stand.fake.setDeviceState(id(), 'powering_on');
  const reboot = stand.driver.rebootMachine(id(), 'graceful', callOf());
  await expect(reboot).rejects.toMatchObject({ code: 'transient', retryable: true });
  stand.fake.setDeviceState(id(), 'inactive');
  const never = stand.driver.rebootMachine(id(), 'graceful', callOf());
  await expect(never).rejects.toMatchObject({ code: 'invalid' });
});

const RENAME = 'PUT /devices/{id}';
const DELETE = 'DELETE /devices/{id}';
const SLOT = reservationId(1);
const ONE_OF_OURS = {
  reservations: [{ id: SLOT }],
  devices: [{ hostname: NAME, tags: OURS, reservation: SLOT }],
};
/** Deprovisioning never ends. */
const SLOW = { emulator: { timings: { deprovisioningMs: 600_000 } } };

const giveBack = (id: string) => stand.provider.deprovisionMachine(id, live);

test('renames and deletes a device, and frees its reservation after the cleaning', async () => {
  stand = await startStand(ONE_OF_OURS, {
    emulator: { timings: { deprovisioningMs: 50_000, cleaningMs: 50_000 } },
  });
  const id = stand.deviceId(NAME);
  await giveBack(id);
  expect(stand.changes()).toEqual([RENAME, DELETE]);
  expect(await stand.provider.getMachine(id, live)).toMatchObject({
    hostname: `deleted-${NAME}`,
    status: 'Missing',
    ownership: 'ours',
  });
  expect(await stand.provider.isReusable(SLOT, live)).toBe(false);
  await advance(stand.deps.clock, 100_000);
  await expect(stand.provider.getMachine(id, live)).rejects.toMatchObject({ code: 'not-found' });
  expect(await stand.provider.isReusable(SLOT, live)).toBe(true);
  const { machines } = await stand.provider.listMachines(live);
  expect(machines).toMatchObject([{ reservationId: SLOT, availability: 'KnownUnused' }]);
});

test('deletes a renamed device later, under its current name', async () => {
  stand = await startStand({ devices: [{ hostname: `deleted-${NAME}`, tags: OURS }] }, SLOW);
  expect(await stand.listed(`deleted-${NAME}`)).toMatchObject({ status: 'Missing' });
  await giveBack(stand.deviceId(`deleted-${NAME}`));
  expect(stand.changes()).toEqual([DELETE]);
});

test('requests an accepted deletion only once', async () => {
  stand = await startStand(ONE_OF_OURS, SLOW);
  const id = stand.deviceId(NAME);
  await giveBack(id);
  await giveBack(id);
  expect(stand.changes()).toEqual([RENAME, DELETE]);
});

test.each([
  ['nobody’s', 'shepherd-ci-orphan', []],
  ['another owner’s', 'shepherd-ci-foreign', FOREIGN],
  ['disputed', 'shepherd-ci-disputed', [...OURS, ...FOREIGN]],
  ['not named by us', 'stranger', OURS],
  ['renamed and not named by us', 'deleted-stranger', OURS],
  ['renamed and another owner’s', `deleted-${NAME}`, FOREIGN],
])('keeps a device that is %s', async (_, hostname, tags) => {
  stand = await startStand({ devices: [{ hostname, tags }] });
  const id = stand.deviceId(hostname);
  await expect(giveBack(id)).rejects.toMatchObject({ code: 'conflict', outcome: 'not-done' });
  expect(stand.changes()).toEqual([]);
  expect(stand.fake.devices()).toMatchObject([{ hostname, tags }]);
});

/** The device itself is hidden. */
const hide = () =>
  stand.fake.addFault({
    match: { method: 'GET', deviceId: stand.deviceId(NAME) },
    effect: { type: 'status', code: 403 },
  });

test('does not report a hidden device as gone while a list or its reservation shows it', async () => {
  stand = await startStand(ONE_OF_OURS);
  const id = stand.deviceId(NAME);
  hide();
  const hidden = { code: 'transient', outcome: 'not-done' };
  await expect(giveBack(id)).rejects.toMatchObject(hidden);
  stand.fake.addFault({
    match: { method: 'GET', route: '/projects/{id}/devices' },
    effect: { type: 'status', code: 200, body: NO_DEVICES },
  });
  await expect(giveBack(id)).rejects.toMatchObject(hidden);
  expect(stand.changes()).toEqual([]);
  stand.fake.clearFaults();
  await giveBack(id);
  expect(stand.changes()).toEqual([RENAME, DELETE]);
});
const NO_DEVICES = { devices: [], meta: { total: 0, current_page: 1, last_page: 1 } };

test('reports a hidden device as given back once nothing shows it', async () => {
  stand = await startStand({ reservations: [{ id: SLOT }] });
  const id = '00000000-0000-4000-8000-00000000dead';
  stand.fake.addFault({
    match: { method: 'GET', route: '/devices/{id}' },
    effect: { type: 'status', code: 403 },
  });
  await giveBack(id);
  expect(stand.changes()).toEqual([]);
});

test('vector 36: refuses a deletion temporarily while the device is being provisioned', async () => {
  stand = await startStand(
    { reservations: [{ id: SLOT }] },
    { emulator: { timings: { queuedMs: 5, provisioningMs: 600_000, cleaningMs: 20 } } },
  );
  await stand.provider.prepare(live);
  const [unused] = (await stand.provider.listMachines(live)).machines;
  const witness = '0b6e1111-1111-4111-8111-111111111111' as never;
  const order = { unused: unused!, witness, hostname: stand.provider.hostnameFor(SLOT) };
  const { id } = await stand.provider.createMachine(order, live);
  const early = giveBack(id!);
  await expect(early).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  stand.fake.setDeviceState(id!, 'active');
  await giveBack(id!);
  await advance(stand.deps.clock, 60_000);
  expect(await stand.provider.isReusable(SLOT, live)).toBe(true);
});

test('vector 36: does not refuse a deletion for good if the device is active when the driver looks', async () => {
  stand = await startStand(ONE_OF_OURS, SLOW);
  const id = stand.deviceId(NAME);
  stand.fake.setDeviceState(id, 'provisioning');
  stand.fake.addFault({
    match: { method: 'DELETE' },
    times: 1,
    effect: { type: 'status', code: 422, body: { errors: ['still provisioning'] } },
  });
  const beforeSending = async () => {
    if (stand.count(RENAME) > 0) stand.fake.setDeviceState(id, 'active');
  };
  const early = stand.provider.deprovisionMachine(id, { ...live, beforeSending });
  await expect(early).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  await giveBack(id);
  expect(stand.fake.devices()).toMatchObject([{ state: 'deprovisioning' }]);
});

test('does not rename a locked device', async () => {
  stand = await startStand({ devices: [{ hostname: NAME, tags: OURS, locked: true }] });
  await expect(giveBack(stand.deviceId(NAME))).rejects.toMatchObject({ code: 'conflict' });
  expect(stand.changes()).toEqual([]);
});

test('gives up control of a reservation with a foreign device, of another project, or unknown', async () => {
  stand = await startStand({
    projects: [{ name: 'fleet' }, { name: 'elsewhere' }],
    reservations: [{ id: SLOT }, { id: reservationId(2), project: 'elsewhere' }],
  });
  stand.fake.snatch(SLOT);
  for (const id of [SLOT, reservationId(2), reservationId(9)]) {
    expect(await stand.provider.isReusable(id, live)).toBe(true);
  }
});

test('does not treat a reservation as free while it still shows the device that left it', async () => {
  stand = await startStand(ONE_OF_OURS, {
    emulator: { timings: { deprovisioningMs: 20, cleaningMs: 600_000 } },
  });
  const id = stand.deviceId(NAME);
  await giveBack(id);
  await advance(stand.deps.clock, 20);
  expect(stand.fake.devices()).toEqual([]);
  stand.fake.addFault({
    effect: { type: 'stale', resource: 'reservation', view: 'both', lagMs: 60_000 },
  });
  expect(await stand.provider.isReusable(SLOT, live)).toBe(false);
});

test.each(['spare', 'needOfService'])('does not reuse a reservation that is %s', async (flag) => {
  stand = await startStand({ reservations: [{ id: SLOT, [flag]: true }] });
  expect(await stand.provider.isReusable(SLOT, live)).toBe(false);
});

test('gives a leaving device a valid host name that differs from all others', async () => {
  stand = await startStand({});
  expect(deletedName('shepherd-ci-x')).toBe('deleted-shepherd-ci-x');
  expect(deletedName('deleted-shepherd-ci-x')).toBe('deleted-shepherd-ci-x');
  const longest = `${'a'.repeat(44)}-${'4f0c2d9a-7b1e-4c55'}`;
  expect(deletedName(longest)).toMatch(/^deleted-a{44}-[a-f0-9-]*[a-f0-9]$/);
  expect(deletedName(longest).length).toBeLessThanOrEqual(63);
});
