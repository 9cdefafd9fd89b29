import { expect, test } from 'vitest';
import { live, nameOf, slotOf, type Stand, startStand, witnessOf } from './stand.ts';

const DELETE = 'DELETE /servers/{id}';
const changesSince = (stand: Stand, seq: number) =>
  stand.sent(seq).filter((line) => !line.startsWith('GET'));

async function standing(usual: object = {}) {
  const stand = await startStand({}, usual);
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  const read = () => stand.run(provider.getMachine(id!, live));
  const giveBack = () => stand.run(provider.deprovisionMachine(id!, live));
  const isReusable = () => stand.run(provider.isReusable(slotOf(1), live));
  return { stand, provider, id: id!, read, giveBack, isReusable, seq: stand.lastSeq() };
}

test('a machine that is given back is deleted, and then its record, and its slot is free', async () => {
  const { stand, provider, giveBack, isReusable, seq } = await standing();
  await giveBack();
  expect(changesSince(stand, seq)).toEqual([DELETE]);
  expect([stand.fake.servers(), stand.fake.userData().length]).toEqual([[], 1]);
  expect(await isReusable()).toBe(true);
  expect(stand.fake.userData()).toEqual([]);
  await stand.free(provider);
});

test('its record stays for as long as the server is there', async () => {
  const { stand, giveBack, isReusable, read } = await standing();
  stand.fake.setKnobs({ tombstoneMs: 60_000 });
  await giveBack();
  expect(await isReusable()).toBe(false);
  expect((await read()).ownership).toBe('ours');
  await stand.wait(61_000);
  expect(await isReusable()).toBe(true);
  expect(stand.fake.userData()).toEqual([]);
});

test('vector 25: a locked server is left alone, and never unlocked', async () => {
  const { stand, id, giveBack, seq } = await standing();
  stand.fake.addFault({ match: { server: id }, effect: { type: 'locked' } });
  await expect(giveBack()).rejects.toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(changesSince(stand, seq)).toEqual([]);
});

test.each([422, 403])(
  'vector 25: a refusal (%i) that speaks of a lock is a conflict',
  async (code) => {
    const { stand, provider, giveBack, read } = await standing();
    const body = { errors: [{ code: 'server_locked', detail: 'The server is locked' }] };
    stand.fake.addFault({
      match: { method: 'DELETE', route: '/servers/{id}' },
      times: 1,
      effect: { type: 'status', code, body },
    });
    await expect(giveBack()).rejects.toMatchObject({ kind: 'conflict', outcome: 'not-done' });
    // It says nothing of our key, so nothing else waits.
    expect((await read()).ownership).toBe('ours');
    expect((await stand.run(provider.listMachines(live))).complete).toBe(true);
  },
);

test('vector 26: given back twice, it is gone once, and both succeed', async () => {
  const { stand, giveBack } = await standing();
  await giveBack();
  await giveBack();
  expect(stand.count(DELETE)).toBe(1);
});

test.each(['before', 'after'] as const)(
  'vector 26: an answer that is lost (%s it was done) is settled by looking',
  async (phase) => {
    const { stand, giveBack, isReusable } = await standing();
    stand.fake.addFault({
      match: { method: 'DELETE', route: '/servers/{id}' },
      times: 1,
      effect: { type: 'drop', phase },
    });
    await giveBack();
    expect(stand.count(DELETE)).toBe(phase === 'before' ? 2 : 1);
    expect(stand.fake.servers()).toEqual([]);
    expect(await isReusable()).toBe(true);
  },
);

test('one that goes at the end of its billing cycle is switched off, and is not ours any more', async () => {
  const { stand, provider, id, read, giveBack, isReusable, seq } = await standing({
    onDeprovision: 'schedule',
  });
  await giveBack();
  expect(changesSince(stand, seq)).toEqual([
    'PATCH /user_data/{id}',
    'POST /servers/{id}/actions',
    'POST /servers/{id}/schedule_deletion',
  ]);
  expect(await read()).toMatchObject({
    ...{ status: 'Missing', ownership: 'foreign' },
    // It is not asked for again before that.
    leavesAtMs: expect.closeTo(stand.clock.now() + 3_600_000, -7),
  });
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines.map(({ reservationId, availability }) => [reservationId, availability])).toEqual([
    [slotOf(1), 'KnownUsed'],
    [slotOf(2), 'KnownUnused'],
  ]);
  await expect(stand.run(provider.rebootMachine(id, 'force', live))).rejects.toMatchObject({
    kind: 'conflict',
  });
  await giveBack();
  expect(stand.count('POST /servers/{id}/schedule_deletion')).toBe(1);
  expect(await isReusable()).toBe(false);
  await stand.wait(3_600_000);
  expect(stand.fake.servers()).toEqual([]);
  expect(await isReusable()).toBe(true);
  expect(stand.fake.userData()).toEqual([]);
});

test('a slot whose creation may still be under way is not reusable', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const unused = await stand.free(provider);
  const onAttempt = () => new Promise<never>(() => undefined);
  const order = { unused, hostname: nameOf(1), witness: witnessOf(1), onAttempt };
  void provider.createMachine(order, live).catch(() => null);
  await stand.wait(1_000);
  const another = stand.fleet();
  expect(await stand.run(another.isReusable(slotOf(1), live))).toBe(false);
  expect(stand.fake.userData()).toHaveLength(1);
});

test('a search by name that finds nothing does not cost a record', async () => {
  const { stand, isReusable } = await standing();
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers' },
    times: 1,
    effect: {
      type: 'status',
      code: 200,
      body: { data: [], meta: { stats: { total: { count: 0 } } } },
    },
  });
  expect(await isReusable()).toBe(false);
  expect(stand.fake.userData()).toHaveLength(1);
});

test('the machine of a witness is found by its slot’s name, and by no other', async () => {
  const { stand, provider, id } = await standing();
  const find = (n: number, slot: string) =>
    stand.run(provider.findByWitness(witnessOf(n), slot, live));
  expect((await find(1, slotOf(1)))?.id).toBe(id);
  expect(await find(1, slotOf(2))).toBeNull();
  await expect(find(2, slotOf(1))).rejects.toMatchObject({ kind: 'race-lost' });
});
