import { expect, test } from 'vitest';
import type { ReportedCondition } from '../../src/domain/conditions.ts';
import { advance } from '../doubles/simulated-clock.ts';
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
