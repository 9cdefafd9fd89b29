import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import {
  faultAt,
  live,
  nameOf,
  slotOf,
  startStand,
  startWithMachine,
  witnessOf,
  callOf,
} from './stand.ts';

const ACT = 'POST /servers/{id}/actions';
const REINSTALL = 'POST /servers/{id}/reinstall';
const UNKNOWN = { outcome: 'unknown' };
const REFUSED = { kind: 'invalid', outcome: 'not-done' };
const NOT_YET = { kind: 'transient', outcome: 'not-done' };

test.each([
  { type: 'drop', phase: 'after' },
  { type: 'drop', phase: 'before' },
  { type: 'status', code: 500, body: '<html>', executed: true },
] as const)('vector 21: does not repeat a reboot whose answer is lost by %j', async (effect) => {
  const { stand, reboot, seq } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, effect));
  await stand.fails(reboot(), UNKNOWN);
  expect(stand.changes(seq)).toEqual([ACT]);
});

test('vector 22: switches off once, and switches on instead of rebooting a stopped machine', async () => {
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

test('looks for the result of a power request with a lost answer, and does not repeat it', async () => {
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

test('refuses every request temporarily while the machine is being installed', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  const id = (await stand.run(provider.createMachine(order, live))).id!;
  // `on` shows for a moment before the deployment: only the refusal reveals it.
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

test('reports a final refusal of an action as final', async () => {
  const { stand, reboot } = await startWithMachine();
  stand.fake.addFault(faultAt(ACT, { type: 'status', code: 422 }));
  await stand.fails(reboot(), REFUSED);
});

test('keeps the machine in a reinstallation, and replaces the old record by a new one', async () => {
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
  'leaves the right record after a reinstallation %s it was done',
  async (_, effect, error, left) => {
    const { stand, read, reinstall } = await startWithMachine();
    const [[before], { tags }] = [stand.fake.userData(), await read()];
    stand.fake.addFault(faultAt(REINSTALL, effect));
    await (error ? stand.fails(reinstall(), error) : stand.run(reinstall()));
    expect(stand.count(REINSTALL)).toBe(1);
    const records = stand.fake.userData().map(({ id }) => (id === before!.id ? 'old' : 'new'));
    expect(records).toEqual(left);
    // The server names its record.
    const machine = await read();
    expect(machine.ownership).toBe('ours');
    expect(isDeepStrictEqual(machine.tags, tags)).toBe(left[0] === 'old');
  },
);

test.each(['before', 'after'] as const)(
  'writes tags once more if the answer is lost (%s it was done), and keeps others',
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

test('vector 28: disowns a machine whose record was deleted, and owns it again once adopted', async () => {
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

test('sends nothing once the change is withdrawn', async () => {
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

const DELETE = 'DELETE /servers/{id}';
const CONFLICT = { kind: 'conflict', outcome: 'not-done' };

test('vector 26: deletes a machine once, and its record only when the server is gone', async () => {
  const { stand, provider, giveBack, isReusable, read, seq } = await startWithMachine();
  stand.fake.addFault({ effect: { type: 'tombstone', ms: 60_000 } });
  await giveBack();
  expect(stand.changes(seq)).toEqual([DELETE]);
  expect(await isReusable()).toBe(false);
  expect((await read()).ownership).toBe('ours');
  await stand.wait(61_000);
  await giveBack();
  expect(await isReusable()).toBe(true);
  expect([stand.count(DELETE), stand.fake.userData()]).toEqual([1, []]);
  await stand.free(provider);
});

test('vector 25: leaves a locked server alone, and never unlocks it', async () => {
  const { stand, id, giveBack, seq } = await startWithMachine();
  stand.fake.addFault({ match: { server: id }, effect: { type: 'locked' } });
  await expect(giveBack()).rejects.toMatchObject(CONFLICT);
  expect(stand.changes(seq)).toEqual([]);
});

test.each([422, 403])(
  'vector 25: reports a refusal (%i) that mentions a lock as a conflict',
  async (code) => {
    const { stand, giveBack, read } = await startWithMachine();
    const body = { errors: [{ code: 'server_locked', detail: 'The server is locked' }] };
    stand.fake.addFault(faultAt(DELETE, { type: 'status', code, body }));
    await expect(giveBack()).rejects.toMatchObject(CONFLICT);
    // The answer does not mention our key, so nothing else waits.
    expect((await read()).ownership).toBe('ours');
  },
);

test.each(['before', 'after'] as const)(
  'vector 26: resolves a lost answer (%s it was done) by looking',
  async (phase) => {
    const { stand, giveBack, isReusable } = await startWithMachine();
    stand.fake.addFault(faultAt(DELETE, { type: 'drop', phase }));
    await giveBack();
    expect(stand.count(DELETE)).toBe(phase === 'before' ? 2 : 1);
    expect(stand.fake.servers()).toEqual([]);
    expect(await isReusable()).toBe(true);
  },
);

test('switches off and disowns a machine that leaves at the end of its billing cycle', async () => {
  const { stand, provider, reboot, read, giveBack, isReusable, seq } = await startWithMachine({
    onDeprovision: 'schedule',
  });
  await giveBack();
  expect(stand.changes(seq)).toEqual([
    'PATCH /user_data/{id}',
    'POST /servers/{id}/actions',
    'POST /servers/{id}/schedule_deletion',
  ]);
  expect(await read()).toMatchObject({
    ...{ status: 'Missing', ownership: 'foreign' },
    // No earlier request follows.
    leavesAtMs: expect.closeTo(stand.clock.now() + 3_600_000, -7),
  });
  expect(await stand.machines(provider)).toMatchObject([
    { reservationId: slotOf(1), availability: 'KnownUsed' },
    { reservationId: slotOf(2), availability: 'KnownUnused' },
  ]);
  await stand.fails(reboot(), { kind: 'conflict' });
  await giveBack();
  expect(stand.count('POST /servers/{id}/schedule_deletion')).toBe(1);
  expect(await isReusable()).toBe(false);
  await stand.wait(3_600_000);
  expect(await isReusable()).toBe(true);
  expect([stand.fake.servers(), stand.fake.userData()]).toEqual([[], []]);
});

test('keeps the record when a search by name finds nothing', async () => {
  const { stand, isReusable } = await startWithMachine();
  const body = { data: [], meta: { stats: { total: { count: 0 } } } };
  stand.fake.addFault(faultAt('GET /servers', { type: 'status', code: 200, body }));
  expect(await isReusable()).toBe(false);
  expect(stand.fake.userData()).toHaveLength(1);
});

const ORDER = 'POST /servers';
test('vector 13: does not mistake a foreign server with our name for the one of our lost order', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  stand.fake.addFault(faultAt(ORDER, { type: 'drop', phase: 'before' }));
  const onAttempt = async () => void stand.stranger(nameOf(1));
  const order = await stand.orderFor(provider, { onAttempt });
  // It may still be ours, and merely not report its record yet.
  await stand.fails(provider.createMachine(order, live), { kind: 'transient', outcome: 'unknown' });
  await stand.wait(120_000);
  const lost = { kind: 'race-lost' };
  await stand.fails(provider.createMachine({ ...order, resumed: true }, live), lost);
  await stand.fails(provider.findByWitness(witnessOf(1), slotOf(1), live), lost);
  expect(stand.count(ORDER)).toBe(1);
});

test('vector 13: does not change a foreign server beside our machine by its id', async () => {
  const { stand, id } = await startWithMachine();
  const stranger = stand.stranger(nameOf(1));
  const driver = stand.open();
  const seq = stand.lastSeq();
  await stand.fails(driver.deprovisionMachine(stranger, callOf()), { kind: 'auth' });
  await stand.fails(driver.rebootMachine(stranger, 'force', callOf()), { kind: 'auth' });
  await stand.fails(driver.setPower!(stranger, 'off', callOf()), { kind: 'auth' });
  expect(stand.changes(seq)).toEqual([]);
  await stand.run(driver.deprovisionMachine(id, callOf()));
  expect(stand.fake.servers()).toMatchObject([{ id: stranger }]);
});

test.each([
  ['leaves out', { type: 'pages', does: 'omitted' }, 3, {}],
  ['does not show yet', { type: 'listLag', ms: 3_600_000 }, 1, { kind: 'race-lost' }],
] as const)(
  'keeps the record of a machine that the search by name %s, and orders no second one',
  async (_, effect, times, error) => {
    const stand = await startStand();
    const provider = stand.fleet();
    const order = await stand.orderFor(provider, { n: 2 });
    const { id } = await stand.made(provider);
    stand.fake.addFault({ match: { method: 'GET', route: '/servers' }, times, effect });
    const seq = stand.lastSeq();
    await stand.fails(provider.createMachine(order, live), { outcome: 'not-done', ...error });
    expect(stand.changes(seq)).toEqual([]);
    expect((await stand.run(provider.getMachine(id!, live))).ownership).toBe('ours');
  },
);

test('keeps the listing intact if one of two servers with one name is just leaving', async () => {
  const { stand, provider, id } = await startWithMachine();
  const stranger = stand.stranger(nameOf(1));
  stand.fake.addFault({
    match: { route: '/servers/{id}/deploy_config', server: stranger },
    effect: { type: 'status', code: 404 },
  });
  const machines = await stand.machines(provider);
  expect(machines.find((each) => each.id === id)).toMatchObject({ ownership: 'ours' });
  expect(machines.find((each) => each.id === stranger)).toMatchObject({ ownership: 'foreign' });
});

test.each([404, 408, 410])(
  'does not conclude from a %i of another server whose machine it is',
  async (code) => {
    const { stand, id } = await startWithMachine();
    const match = { route: '/servers/{id}/deploy_config' };
    stand.fake.addFault({ match, effect: { type: 'status', code, body: '<html>' } });
    const other = stand.fleet();
    await stand.fails(other.findByWitness(witnessOf(1), slotOf(1), live), NOT_YET);
    await stand.fails(other.rebootMachine(id, 'force', live), NOT_YET);
  },
);

test('changes nothing if the API does not report with which record a server was installed', async () => {
  const { stand, id } = await startWithMachine();
  const body = { data: { id, type: 'deploy_config', attributes: {} } };
  stand.fake.addFault({
    match: { route: '/servers/{id}/deploy_config' },
    effect: { type: 'status', code: 200, body },
  });
  const other = stand.fleet();
  const seq = stand.lastSeq();
  const refused = {
    ...{ kind: 'auth', outcome: 'not-done' },
    message: expect.stringContaining('assimilate the server'),
  };
  await stand.fails(other.deprovisionMachine(id, live), refused);
  await stand.fails(other.rebootMachine(id, 'force', live), refused);
  await stand.fails(other.reinstallMachine(id, live), refused);
  expect(stand.changes(seq)).toEqual([]);
  // It is shown as ours all the same, and its slot is not free for a second machine.
  expect(await stand.machines(other)).toMatchObject([
    { reservationId: slotOf(1), ownership: 'ours' },
    { reservationId: slotOf(2), ownership: 'ours' },
  ]);
  await stand.fails(other.findByWitness(witnessOf(1), slotOf(1), live), { kind: 'race-lost' });
});
