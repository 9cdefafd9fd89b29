import { expect, test } from 'vitest';
import type { ReportedCondition } from '../../src/domain/conditions.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';
import { createSmallWorld } from '../support/small-world.ts';

const MINUTE = 60_000;
const broken = (
  type: ReportedCondition['type'],
  status: ReportedCondition['status'] = 'True',
): ReportedCondition => ({ type, status, reason: 'broken', detail: '' });

test('knows at the slot what agents and providers report, until they report otherwise', async () => {
  const world = createSmallWorld({ machines: 2 });
  await world.fleet();
  await advance(world.clock, 10 * MINUTE);
  const [device] = world.provider.devices();
  const host = world.hosts.get(`${device!.address}:22`)!;
  const known = () =>
    Array.from(world.bmdb.tables.conditions.values(), (each) =>
      [each.slotId === device!.reservationId, each.source, each.type, each.status].join(' '),
    ).toSorted();
  expect(known()).toEqual([]);
  host.conditions = [broken('disk-failing')];
  world.provider.setConditions(device!.id!, [broken('hardware-unhealthy')]);
  await advance(world.clock, 3 * MINUTE);
  expect(known()).toEqual([
    'true agent disk-failing True',
    'true provider hardware-unhealthy True',
  ]);
  host.conditions = [broken('disk-failing', 'False')];
  world.provider.setConditions(device!.id!, [broken('hardware-unhealthy', 'False')]);
  await advance(world.clock, 3 * MINUTE);
  expect(known()).toEqual([
    'true agent disk-failing False',
    'true provider hardware-unhealthy False',
  ]);
});

test('a machine leaves its pool when announced work begins, not before, and returns when it is over', async () => {
  const world = createPlayedWorld({
    ...{ seed: 3, locations: { hall: 3 }, hasPool: true, minActive: 0 },
  });
  const { daemon } = await world.start({ name: 'one' });
  await advance(world.clock, 30 * MINUTE);
  const [device] = world.provider.devices();
  const serves = () => {
    const rows = [...world.bmdb.tables.machines.values()].map(({ row }) => row);
    const own = rows.find(({ provided }) => provided!.providerId === device!.id)!;
    return own.members.map(({ state }) => state);
  };
  const { conditions } = world.bmdb.tables;
  expect([serves(), conditions.size]).toEqual([['active'], 0]);
  const fromMs = world.clock.now() + 60 * MINUTE;
  const work = (status: ReportedCondition['status']) =>
    world.provider.setConditions(device!.id!, [
      { ...broken('maintenance-announced', status), ...(status === 'True' && { fromMs }) },
    ]);
  work('True');
  await advance(world.clock, 10 * MINUTE);
  const view = () => [...daemon.board.entries.values()].map((each) => each.view);
  expect(view().filter((each) => each.conditions === 'maintenance-announced')).toHaveLength(1);
  await advance(world.clock, 50 * MINUTE - 1_000);
  expect(serves(), 'a second before it begins').toEqual(['active']);
  expect(world.bmdb.tables.cases).toEqual([]);
  await advance(world.clock, 10 * MINUTE);
  expect(serves()).not.toContain('active');
  expect(world.bmdb.tables.cases).toMatchObject([
    { title: 'maintenance-announced: provider: broken' },
  ]);
  work('False');
  await advance(world.clock, 10 * MINUTE);
  expect(serves()).toEqual(['active']);
  await Promise.all([daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});
