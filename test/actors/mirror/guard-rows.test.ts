import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machineId } from '../../../src/domain/ids.ts';
import type { GuardRow } from '../../../src/domain/machine.ts';
import { calmRow } from '../../../src/domain/recovery/guard-judgement.ts';
import {
  agentStarted,
  machineRow,
  NOW_MS,
  provided,
  requestRow,
  SLOT,
} from '../../support/facts.ts';
import { mirrorStand, type MirrorStand } from '../../support/mirror-stand.ts';

let stand: MirrorStand;
beforeEach(() => {
  stand = mirrorStand();
});
afterEach(async () => {
  expect(await stand.stop(), 'timers left').toBe(0);
  expect(stand.fleet.crashes).toEqual([]);
});

const fresh = () => stand.fleet.news.splice(0);
const RUNNING = machineRow({ agentStarted: agentStarted(NOW_MS) });
const others = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    machineRow({
      machineId: machineId(`many-${at}`),
      provided: provided({ providerId: `other-${at}`, reservationId: `many-${at}` }),
    }),
  );

describe('what operators ask', () => {
  const EVERY = 40;

  test('is with the facts of its slot, and touches those of no other', async () => {
    await stand.begin({ machines: [machineRow(), ...others(EVERY)] });
    const before = new Map(stand.mirror.facts());
    await stand.change({ requests: [requestRow()] });
    expect(stand.mirror.facts().get(SLOT)?.requests).toEqual([requestRow()]);
    for (const [name, facts] of before) {
      if (name !== SLOT) expect(stand.mirror.facts().get(name)).toBe(facts);
    }
    expect(stand.mirror.requests()).toEqual([requestRow()]);
    await stand.change({ requests: [] });
    expect(stand.mirror.facts().get(SLOT)?.requests).toEqual([]);
    expect(stand.factsTold(), 'no pass over all machines').toBe(0);
  });

  test('that comes with a row of the same machine is told with it', async () => {
    await stand.begin({ machines: [machineRow(), others(1)[0]!] });
    await stand.change({ machines: [RUNNING], requests: [requestRow()] });
    expect(fresh()).toMatchObject([{ type: 'observed', view: { state: 'Running' } }]);
    expect(stand.mirror.facts().get(SLOT)).toMatchObject({ requests: [{ key: 'request-1' }] });
  });

  test('outlives an assembly, and is told in the order in which it was asked', async () => {
    await stand.begin({ machines: [machineRow()] });
    const requests = [requestRow({ key: 'b', createdAtMs: NOW_MS + 1 }), requestRow({ key: 'a' })];
    await stand.change({ requests });
    await stand.change({ requests, machines: [others(1)[0]!] });
    const { requests: told = [] } = stand.mirror.facts().get(SLOT) ?? {};
    expect(told.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  test('of a slot that nobody knows is kept until the slot is known', async () => {
    await stand.begin();
    await stand.change({ requests: [requestRow()] });
    expect(stand.mirror.facts().size).toBe(0);
    expect(stand.mirror.requests()).toHaveLength(1);
    await stand.change({ requests: [requestRow()], machines: [machineRow()] });
    expect(stand.mirror.facts().get(SLOT)?.requests).toHaveLength(1);
  });
});

test('F2: a slot is dropped after a read of its machine alone found the machine gone', async () => {
  await stand.begin({ machines: [machineRow()] });
  await stand.reread(machineRow(), null);
  expect(fresh()).toMatchObject([{ type: 'observed', view: { state: 'Released' } }]);
  await stand.change({ gone: [machineRow().machineId] });
  expect(fresh()).toMatchObject([{ type: 'observed' }, { type: 'vanished', slot: SLOT }]);
  expect(stand.mirror.facts().size).toBe(0);
  await stand.change({ requests: [requestRow()] });
  expect(stand.factsTold(), 'no further pass over all machines').toBe(1);
});

describe('facts are told with the slots that have another row', () => {
  test('of changes, and of what was read by itself since; after an assembly any may have', async () => {
    const [first] = others(1);
    await stand.begin({ machines: [machineRow(), first!] });
    const told = stand.changedTold;
    await stand.change({ machines: [RUNNING] });
    expect(told.splice(0)).toEqual([[SLOT]]);
    await stand.reread({ ...RUNNING, permit: true });
    expect(told).toEqual([]);
    await stand.change({ machines: [{ ...first!, permit: true }] });
    expect(told.splice(0)).toEqual([['stub/many-0', SLOT]]);
    await stand.change({ machines: [{ ...first!, permit: false }] });
    expect(told.splice(0)).toEqual([['stub/many-0']]);
    await stand.change({ gone: [first!.machineId] });
    expect(told.splice(0)).toEqual([null]);
  });
});

describe('the guard', () => {
  const row = (change: Partial<GuardRow> = {}): GuardRow => ({ ...calmRow('fleet'), ...change });
  const frozen = {
    atMs: NOW_MS,
    by: 'guard',
    kind: 'silence',
    reason: 'many',
    untilMs: null,
  } as const;

  test('is nudged when its rows differ, and no facts are made anew for it', async () => {
    await stand.begin({ machines: [machineRow(), others(1)[0]!], guard: [row()] });
    const before = [...stand.mirror.facts().values()];
    const nudged = stand.fleet.nudges();
    await stand.change({ guard: [row()] });
    expect(stand.fleet.nudges()).toBe(nudged);
    await stand.change({ guard: [row({ frozen })] });
    expect(stand.fleet.nudges()).toBe(nudged + 1);
    expect(stand.mirror.guard()).toEqual([row({ frozen })]);
    await stand.change({ guard: [row({ frozen })] });
    expect(stand.fleet.nudges()).toBe(nudged + 1);
    expect([fresh(), stand.views, stand.factsTold()]).toEqual([[], [], 0]);
    expect([...stand.mirror.facts().values()].every((each, at) => each === before[at])).toBe(true);
  });

  test('is nudged by what is asked of it, not by what is asked of a machine', async () => {
    await stand.begin({ machines: [machineRow()] });
    const nudged = stand.fleet.nudges();
    await stand.change({ requests: [requestRow()] });
    expect(stand.fleet.nudges()).toBe(nudged);
    const freeze = requestRow({ key: 'f', verb: 'freeze', slotId: null, machineId: null });
    await stand.change({ requests: [requestRow(), freeze] });
    expect(stand.fleet.nudges()).toBe(nudged + 1);
    await stand.change({ requests: [requestRow()] });
    expect(stand.fleet.nudges()).toBe(nudged + 2);
  });
});
