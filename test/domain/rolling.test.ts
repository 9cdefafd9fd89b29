import { describe, expect, test } from 'vitest';
import type { ConditionRow } from '../../src/domain/conditions.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { GuardRow, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import {
  batchesOf,
  batchNumber,
  batchOf,
  planRoll,
  rollOrderKey,
  type RollOrder,
  type RollRow,
  type RollScene,
  type RollSlot,
} from '../../src/domain/rolling.ts';
import {
  agentStarted,
  machineRow,
  NOW_MS,
  orderRow,
  PROVIDER,
  slotFacts,
} from '../support/facts.ts';
import { testRows } from '../support/rows.ts';

const MINUTE = 60_000;
const { periodMs, firstHeartbeatMs } = DEFAULT_LOSS;
const slots = [1, 2, 3, 4, 5].map((at): RollSlot => ({
  ...{ provider: PROVIDER, slotId: `m${at}` },
  machineId: machineId(`00000000-0000-4000-8000-00000000000${at}`),
}));
const ROLL: RollRow = {
  ...{ id: 'roll', action: 'reboot', drain: null, filter: 'state:Running', slots },
  ...{ canary: 1, batch: 2, pauseMs: 10 * MINUTE, stopOnFailure: true },
  ...{ by: 'ann', role: 'operator', proven: true, reason: 'new kernel', createdAtMs: NOW_MS },
  ...{ state: 'running', note: null, position: 0, nextAtMs: null, failures: [] },
};
const heardAt = (at: RollSlot, atMs: number, change: Partial<SlotFacts> = {}) =>
  slotFacts({
    row: machineRow({
      machineId: at.machineId,
      agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
      heartbeat: { atMs, bootId: null },
    }),
    ...change,
  });
const done = (agoMs: number): RollOrder => ({
  ...{ state: 'done', outcome: 'done', createdAtMs: NOW_MS - agoMs - MINUTE },
  settledAtMs: NOW_MS - agoMs,
});
const OPEN: RollOrder = { ...done(0), state: 'open', outcome: null, settledAtMs: null };
const LONG_AGO = done(3 * periodMs);

/** @param orders of the first machines. */
function plan(
  roll: Partial<RollRow> = {},
  orders: readonly RollOrder[] = [],
  scene: Partial<RollScene> = {},
) {
  const all = { ...ROLL, ...roll };
  return planRoll(all, {
    facts: (at) => heardAt(at, NOW_MS),
    isHealthy: () => true,
    orders: new Map(orders.map((order, at) => [rollOrderKey(all, slots[at]!), order])),
    windowRefusal: () => null,
    guard: [],
    loss: DEFAULT_LOSS,
    patienceMs: () => 15 * MINUTE,
    nowMs: NOW_MS,
    ...scene,
  });
}
const frozenAt = (scope: string): GuardRow => ({
  ...{ scope, calmSinceMs: null, thawedAtMs: null, ingestUpSinceMs: null },
  frozen: { atMs: NOW_MS, by: 'bob', kind: 'manual', reason: 'power', untilMs: null },
});

describe('batches', () => {
  testRows<[string, number, number | null]>([
    ['3', 10, 3],
    ['30', 10, 10],
    ['0', 10, 1],
    ['5%', 100, 5],
    ['5%', 10, 1],
    ['25%', 10, 2],
    ['500%', 10, 10],
    ['many', 10, null],
    ['-1', 10, null],
  ])('%s of %i machines are %s', (text, machines, expected) => {
    expect(batchOf(text, machines)).toBe(expected);
  });

  test('begin with the canaries, and leave nothing out', () => {
    const sizes = (change: Partial<RollRow>) =>
      batchesOf({ ...ROLL, ...change }).map(({ length }) => length);
    expect([sizes({}), sizes({ canary: 0 }), sizes({ canary: 9 })]).toEqual([
      [1, 2, 2],
      [2, 2, 1],
      [5],
    ]);
    expect(batchesOf(ROLL).flat()).toEqual(slots);
  });

  test('are counted from 1, and the last one is it at the end', () => {
    const batches = [['a'], ['b', 'c'], ['d']];
    expect([0, 1, 3, 4].map((position) => batchNumber(batches, position))).toEqual([1, 2, 3, 3]);
  });
});

describe('a batch', () => {
  test('is ordered once, and no machine beyond it', () => {
    expect(plan()).toEqual({ kind: 'order', slots: [slots[0]] });
    expect(plan({}, [OPEN])).toMatchObject({
      kind: 'wait',
      why: expect.stringMatching(/not carried out/),
    });
    expect(plan({ position: 1 }, [LONG_AGO, OPEN])).toEqual({ kind: 'order', slots: [slots[2]] });
  });

  test('is over after three periods of heartbeats, and a pause follows', () => {
    const next = { kind: 'next', position: 1, nextAtMs: NOW_MS + 10 * MINUTE, failed: [] };
    expect(plan({}, [LONG_AGO])).toEqual(next);
    expect(plan({}, [done(3 * periodMs - 1)]).kind).toBe('wait');
    const early = { facts: (at: RollSlot) => heardAt(at, NOW_MS - 1) };
    expect(plan({}, [LONG_AGO], early).kind).toBe('wait');
    expect(plan({}, [LONG_AGO], { isHealthy: () => false }).kind).toBe('wait');
    expect(plan({ nextAtMs: NOW_MS + 1 })).toMatchObject({
      kind: 'wait',
      why: expect.stringMatching(/next batch/),
    });
    expect(plan({ nextAtMs: NOW_MS }).kind).toBe('order');
  });

  test('waits for the acceptance that its order caused', () => {
    const accepted = (state: string, askedAtMs: number, handedOutAtMs: number | null = null) => {
      const acceptance = {
        ...{ state, cause: 'reinstalled', held: true, askedAtMs, handedOutAtMs },
        ...{ endedAtMs: null, reason: 'memory' },
      };
      const facts = (at: RollSlot) => {
        const known = heardAt(at, NOW_MS);
        return { ...known, row: { ...known.row!, acceptance } };
      };
      return plan({}, [LONG_AGO], { facts });
    };
    const since = LONG_AGO.createdAtMs;
    expect(accepted('due', since - 1).kind).toBe('next');
    expect(accepted('due', since)).toMatchObject({
      kind: 'wait',
      why: expect.stringMatching(/its acceptance is due$/),
    });
    expect(accepted('waiting', since).kind).toBe('wait');
    expect(accepted('passed', since).kind).toBe('next');
    expect(accepted('failed', since)).toMatchObject({
      kind: 'stop',
      failed: [{ why: 'its acceptance failed: memory' }],
    });
    expect(accepted('due', since, NOW_MS - 30 * MINUTE).kind).toBe('stop');
  });

  test('ends the roll if it is the last', () => {
    const all = [LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO];
    expect(plan({ position: 3 }, all)).toEqual({ kind: 'done', failed: [] });
  });
});

test('waits for an open order of a machine that got worse, before the next batch', () => {
  const conditions: readonly ConditionRow[] = [
    {
      ...{ provider: PROVIDER, slotId: 'm1', type: 'disk-failing', source: 'agent' },
      ...{ reason: 'sda', detail: '', sinceMs: NOW_MS, fromMs: null, expiresAtMs: null },
      status: 'True',
    },
  ];
  const worse = { facts: (at: RollSlot) => heardAt(at, NOW_MS, { conditions }) };
  const keepsOn = { stopOnFailure: false };
  const why = expect.stringMatching(/not carried out yet/);
  expect(plan(keepsOn, [OPEN], worse)).toEqual({ kind: 'wait', why });
  expect(plan(keepsOn, [LONG_AGO], worse)).toMatchObject({ kind: 'next', failed: [{}] });
  expect(plan({}, [OPEN], worse)).toMatchObject({ kind: 'stop' });
});

describe('a machine fails', () => {
  const gone = heardAt({ ...slots[0]!, machineId: machineId(slots[4]!.machineId) }, NOW_MS);
  const withCondition = (
    sinceMs: number,
    status: 'True' | 'Unknown',
    fromMs: number | null = null,
    type = 'disk-failing',
  ) => ({
    facts: (at: RollSlot) =>
      heardAt(at, NOW_MS, {
        conditions: [
          {
            ...{ provider: PROVIDER, slotId: at.slotId, type, source: 'agent' },
            ...{ status, reason: 'sda', detail: '', sinceMs, fromMs, expiresAtMs: null },
          },
        ],
      }),
  });
  const lateBy = 3 * periodMs + 15 * MINUTE + firstHeartbeatMs;
  const unhealthy = { isHealthy: () => false };
  const since = LONG_AGO.createdAtMs;
  testRows<[string, RollOrder | null, Partial<RollScene>, RegExp | null]>([
    ['its order was refused', { ...OPEN, state: 'refused', outcome: 'a hold' }, {}, /a hold/],
    ['it is gone', null, { facts: () => gone }, /gone from its slot/],
    ['its slot is unknown', null, { facts: () => undefined }, /gone from its slot/],
    ['it is not back in time', done(lateBy + 1), unhealthy, /not healthy again/],
    ['it still has time', done(lateBy), unhealthy, null],
    ['it got worse', LONG_AGO, withCondition(since, 'True'), /disk-failing is True: sda/],
    ['it was bad before', LONG_AGO, withCondition(since - 1, 'True'), null],
    ['it gets worse later', LONG_AGO, withCondition(since, 'True', NOW_MS + 1), null],
    ['it got worse as announced', LONG_AGO, withCondition(0, 'True', since), /disk-failing is/],
    [
      'work on it began',
      LONG_AGO,
      withCondition(since, 'True', since, 'maintenance-announced'),
      null,
    ],
    ['nobody knows', LONG_AGO, withCondition(since, 'Unknown'), null],
  ])('when %s', (_, order, scene, why) => {
    const orders = order ? [order] : [];
    const expected = why ? [{ slot: `${PROVIDER}/m1`, why: expect.stringMatching(why) }] : [];
    const step = plan({}, orders, scene);
    if (why) expect(step).toEqual({ kind: 'stop', failed: expected });
    else expect(['wait', 'next']).toContain(step.kind);
    if (!why) return;
    expect(plan({ stopOnFailure: false }, orders, scene)).toMatchObject({
      ...{ kind: 'next', position: 1, failed: expected },
    });
  });

  test('and stops the others of its batch that have no order yet', () => {
    const refused = { ...OPEN, state: 'refused' } as const;
    expect(plan({ position: 1 }, [LONG_AGO, refused]).kind).toBe('stop');
    const go = plan({ position: 1, stopOnFailure: false }, [LONG_AGO, refused]);
    expect(go).toEqual({ kind: 'order', slots: [slots[2]] });
  });
});

describe('an order waits', () => {
  test('for a thaw of the fleet or the provider', () => {
    for (const scope of ['fleet', PROVIDER]) {
      const why = /m1: recovery is frozen by bob \(power\)/;
      expect(plan({}, [], { guard: [frozenAt(scope)] })).toMatchObject({
        ...{ kind: 'wait', why: expect.stringMatching(why) },
      });
    }
    expect(plan({}, [], { guard: [frozenAt('other')] }).kind).toBe('order');
    const thawed = { ...frozenAt('fleet'), frozen: null };
    expect(plan({}, [], { guard: [thawed] }).kind).toBe('order');
  });

  test('for a window, while others of its batch go on', () => {
    const closed = (at: RollSlot) => (at.slotId === 'm2' ? 'its window opens later' : null);
    const at = { position: 1 };
    expect(plan(at, [LONG_AGO], { windowRefusal: closed })).toMatchObject({ slots: [slots[2]] });
    expect(plan(at, [LONG_AGO, OPEN], { windowRefusal: closed }).kind).toBe('order');
    const both = { windowRefusal: () => 'its window opens later' };
    expect(plan(at, [LONG_AGO], both)).toEqual({
      ...{ kind: 'wait', why: `${PROVIDER}/m2: its window opens later` },
    });
  });

  test('for the end of another order for the machine', () => {
    const facts = (at: RollSlot) => {
      const found = heardAt(at, NOW_MS);
      return { ...found, row: { ...found.row!, order: orderRow({ by: 'bob' }) } };
    };
    expect(plan({}, [], { facts })).toMatchObject({
      kind: 'wait',
      why: expect.stringMatching(/open order by bob/),
    });
  });
});
