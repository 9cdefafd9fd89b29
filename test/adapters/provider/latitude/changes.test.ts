import { expect, test } from 'vitest';
import { faultAt, live, nameOf, slotOf, startStand, startWithMachine, witnessOf } from './stand.ts';

const ACT = 'POST /servers/{id}/actions';
const REINSTALL = 'POST /servers/{id}/reinstall';
test('a reboot is one action, whatever its mode', async () => {
  const { stand, provider, id, seq } = await startWithMachine();
  const { operationRef } = await stand.run(provider.rebootMachine(id, 'force', live));
  expect(operationRef).toContain(id);
  expect(stand.changes(seq)).toEqual([ACT]);
});

test.each([
  ['was carried out', { type: 'drop', phase: 'after' }],
  ['was not carried out', { type: 'drop', phase: 'before' }],
  [
    'is answered with a page in HTML',
    { type: 'status', code: 500, body: '<html>', executed: true },
  ],
] as const)(
  'vector 21: a reboot whose answer is lost is not repeated; it %s',
  async (_, effect) => {
    const { stand, provider, id, seq } = await startWithMachine();
    stand.fake.addFault(faultAt(ACT, effect));
    await expect(stand.run(provider.rebootMachine(id, 'graceful', live))).rejects.toMatchObject({
      outcome: 'unknown',
    });
    expect(stand.changes(seq)).toEqual([ACT]);
  },
);

test('a machine that is off is switched on instead of rebooted', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  await stand.run(provider.setPower(id, 'off', live));
  await stand.wait(60_000);
  expect(await read()).toMatchObject({ power: 'off', status: 'Stopped' });
  await stand.run(provider.rebootMachine(id, 'graceful', live));
  await stand.wait(60_000);
  expect(await read()).toMatchObject({ power: 'on', status: 'Running' });
});

test('vector 22: what is off already is not switched off', async () => {
  const { stand, provider, id } = await startWithMachine();
  await stand.run(provider.setPower(id, 'off', live));
  await stand.wait(60_000);
  const seq = stand.lastSeq();
  await stand.run(provider.setPower(id, 'off', live));
  expect(stand.changes(seq)).toEqual([]);
});

test('power whose answer is lost is looked for, and not asked for again', async () => {
  const { stand, provider, id, seq } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, { type: 'drop', phase: 'after' }));
  await stand.run(provider.setPower(id, 'off', live));
  expect(stand.changes(seq)).toEqual([ACT]);
  stand.fake.addFault(faultAt(ACT, { type: 'drop', phase: 'before' }));
  const beganMs = stand.clock.now();
  await expect(stand.run(provider.setPower(id, 'on', live))).rejects.toMatchObject({
    outcome: 'unknown',
  });
  expect(stand.clock.now() - beganMs).toBeGreaterThanOrEqual(60_000);
  expect(stand.changes(seq)).toEqual([ACT, ACT]);
});

test('while it is being installed nothing is asked of a machine, and that will pass', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  const { id } = await stand.run(provider.createMachine(order, live));
  await stand.wait(60_000);
  const seq = stand.lastSeq();
  const orders: (() => Promise<unknown>)[] = [
    () => provider.rebootMachine(id!, 'force', live),
    () => provider.setPower(id!, 'off', live),
    () => provider.reinstallMachine(id!, live),
  ];
  for (const asked of orders) {
    await expect(stand.run(asked())).rejects.toMatchObject({
      kind: 'transient',
      outcome: 'not-done',
    });
  }
  expect(stand.changes(seq)).toEqual([]);
});

test('an action that is refused while on is only the installer’s will pass', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  const { id } = await stand.run(provider.createMachine(order, live));
  // The flash of `on` before the deployment.
  await stand.wait(10_000);
  expect((await stand.run(provider.getMachine(id!, live))).status).toBe('Provisioning');
  await expect(stand.run(provider.rebootMachine(id!, 'force', live))).rejects.toMatchObject({
    kind: 'transient',
    outcome: 'not-done',
  });
});

test('an action that is refused for good is told as that', async () => {
  const { stand, provider, id } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, { type: 'status', code: 422 }));
  await expect(stand.run(provider.rebootMachine(id, 'force', live))).rejects.toMatchObject({
    kind: 'invalid',
    outcome: 'not-done',
  });
});

test('a reinstallation keeps the machine, and its new record takes the place of the old one', async () => {
  const { stand, provider, id, read, seq } = await startWithMachine();
  const [before] = stand.fake.userData();
  const { tags: old } = await read();
  await stand.run(provider.reinstallMachine(id, live));
  expect(stand.changes(seq)).toEqual(['POST /user_data', REINSTALL, 'DELETE /user_data/{id}']);
  const [after, ...more] = stand.fake.userData();
  expect([more, after!.id === before!.id]).toEqual([[], false]);
  expect(stand.fake.servers()).toMatchObject([{ id, userData: after!.id, hostname: nameOf(1) }]);
  const machine = await read();
  expect(machine).toMatchObject({ status: 'Provisioning', ownership: 'ours' });
  const secret = 'shepherd-InstanceSecret';
  expect(machine.tags).toEqual({ ...old, [secret]: expect.any(String) });
  expect(machine.tags[secret]).not.toBe(old[secret]);
  await stand.wait(20 * 60_000);
  expect(await read()).toMatchObject({ status: 'Running', power: 'on' });
});

test('vector 16: on is stale right after a reinstallation', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  stand.fake.addFault({ match: { server: id }, effect: { type: 'statusText', shows: 'on' } });
  await stand.run(provider.reinstallMachine(id, live));
  await stand.wait(60_000);
  expect(await read()).toMatchObject({ status: 'Provisioning', power: 'on' });
});

test('vector 23: a reinstallation that is refused leaves the old record, and no other', async () => {
  const { stand, provider, id, read, seq } = await startWithMachine();
  const before = stand.fake.userData();
  const { tags } = await read();
  stand.fake.addFault(faultAt(REINSTALL, { type: 'status', code: 422 }));
  await expect(stand.run(provider.reinstallMachine(id, live))).rejects.toMatchObject({
    kind: 'invalid',
    outcome: 'not-done',
  });
  expect(stand.fake.userData()).toEqual(before);
  expect((await read()).tags).toEqual(tags);
  expect(stand.changes(seq)).toContain('DELETE /user_data/{id}');
});

test('vector 24: a reinstallation whose answer is lost: the server says which record it has', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  const [before] = stand.fake.userData();
  stand.fake.addFault(faultAt(REINSTALL, { type: 'drop', phase: 'after' }));
  await stand.run(provider.reinstallMachine(id, live));
  expect(stand.count(REINSTALL)).toBe(1);
  const [after, ...more] = stand.fake.userData();
  expect([more, after!.id === before!.id]).toEqual([[], false]);
  expect((await read()).ownership).toBe('ours');
});

test('vector 24: one that was never carried out is unknown; the old record counts, and the new one is swept', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  const [before] = stand.fake.userData();
  const { tags } = await read();
  stand.fake.addFault(faultAt(REINSTALL, { type: 'drop', phase: 'before' }));
  await expect(stand.run(provider.reinstallMachine(id, live))).rejects.toMatchObject({
    outcome: 'unknown',
  });
  expect(stand.count(REINSTALL)).toBe(1);
  expect(stand.fake.userData()).toHaveLength(2);
  const { machines } = await stand.run(stand.fleet().listMachines(live));
  expect(machines[0]).toMatchObject({ id, ownership: 'ours', tags });
  await stand.wait(3_700_000);
  await stand.run(provider.sweep({ ...live, dryRun: false }));
  expect(stand.fake.userData().map((record) => record.id)).toEqual([before!.id]);
});

test('tags of ours are replaced, others stay, and everybody sees it', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live));
  const machine = await read();
  expect(machine.tags).toMatchObject({
    'shepherd-IdleBehavior': 'hold',
    'shepherd-op': witnessOf(1),
  });
  const another = await stand.run(stand.fleet().getMachine(id, live));
  expect(another.tags).toEqual(machine.tags);
  expect(another.status).toBe('Running');
});

test.each([
  ['before', 'after'],
  ['after', 'after'],
])('tags whose answer is lost (%s it was done) are looked at, and written again', async (phase) => {
  const { stand, provider, id, read } = await startWithMachine();
  const effect = { type: 'drop', phase: phase as 'before' } as const;
  stand.fake.addFault(faultAt('PATCH /user_data/{id}', effect));
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'drain' }, live));
  expect((await read()).tags['shepherd-IdleBehavior']).toBe('drain');
});

test('vector 28: somebody deleted the record: nobody’s, untouched, and ours again once it is taken in', async () => {
  const { stand, provider, id, read } = await startWithMachine();
  const [record] = stand.fake.userData();
  await stand.api('DELETE', `/user_data/${record!.id}`);
  expect(await read()).toMatchObject({ ownership: 'untagged', reservationId: slotOf(1) });
  const seq = stand.lastSeq();
  const orders: (() => Promise<unknown>)[] = [
    () => provider.rebootMachine(id, 'force', live),
    () => provider.deprovisionMachine(id, live),
    () => provider.reinstallMachine(id, live),
  ];
  for (const refused of orders) {
    await expect(stand.run(refused())).rejects.toMatchObject({ kind: 'conflict' });
  }
  expect(stand.changes(seq)).toEqual([]);
  const taken = await stand.run(provider.assimilate(id, witnessOf(5), live));
  expect(taken).toMatchObject({ ownership: 'ours', status: 'Running' });
  expect((await read()).tags['shepherd-op']).toBe(witnessOf(5));
  await stand.run(provider.rebootMachine(id, 'force', live));
});

test('nothing is sent when the change is not wanted any more', async () => {
  const { stand, provider, id, seq } = await startWithMachine();
  const how = { ...live, beforeSending: () => Promise.reject(new Error('not any more')) };
  const orders: (() => Promise<unknown>)[] = [
    () => provider.rebootMachine(id, 'force', how),
    () => provider.setPower(id, 'off', how),
    () => provider.deprovisionMachine(id, how),
    () => provider.reinstallMachine(id, how),
  ];
  for (const asked of orders) {
    await expect(stand.run(asked())).rejects.toThrow('not any more');
  }
  expect(stand.changes(seq).filter((line) => !line.includes('user_data'))).toEqual([]);
  expect(stand.fake.userData()).toHaveLength(1);
});
