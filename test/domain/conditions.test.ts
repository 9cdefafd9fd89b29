import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  checkedConditions,
  conditionCounts,
  conditionHolds as holdsOf,
  countedConditions,
  machineCounts,
  standingOf,
  statusOf,
  suspiciousTypes,
  trueTypes,
  withConditionHolds,
  type ConditionEffect,
  type ConditionRow,
  type UncheckedCondition,
} from '../../src/domain/conditions.ts';
import { providerName } from '../../src/domain/ids.ts';
import { isInForce } from '../../src/domain/eligibility.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { conditionRow } from '../support/conditions.ts';
import { hold, machineRow, NOW_MS, provided, PROVIDER } from '../support/facts.ts';

const OTHER = providerName('other');
const policy = (effect: ConditionEffect = 'drain') => ({
  effects: { 'disk-failing': effect },
  guard: DEFAULT_GUARD,
});
/** So many machines of each provider. */
const fleet = (stub: number, other = 0) =>
  machineCounts([
    ...Array.from({ length: stub }, () => machineRow()),
    ...Array.from({ length: other }, () => machineRow({ provided: provided({ provider: OTHER }) })),
  ]);
const conditionHolds = (
  rows: readonly ConditionRow[],
  machines: ReadonlyMap<string, number>,
  by: Parameters<typeof holdsOf>[2],
) => holdsOf(rows, suspiciousTypes(rows, machines, by), by);
/** The condition on so many slots. */
const on = (slots: number, change: Partial<ConditionRow> = {}) =>
  Array.from({ length: slots }, (_, at) => conditionRow({ slotId: `slot-${at}`, ...change }));
const kinds = (rows: readonly ConditionRow[], machines = fleet(100), effect?: ConditionEffect) =>
  conditionHolds(rows, machines, policy(effect)).map(({ slotId, kind }) => `${slotId} ${kind}`);

describe('the status of a condition', () => {
  const FALSE = { status: 'False', expiresAtMs: NOW_MS } as const;
  it.each([
    ['an expired False is unknown', FALSE, 'Unknown'],
    ['a False is OK until it expires', { ...FALSE, expiresAtMs: NOW_MS + 1 }, 'False'],
    ['a False without an end stays OK', { ...FALSE, expiresAtMs: null }, 'False'],
    ['an expired True stays true', { ...FALSE, status: 'True' }, 'True'],
    ['an unknown one stays unknown', { ...FALSE, status: 'Unknown' }, 'Unknown'],
  ] as const)('%s', (_, change, status) => {
    expect(statusOf(conditionRow(change), NOW_MS)).toBe(status);
  });
});

describe('the holds of conditions', () => {
  it('follow from the effect of the type', () => {
    const [row] = [conditionRow({ slotId: 'a' })];
    expect(kinds([row], fleet(9), 'tell')).toEqual([]);
    expect(kinds([row], fleet(9), 'no-new-work')).toEqual(['a no-allocate']);
    expect(kinds([row], fleet(9), 'drain')).toEqual(['a no-allocate', 'a no-serve']);
    expect(kinds([conditionRow({ type: 'fan-broken' })])).toEqual([]);
    expect(kinds([conditionRow({ type: 'constructor' })])).toEqual([]);
  });

  it('come from true conditions only, and once for several sources', () => {
    for (const status of ['False', 'Unknown'] as const) {
      expect(kinds([conditionRow({ status })])).toEqual([]);
    }
    const both = [conditionRow({ slotId: 'a' }), conditionRow({ slotId: 'a', source: 'token:x' })];
    expect(kinds(both)).toEqual(['a no-allocate', 'a no-serve']);
    const [first] = conditionHolds(both, fleet(9), policy());
    expect(first).toMatchObject({
      ...{ setBy: 'condition disk-failing', reason: 'agent: sda: 2 media errors', untilMs: null },
    });
  });

  it('give way to a hold that an operator set without an end', () => {
    const ofConditions = conditionHolds([conditionRow()], fleet(9), policy());
    const [set, ends] = [hold('no-serve'), hold('no-serve', NOW_MS + 1)];
    const [allocate, serve] = ofConditions;
    expect(withConditionHolds([set], ofConditions)).toEqual([set, allocate]);
    expect(withConditionHolds([ends], ofConditions)).toEqual([ends, allocate, serve]);
    const elsewhere = { ...set, slotId: 'elsewhere' };
    expect(withConditionHolds([elsewhere], ofConditions)).toEqual([elsewhere, allocate, serve]);
  });
});

describe('a condition with a beginning', () => {
  const announced = (change: Partial<ConditionRow> = {}) =>
    conditionRow({ type: 'maintenance-announced', source: 'provider', fromMs: NOW_MS, ...change });
  const inForce = (rows: readonly ConditionRow[], nowMs: number) =>
    conditionHolds(rows, fleet(100), policy()).filter((each) => isInForce(each, nowMs));

  it('has its effect from then on, and is told before', () => {
    expect(inForce([announced()], NOW_MS - 1)).toEqual([]);
    expect(inForce([announced()], NOW_MS)).toMatchObject([
      { kind: 'no-allocate', setBy: 'condition maintenance-announced', fromMs: NOW_MS },
      { kind: 'no-serve', untilMs: null },
    ]);
    expect(trueTypes([announced()])).toBe('maintenance-announced');
    expect(conditionCounts([announced()], NOW_MS - 1)).toMatchObject([{ status: 'True' }]);
  });

  it('counts as suspicious before it begins', () => {
    const later = on(6, { type: 'maintenance-announced', fromMs: NOW_MS + 1 });
    expect([...suspiciousTypes(later, fleet(12), policy())]).toContain(
      `${PROVIDER} maintenance-announced`,
    );
  });

  it('drains the machine, unless its type has another effect', () => {
    const none = new Set<string>();
    expect(standingOf(announced(), none, policy()).effect).toBe('drain');
    const effects = { 'maintenance-announced': 'tell' } as const;
    expect(standingOf(announced(), none, { effects }).effect).toBe('tell');
    expect(conditionHolds([announced()], fleet(9), { ...policy(), effects })).toEqual([]);
  });

  it('delays no other condition, and no other delays it', () => {
    const begins = fc.option(fc.integer({ min: 0, max: 10 }));
    const rows = fc.array(
      fc.record({
        type: fc.constantFrom('disk-failing', 'maintenance-announced', 'fan-broken'),
        source: fc.constantFrom('a', 'b'),
        slotId: fc.constantFrom('one', 'two'),
        status: fc.constantFrom('True', 'False', 'Unknown'),
        fromMs: begins,
      }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(rows, fc.integer({ min: 0, max: 11 }), (made, nowMs) => {
        const all = made.map((each) => conditionRow(each));
        const held = new Set(
          all
            .filter(({ type, status }) => status === 'True' && type !== 'fan-broken')
            .filter(({ fromMs }) => fromMs === null || fromMs <= nowMs)
            .map(({ slotId }) => slotId),
        );
        const kindsOf = (slotId: string) => [`${slotId} no-allocate`, `${slotId} no-serve`];
        const found = inForce(all, nowMs).map(({ slotId, kind }) => `${slotId} ${kind}`);
        expect(found.toSorted()).toEqual([...held].toSorted().flatMap(kindsOf));
      }),
    );
  });
});

describe('a reported beginning', () => {
  const report = (change: Partial<UncheckedCondition>) =>
    checkedConditions([
      { type: 'maintenance-announced', status: 'True', reason: 'new switch', ...change } as never,
    ]);

  it('is kept in whole milliseconds, and only while the condition is true', () => {
    expect(report({ fromMs: 5.4 }).conditions).toMatchObject([{ fromMs: 5 }]);
    for (const change of [
      { fromMs: null },
      { fromMs: undefined },
      { status: 'False', fromMs: 5 },
    ]) {
      const { conditions, dropped } = report(change);
      expect([conditions.length, dropped]).toEqual([1, 0]);
      expect(conditions[0]).not.toHaveProperty('fromMs');
    }
  });

  it.each([Number.NaN, Infinity, -1, 8.65e15, '2026-03-01', true, {}])(
    'that is no time drops its condition: %s',
    (fromMs) => {
      expect(report({ fromMs })).toEqual({ conditions: [], dropped: 1 });
    },
  );
});

describe('a condition that many machines have together', () => {
  it.each([
    ['one machine is never too many', 1, 1, false],
    ['two of three machines are', 2, 3, true],
    ['half of four machines is not', 2, 4, false],
    ['five of twelve machines are not', 5, 12, false],
    ['six of twelve machines are', 6, 12, true],
    ['a fifth of a hundred is not', 20, 100, false],
    ['more than a fifth of a hundred is', 21, 100, true],
  ])('%s', (_, marked, machines, isTooMany) => {
    expect(kinds(on(marked), fleet(machines))).toHaveLength(isTooMany ? 0 : 2 * marked);
  });

  it('is counted for each provider, and for the fleet', () => {
    const theirs = on(6, { provider: OTHER });
    // Six of ten machines there are too many, although the fleet is large.
    const suspicious = suspiciousTypes(theirs, fleet(100, 10), policy());
    expect([...suspicious]).toEqual(['other disk-failing']);
    expect(kinds([...theirs, conditionRow({ slotId: 'a' })], fleet(100, 10))).toEqual([
      ...['a no-allocate', 'a no-serve'],
    ]);
    // Five of ten are not at either provider, but ten of twenty are.
    const spread = [...on(5), ...on(5, { provider: OTHER })];
    expect([...suspiciousTypes(spread, fleet(10, 10), policy())]).toEqual(['fleet disk-failing']);
    expect(kinds(spread, fleet(10, 10))).toEqual([]);
  });

  it('counts slots and not sources, true conditions only, and each type by itself', () => {
    const machines = fleet(12);
    const sources = ['a', 'b', 'c'].flatMap((source) => on(2, { source }));
    expect(kinds(sources, machines)).toHaveLength(4);
    expect(kinds([...on(3), ...on(12, { status: 'Unknown' })], machines)).toHaveLength(6);
    expect(kinds([...on(3), ...on(12, { type: 'fan-broken' })], machines)).toHaveLength(6);
  });

  it('keeps its effect in words', () => {
    const suspicious = suspiciousTypes(on(6), fleet(12), policy());
    const rowOf = conditionRow();
    expect(standingOf(rowOf, suspicious, policy())).toEqual({ effect: 'drain', suspicious: true });
    expect(standingOf({ ...rowOf, type: 'fan-broken' }, suspicious, policy())).toEqual({
      ...{ effect: 'tell', suspicious: false },
    });
  });
});

test('lists the types of true conditions once, sorted', () => {
  expect(trueTypes([])).toBeNull();
  expect(trueTypes([conditionRow({ status: 'Unknown' })])).toBeNull();
  const types = ['b', 'a', 'b'].map((type, at) => conditionRow({ type, source: `s${at}` }));
  expect(trueTypes(types)).toBe('a,b');
});

describe('counts of conditions', () => {
  it('count slots once, by provider, type and present status', () => {
    const expired = { status: 'False', expiresAtMs: NOW_MS - 1 } as const;
    const rows = [
      ...on(2),
      conditionRow({ slotId: 'slot-0', source: 'token:x' }),
      conditionRow({ slotId: 'slot-7', ...expired }),
      conditionRow({ slotId: 'slot-8', status: 'False' }),
      conditionRow({ provider: OTHER }),
    ];
    expect(conditionCounts(rows, NOW_MS)).toEqual([
      { provider: PROVIDER, type: 'disk-failing', status: 'True', machines: 2 },
      { provider: PROVIDER, type: 'disk-failing', status: 'Unknown', machines: 1 },
      { provider: OTHER, type: 'disk-failing', status: 'True', machines: 1 },
    ]);
  });

  it('count fifty types apart, the program’s own first, and the rest together', () => {
    const invented = Array.from({ length: 60 }, (_, at) =>
      conditionRow({ type: `a-${100 + at}`, slotId: `slot-${at % 2}` }),
    );
    const counts = conditionCounts([...invented, conditionRow()], NOW_MS);
    expect(counts).toHaveLength(51);
    expect(counts.find(({ type }) => type === 'disk-failing')).toBeDefined();
    expect(counts.find(({ type }) => type === 'other')).toMatchObject({ machines: 2 });
    expect(counts.some(({ type }) => type === 'a-149')).toBe(false);
    expect(counts.some(({ type }) => type === 'a-148')).toBe(true);
  });
});

test('conditions of the future, and of slots without a machine in use, are not counted', () => {
  const retired = { kind: 'byOperator', reason: '', untilMs: null, cause: 'retired' } as const;
  const at = (reservationId: string) => provided({ reservationId });
  const machines = [
    machineRow({ provided: at('a') }),
    machineRow({ provided: at('b') }),
    machineRow({ provided: at('c'), quarantine: retired }),
  ];
  const rows = ['a', 'b', 'c', 'gone'].map((slotId) =>
    conditionRow({ slotId, fromMs: slotId === 'b' ? NOW_MS + 1 : null }),
  );
  const counted = (nowMs: number) =>
    countedConditions(rows, machines, nowMs).map(({ slotId }) => slotId);
  expect(counted(NOW_MS)).toEqual(['a']);
  expect(counted(NOW_MS + 1)).toEqual(['a', 'b']);
});
