import { expect, test } from 'vitest';
import { NOTHING_TO_RUN, writeRecord } from '../../../../src/adapters/provider/latitude/records.ts';
import { faultAt, live, PREFIX, SET, startStand, startWithMachine } from './stand.ts';

test('a record that a creation takes up again while others are swept stays', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const order = await stand.orderFor(provider);
  for (const n of [1, 2, 3]) {
    const hostname = `${PREFIX}ash-aaaaaaa${n}`;
    const tags = { 'shepherd-InstanceSetID': SET };
    const mark = { set: SET, hostname, witness: '-', tags, t: stand.clock.now(), slot: '' };
    await stand.write(writeRecord(mark, NOTHING_TO_RUN));
  }
  stand.fake.addFault(faultAt('POST /servers', { type: 'drop', phase: 'before' }));
  await stand.fails(provider.createMachine(order, live), { outcome: 'unknown' });
  await stand.wait(3_700_000);
  const sweeper = stand.fleet({ settings: { writesPerMinute: 1 } });
  const sweeping = sweeper.sweep({ ...live, dryRun: false });
  const making = provider.createMachine({ ...order, resumed: true }, live);
  const [machine] = await stand.run(Promise.all([making, sweeping]));
  expect(stand.fake.userData()).toHaveLength(1);
  const seen = await stand.run(provider.getMachine(machine.id!, live));
  expect(seen.ownership).toBe('ours');
});

test('a record goes also when there is no request left for the moment', async () => {
  const stand = await startStand({}, { writesPerMinute: 3 });
  const provider = stand.fleet();
  await stand.run(provider.prepare(live));
  const order = await stand.orderFor(provider);
  stand.fake.addFault(faultAt('POST /servers', { type: 'stockOut' }));
  await stand.fails(provider.createMachine(order, live), { capacity: { scope: 'plan' } });
  expect(stand.fake.userData()).toEqual([]);
});

test('a server that is to go at the cycle’s end is scheduled also where it takes no action', async () => {
  const { stand, giveBack } = await startWithMachine({ onDeprovision: 'schedule' });
  stand.fake.addFault(faultAt('POST /servers/{id}/actions', { type: 'status', code: 422 }));
  await giveBack().catch(() => null);
  expect(stand.count('POST /servers/{id}/schedule_deletion')).toBe(1);
});

test('a script that is cut out late takes no tags with it that were written meanwhile', async () => {
  const stand = await startStand();
  const other = stand.fleet();
  const first = await stand.made(other, 1);
  const second = await stand.made(other, 2);
  await stand.wait(3_600_000);
  const slow = stand.fleet({ settings: { writesPerMinute: 1 } });
  await stand.run(slow.setTags(second.id!, { 'shepherd-IdleBehavior': 'hold' }, live));
  await stand.run(slow.listMachines(live));
  await stand.wait(5_000);
  await stand.run(other.setTags(first.id!, { 'shepherd-IdleBehavior': 'hold' }, live));
  await stand.wait(180_000);
  const { tags } = await stand.run(other.getMachine(first.id!, live));
  expect(tags['shepherd-IdleBehavior']).toBe('hold');
});
