import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { faultAt, live, nameOf, slotOf, startStand, startWithMachine, witnessOf } from './stand.ts';

const ACT = 'POST /servers/{id}/actions';
const REINSTALL = 'POST /servers/{id}/reinstall';
const UNKNOWN = { outcome: 'unknown' };
const REFUSED = { kind: 'invalid', outcome: 'not-done' };
const NOT_YET = { kind: 'transient', outcome: 'not-done' };

test.each([
  { type: 'drop', phase: 'after' },
  { type: 'drop', phase: 'before' },
  { type: 'status', code: 500, body: '<html>', executed: true },
] as const)('vector 21: a reboot whose answer is lost by %j is not repeated', async (effect) => {
  const { stand, reboot, seq } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, effect));
  await stand.fails(reboot(), UNKNOWN);
  expect(stand.changes(seq)).toEqual([ACT]);
});

test('vector 22: switches off once, and switches on instead of a reboot of what is off', async () => {
  const { stand, id, read, reboot, setPower, seq } = await startWithMachine();
  await stand.run(setPower('off'));
  await stand.wait(60_000);
  expect(await read()).toMatchObject({ power: 'off', status: 'Stopped' });
  await stand.run(setPower('off'));
  expect(stand.changes(seq)).toEqual([ACT]);
  const { operationRef } = await stand.run(reboot());
  expect(operationRef).toContain(id);
  await stand.wait(60_000);
  expect(await read()).toMatchObject({ power: 'on', status: 'Running' });
});

test('power whose answer is lost is looked for, and not asked for again', async () => {
  const { stand, setPower, seq } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, { type: 'drop', phase: 'after' }));
  await stand.run(setPower('off'));
  expect(stand.changes(seq)).toEqual([ACT]);
  stand.fake.addFault(faultAt(ACT, { type: 'drop', phase: 'before' }));
  const beganMs = stand.clock.now();
  await stand.fails(setPower('on'), UNKNOWN);
  expect(stand.clock.now() - beganMs).toBeGreaterThanOrEqual(60_000);
  expect(stand.changes(seq)).toEqual([ACT, ACT]);
});

test('while it is being installed nothing is asked of a machine, and that will pass', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  const id = (await stand.run(provider.createMachine(order, live))).id!;
  // The flash of `on` before the deployment: only the refusal tells.
  await stand.wait(10_000);
  expect((await stand.run(provider.getMachine(id, live))).status).toBe('Provisioning');
  await stand.fails(provider.rebootMachine(id, 'force', live), NOT_YET);
  await stand.wait(50_000);
  const seq = stand.lastSeq();
  await stand.fails(provider.rebootMachine(id, 'force', live), NOT_YET);
  await stand.fails(provider.setPower(id, 'off', live), NOT_YET);
  await stand.fails(provider.reinstallMachine(id, live), NOT_YET);
  expect(stand.changes(seq)).toEqual([]);
});

test('an action that is refused for good is told as that', async () => {
  const { stand, reboot } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, { type: 'status', code: 422 }));
  await stand.fails(reboot(), REFUSED);
});

test('a reinstallation keeps the machine, and its new record takes the place of the old one', async () => {
  const { stand, id, read, reinstall, seq } = await startWithMachine();
  const [before] = stand.fake.userData();
  const { tags: old } = await read();
  await stand.run(reinstall());
  expect(stand.changes(seq)).toEqual(['POST /user_data', REINSTALL, 'DELETE /user_data/{id}']);
  const [after, ...more] = stand.fake.userData();
  expect([more, after!.id === before!.id]).toEqual([[], false]);
  expect(stand.fake.servers()).toMatchObject([{ id, userData: after!.id, hostname: nameOf(1) }]);
  const machine = await read();
  expect(machine).toMatchObject({ status: 'Provisioning', ownership: 'ours' });
  const secret = 'shepherd-InstanceSecret';
  expect(machine.tags).toEqual({ ...old, [secret]: expect.any(String) });
  expect(machine.tags[secret]).not.toBe(old[secret]);
  // Vector 16: `on` is stale right after a reinstallation.
  stand.fake.addFault({ times: 1, effect: { type: 'statusText', shows: 'on' } });
  expect(await read()).toMatchObject({ status: 'Provisioning', power: 'on' });
  await stand.wait(20 * 60_000);
  expect(await read()).toMatchObject({ status: 'Running', power: 'on' });
});

test.each([
  ['vector 23: that is refused before', { type: 'status', code: 422 }, REFUSED, ['old']],
  ['vector 24: that is lost before', { type: 'drop', phase: 'before' }, UNKNOWN, ['old', 'new']],
  ['vector 24: that is lost after', { type: 'drop', phase: 'after' }, null, ['new']],
] as const)(
  'a reinstallation %s it was done leaves the right record',
  async (_, effect, error, left) => {
    const { stand, read, reinstall } = await startWithMachine();
    const [[before], { tags }] = [stand.fake.userData(), await read()];
    stand.fake.addFault(faultAt(REINSTALL, effect));
    await (error ? stand.fails(reinstall(), error) : stand.run(reinstall()));
    expect(stand.count(REINSTALL)).toBe(1);
    const records = stand.fake.userData().map(({ id }) => (id === before!.id ? 'old' : 'new'));
    expect(records).toEqual(left);
    // The server says which record it has.
    const machine = await read();
    expect(machine.ownership).toBe('ours');
    expect(isDeepStrictEqual(machine.tags, tags)).toBe(left[0] === 'old');
  },
);

test.each(['before', 'after'] as const)(
  'tags whose answer is lost (%s it was done) are written once more; others stay, and everybody sees it',
  async (phase) => {
    const { stand, provider, id } = await startWithMachine();
    stand.fake.addFault(faultAt('PATCH /user_data/{id}', { type: 'drop', phase }));
    await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'drain' }, live));
    expect(await stand.run(stand.fleet().getMachine(id, live))).toMatchObject({
      tags: { 'shepherd-IdleBehavior': 'drain', 'shepherd-op': witnessOf(1) },
      status: 'Running',
    });
  },
);

test('vector 28: somebody deleted the record: nobody’s, untouched, and ours again once it is taken in', async () => {
  const { stand, provider, id, read, reboot, reinstall } = await startWithMachine();
  const [record] = stand.fake.userData();
  await stand.api('DELETE', `/user_data/${record!.id}`);
  expect(await read()).toMatchObject({ ownership: 'untagged', reservationId: slotOf(1) });
  const seq = stand.lastSeq();
  for (const call of [reboot, reinstall, () => provider.deprovisionMachine(id, live)]) {
    await stand.fails(call(), { kind: 'conflict' });
  }
  expect(stand.changes(seq)).toEqual([]);
  const taken = await stand.run(provider.assimilate(id, witnessOf(5), live));
  expect(taken).toMatchObject({ ownership: 'ours', status: 'Running' });
  expect((await read()).tags['shepherd-op']).toBe(witnessOf(5));
  await stand.run(reboot());
});

test('nothing is sent when the change is not wanted any more', async () => {
  const { stand, provider, id, seq } = await startWithMachine();
  const how = { ...live, beforeSending: () => Promise.reject(new Error('not any more')) };
  const notWanted = { message: 'not any more' };
  await stand.fails(provider.rebootMachine(id, 'force', how), notWanted);
  await stand.fails(provider.setPower(id, 'off', how), notWanted);
  await stand.fails(provider.deprovisionMachine(id, how), notWanted);
  await stand.fails(provider.reinstallMachine(id, how), notWanted);
  expect(stand.changes(seq).filter((line) => !line.includes('user_data'))).toEqual([]);
  expect(stand.fake.userData()).toHaveLength(1);
});
