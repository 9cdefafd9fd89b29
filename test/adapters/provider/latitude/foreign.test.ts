import { expect, test } from 'vitest';
import {
  callOf,
  faultAt,
  live,
  nameOf,
  slotOf,
  startStand,
  startWithMachine,
  witnessOf,
} from './stand.ts';

const ORDER = 'POST /servers';
test('vector 13: a stranger that took the name while our order was lost is not taken for ours', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  stand.fake.addFault(faultAt(ORDER, { type: 'drop', phase: 'before' }));
  const onAttempt = async () => void stand.stranger(nameOf(1));
  const order = await stand.orderFor(provider, { onAttempt });
  // It may still be ours, and only not tell yet what it was installed with.
  await stand.fails(provider.createMachine(order, live), { kind: 'transient', outcome: 'unknown' });
  await stand.wait(120_000);
  const lost = { kind: 'race-lost' };
  await stand.fails(provider.createMachine({ ...order, resumed: true }, live), lost);
  await stand.fails(provider.findByWitness(witnessOf(1), slotOf(1), live), lost);
  expect(stand.count(ORDER)).toBe(1);
});

test('vector 13: a stranger beside a machine of ours is not changed by its id', async () => {
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
  'a machine that the search by name %s keeps its record, and no second one is ordered',
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

test('one of two servers of a name that is just going spoils no listing', async () => {
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

test('where the API does not tell what a server was installed with, nothing is done to it', async () => {
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
    message: expect.stringContaining('take the server in'),
  };
  await stand.fails(other.deprovisionMachine(id, live), refused);
  await stand.fails(other.rebootMachine(id, 'force', live), refused);
  await stand.fails(other.reinstallMachine(id, live), refused);
  expect(stand.changes(seq)).toEqual([]);
  // It is shown as ours all the same, and its slot is not free for a second one.
  expect(await stand.machines(other)).toMatchObject([
    { reservationId: slotOf(1), ownership: 'ours' },
    { reservationId: slotOf(2), ownership: 'ours' },
  ]);
  await stand.fails(other.findByWitness(witnessOf(1), slotOf(1), live), { kind: 'race-lost' });
});
