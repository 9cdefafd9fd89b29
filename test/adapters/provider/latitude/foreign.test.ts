import { expect, test } from 'vitest';
import { callOf, faultAt, live, nameOf, slotOf, startStand, witnessOf } from './stand.ts';

const ORDER = 'POST /servers';
test('vector 13: a stranger that took the name while our order was lost is not taken for ours', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  stand.fake.addFault(faultAt(ORDER, { type: 'drop', phase: 'before' }));
  const onAttempt = async () => void stand.stranger(nameOf(1));
  const order = await stand.orderFor(provider, { onAttempt });
  // It may still be ours, and only not tell yet what it was installed with.
  await expect(stand.run(provider.createMachine(order, live))).rejects.toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
  });
  await stand.wait(120_000);
  await expect(
    stand.run(provider.createMachine({ ...order, resumed: true }, live)),
  ).rejects.toMatchObject({ kind: 'race-lost' });
  await expect(
    stand.run(provider.findByWitness(witnessOf(1), slotOf(1), live)),
  ).rejects.toMatchObject({ kind: 'race-lost' });
  expect(stand.count(ORDER)).toBe(1);
});

test('vector 13: a stranger beside a machine of ours is not changed by its id', async () => {
  const stand = await startStand();
  await stand.made(stand.fleet());
  const [mine] = stand.fake.servers();
  stand.stranger(nameOf(1));
  const driver = stand.open();
  const stranger = stand.fake.servers().find(({ id }) => id !== mine!.id)!;
  const seq = stand.lastSeq();
  const doing = [
    async () => driver.deprovisionMachine(stranger.id, callOf()),
    async () => void (await driver.rebootMachine(stranger.id, 'force', callOf())),
    async () => void (await driver.setPower!(stranger.id, 'off', callOf())),
  ];
  for (const each of doing) {
    await expect(stand.run(each())).rejects.toMatchObject({ kind: 'auth' });
  }
  expect(stand.changes(seq)).toEqual([]);
  await stand.run(driver.deprovisionMachine(mine!.id, callOf()));
  expect(stand.fake.servers()).toMatchObject([{ id: stranger.id }]);
});

test('a machine that the search by name leaves out keeps its record, and no second one is ordered', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider, { n: 2 });
  await stand.made(provider);
  const [record] = stand.fake.userData();
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers' },
    times: 3,
    effect: { type: 'pages', does: 'omitted' },
  });
  const seq = stand.lastSeq();
  await expect(stand.run(provider.createMachine(order, live))).rejects.toMatchObject({
    outcome: 'not-done',
  });
  expect(stand.changes(seq)).toEqual([]);
  expect(stand.fake.servers()).toHaveLength(1);
  expect(stand.fake.userData()).toMatchObject([{ id: record!.id }]);
});

test('a search by name that shows nothing is no proof that a record has no machine', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider, { n: 2 });
  const { id } = await stand.made(provider);
  stand.fake.addFault(faultAt('GET /servers', { type: 'listLag', ms: 3_600_000 }));
  const seq = stand.lastSeq();
  await expect(stand.run(provider.createMachine(order, live))).rejects.toMatchObject({
    kind: 'race-lost',
  });
  expect(stand.changes(seq)).toEqual([]);
  expect((await stand.run(provider.getMachine(id!, live))).ownership).toBe('ours');
});

test('one of two servers of a name that is just going spoils no listing', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  stand.stranger(nameOf(1));
  const stranger = stand.fake.servers().find((each) => each.id !== id)!;
  stand.fake.addFault({
    match: { route: '/servers/{id}/deploy_config', server: stranger.id },
    effect: {
      type: 'status',
      code: 404,
      body: { errors: [{ code: 'not_found', status: '404', detail: 'Not Found' }] },
    },
  });
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines.find((each) => each.id === id)).toMatchObject({ ownership: 'ours' });
  expect(machines.find((each) => each.id === stranger.id)).toMatchObject({ ownership: 'foreign' });
});

test('where the API does not tell what a server was installed with, nothing is done to it', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  const untold = { data: { id, type: 'deploy_configs', attributes: {} } };
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers/{id}/deploy_config' },
    effect: { type: 'status', code: 200, body: untold },
  });
  const other = stand.fleet();
  const seq = stand.lastSeq();
  for (const order of [
    async () => other.deprovisionMachine(id!, live),
    async () => void (await other.rebootMachine(id!, 'force', live)),
    async () => void (await other.reinstallMachine(id!, live)),
  ]) {
    const failed: unknown = await stand.run(order().catch((error: unknown) => error));
    expect(failed).toMatchObject({ kind: 'auth', outcome: 'not-done' });
    expect((failed as Error).message).toContain('take the server in');
  }
  expect(stand.changes(seq)).toEqual([]);
  // It is shown as ours all the same, and its slot is not free for a second one.
  const { machines } = await stand.run(other.listMachines(live));
  expect(machines.map((each) => [each.reservationId, each.ownership])).toEqual([
    [slotOf(1), 'ours'],
    [slotOf(2), 'ours'],
  ]);
  await expect(stand.run(other.findByWitness(witnessOf(1), slotOf(1), live))).rejects.toMatchObject(
    { kind: 'race-lost' },
  );
});
