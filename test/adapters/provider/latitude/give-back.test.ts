import { expect, test } from 'vitest';
import { faultAt, slotOf, startWithMachine } from './stand.ts';

const DELETE = 'DELETE /servers/{id}';
const CONFLICT = { kind: 'conflict', outcome: 'not-done' };

test('vector 26: a machine is deleted once, and its record only when the server is gone', async () => {
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

test('vector 25: a locked server is left alone, and never unlocked', async () => {
  const { stand, id, giveBack, seq } = await startWithMachine();
  stand.fake.addFault({ match: { server: id }, effect: { type: 'locked' } });
  await expect(giveBack()).rejects.toMatchObject(CONFLICT);
  expect(stand.changes(seq)).toEqual([]);
});

test.each([422, 403])(
  'vector 25: a refusal (%i) that speaks of a lock is a conflict',
  async (code) => {
    const { stand, giveBack, read } = await startWithMachine();
    const body = { errors: [{ code: 'server_locked', detail: 'The server is locked' }] };
    stand.fake.addFault(faultAt(DELETE, { type: 'status', code, body }));
    await expect(giveBack()).rejects.toMatchObject(CONFLICT);
    // The answer does not speak of our key, so nothing else waits.
    expect((await read()).ownership).toBe('ours');
  },
);

test.each(['before', 'after'] as const)(
  'vector 26: an answer that is lost (%s it was done) is settled by looking',
  async (phase) => {
    const { stand, giveBack, isReusable } = await startWithMachine();
    stand.fake.addFault(faultAt(DELETE, { type: 'drop', phase }));
    await giveBack();
    expect(stand.count(DELETE)).toBe(phase === 'before' ? 2 : 1);
    expect(stand.fake.servers()).toEqual([]);
    expect(await isReusable()).toBe(true);
  },
);

test('one that goes at the end of its billing cycle is switched off, and is not ours any more', async () => {
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
    // It is not asked for again before that.
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

test('a search by name that finds nothing does not cost a record', async () => {
  const { stand, isReusable } = await startWithMachine();
  const body = { data: [], meta: { stats: { total: { count: 0 } } } };
  stand.fake.addFault(faultAt('GET /servers', { type: 'status', code: 200, body }));
  expect(await isReusable()).toBe(false);
  expect(stand.fake.userData()).toHaveLength(1);
});
