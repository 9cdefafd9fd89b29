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

describe('operator requests in the mirror', () => {
  const EVERY = 40;

  test('reach the facts of their slot and no other', async () => {
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

  test('reach the actor together with a row of the same machine', async () => {
    await stand.begin({ machines: [machineRow(), others(1)[0]!] });
    await stand.change({ machines: [RUNNING], requests: [requestRow()] });
    expect(fresh()).toMatchObject([{ type: 'observed', view: { state: 'Running' } }]);
    expect(stand.mirror.facts().get(SLOT)).toMatchObject({ requests: [{ key: 'request-1' }] });
  });

  test('survive a full read and keep their order', async () => {
    await stand.begin({ machines: [machineRow()] });
    const requests = [requestRow({ key: 'b', createdAtMs: NOW_MS + 1 }), requestRow({ key: 'a' })];
    await stand.change({ requests });
    await stand.change({ requests, machines: [others(1)[0]!] });
    const { requests: told = [] } = stand.mirror.facts().get(SLOT) ?? {};
    expect(told.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  test('for an unknown slot are kept until it is known', async () => {
    await stand.begin();
    await stand.change({ requests: [requestRow()] });
    expect(stand.mirror.facts().size).toBe(0);
    expect(stand.mirror.requests()).toHaveLength(1);
    await stand.change({ requests: [requestRow()], machines: [machineRow()] });
    expect(stand.mirror.facts().get(SLOT)?.requests).toHaveLength(1);
  });
});

test('F2: drop a slot when a single read finds its machine gone', async () => {
  await stand.begin({ machines: [machineRow()] });
  await stand.reread(machineRow(), null);
  expect(fresh()).toMatchObject([{ type: 'observed', view: { state: 'Released' } }]);
  await stand.change({ gone: [machineRow().machineId] });
  expect(fresh()).toMatchObject([{ type: 'observed' }, { type: 'vanished', slot: SLOT }]);
  expect(stand.mirror.facts().size).toBe(0);
  await stand.change({ requests: [requestRow()] });
  expect(stand.factsTold(), 'no further pass over all machines').toBe(1);
});

describe('facts and changed rows', () => {
  test('name the slots with another row; after a full read any slot', async () => {
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

describe('the guard in the mirror', () => {
  const row = (change: Partial<GuardRow> = {}): GuardRow => ({ ...calmRow('fleet'), ...change });
  const frozen = {
    atMs: NOW_MS,
    by: 'guard',
    kind: 'silence',
    reason: 'many',
    untilMs: null,
  } as const;

  test('is woken by changed rows without new facts', async () => {
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

  test('is woken by its own requests and not by a machine’s', async () => {
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
