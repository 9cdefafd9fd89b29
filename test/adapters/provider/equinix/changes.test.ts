import { expect, test } from 'vitest';
import {
  IDLE_TAG,
  SECRET_TAG,
  SET_ID_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { callOf, INSTANCE_SET_ID, live } from '../driver-stand.ts';
import { settled } from '../../../doubles/simulated-clock.ts';
import { FOREIGN, OURS, type Stand, startStand } from './stand.ts';

const UPDATE = 'PUT /devices/{id}';
const ACT = 'POST /devices/{id}/actions';
const NAME = 'shepherd-ci-x';

let stand: Stand;
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

test('tags of ours are replaced as this API spells them; all others stay, in order', async () => {
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
])('%s: only on devices that are ours by name and by tag', async (_, change) => {
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

test('before a reinstallation its first-boot script and tags are in place', async () => {
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

test('another image is asked for by its name', async () => {
  stand = await start();
  await stand.driver.reinstallMachine(id(), { ...REINSTALL, image: 'debian_12' }, callOf());
  expect(actions()).toEqual([{ type: 'reinstall', operating_system: 'debian_12' }]);
});

test('a refused reinstallation leaves the tags as they were', async () => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`] });
  refuseActions(422);
  const refused = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(refused).rejects.toMatchObject({ code: 'invalid', outcome: 'not-done' });
  expect(tags()).toEqual([...OURS, `${SECRET_TAG}=old`]);
});

test.each([
  ['before it was asked for', { method: 'GET', route: '/devices/{id}/events' }],
  ['while it was prepared', { method: 'PUT', route: '/devices/{id}' }],
])('a reinstallation given up %s leaves the tags as they were', async (_, match) => {
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

test('a reinstallation of unknown outcome leaves the tags of the new system', async () => {
  stand = await start({ tags: [...OURS, `${SECRET_TAG}=old`] });
  refuseActions(500);
  const lost = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(lost).rejects.toMatchObject({ outcome: 'unknown' });
  expect(tags()).toContain(`${SECRET_TAG}=new`);
});

test('a locked device, or one in a state that passes, is not even prepared', async () => {
  stand = await start({ locked: true });
  const locked = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(locked).rejects.toMatchObject({ code: 'conflict' });
  stand.fake.setDeviceState(id(), 'reinstalling');
  const passing = stand.driver.reinstallMachine(id(), REINSTALL, callOf());
  await expect(passing).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  expect(stand.changes()).toEqual([]);
});

test('both ways to reboot are the one that the API has', async () => {
  stand = await start();
  await stand.provider.rebootMachine(id(), 'graceful', live);
  await stand.provider.rebootMachine(id(), 'force', live);
  expect(actions()).toEqual([{ type: 'reboot' }, { type: 'reboot' }]);
});

test('an action that is refused because of a passing state may be repeated', async () => {
  stand = await start();
  stand.fake.setDeviceState(id(), 'powering_on');
  const reboot = stand.driver.rebootMachine(id(), 'graceful', callOf());
  await expect(reboot).rejects.toMatchObject({ code: 'transient', retryable: true });
  stand.fake.setDeviceState(id(), 'inactive');
  const never = stand.driver.rebootMachine(id(), 'graceful', callOf());
  await expect(never).rejects.toMatchObject({ code: 'invalid' });
});
