import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureOfCall } from '../../../src/domain/provisioning/provider-tags.ts';
import { ProviderError, type ProviderErrorFacets } from '../../../src/domain/errors.ts';
import type { ProviderHoldRow } from '../../../src/domain/machine.ts';
import {
  admissionRefusal,
  holdsAfterFailure,
  holdsAfterSuccess,
  indexHolds,
  throttleOf,
  type AdmissionInput,
  type CallContext,
  type CapacityPlan,
  type HoldOrder,
} from '../../../src/domain/provisioning/provider-holds.ts';
import { NOW_MS, PROVIDER } from '../../support/facts.ts';

const MINUTE = 60_000;
const plan: CapacityPlan = { name: 'c3', location: 'm1', spot: false };
const groupOf = ({ name, location, spot }: CapacityPlan) =>
  `${name} in ${location}${spot ? ' spot' : ''}`;

const row = (change: Partial<ProviderHoldRow>): ProviderHoldRow => ({
  provider: PROVIDER,
  kind: 'throttle',
  key: 'create',
  level: 1,
  amount: null,
  untilMs: NOW_MS + MINUTE,
  cause: 'it said so',
  ...change,
});
const failure = (facets: ProviderErrorFacets = {}, kind: 'transient' | 'auth' = 'transient') =>
  failureOfCall(new ProviderError(kind, 'it said so', facets), NOW_MS);
const retryIn = (ms: number) => ({ rateLimit: { retryAt: new Date(NOW_MS + ms) } });

interface Given {
  readonly rows?: readonly ProviderHoldRow[];
  readonly nowMs?: number;
  readonly machines?: number;
  readonly of?: CapacityPlan;
}
const creating = ({ rows = [], nowMs = NOW_MS, machines = 6, of = plan }: Given): CallContext => ({
  call: 'create',
  holds: indexHolds(rows),
  nowMs,
  creation: { plan: of, group: groupOf(of), machines },
});
const may = ({ rows = [], nowMs = NOW_MS, machines = 5, of = plan }: Given, running = 0) => {
  const input: AdmissionInput = {
    holds: indexHolds(rows),
    nowMs,
    payload: null,
    plan: of,
    group: groupOf(of),
    machines,
    running,
    runningMax: 3,
    onTrial: new Set(),
  };
  return admissionRefusal(input) === null;
};
/** What is in force after the orders were carried out. */
const carriedOut = (orders: readonly HoldOrder[], before: readonly ProviderHoldRow[] = []) => {
  const rows = new Map(before.map((each) => [`${each.kind} ${each.key}`, each]));
  for (const order of orders) {
    const id = `${order.kind} ${order.key}`;
    if (order.order === 'lift') rows.delete(id);
    else {
      const { kind, key, level, cause, amount = null } = order;
      const untilMs = Math.max(NOW_MS + order.forMs, rows.get(id)?.untilMs ?? 0);
      rows.set(id, row({ kind, key, level, cause, amount, untilMs }));
    }
  }
  return [...rows.values()];
};

describe('rate limits', () => {
  test('provider vector 6: creations wait 120 s, listings go on', () => {
    const rows = carriedOut(holdsAfterFailure(failure(retryIn(120_000)), creating({})));
    expect(rows).toMatchObject([{ key: 'create', untilMs: NOW_MS + 120_000 }]);
    expect(may({ rows, nowMs: NOW_MS + 119_999 })).toBe(false);
    expect(may({ rows, nowMs: NOW_MS + 120_000 })).toBe(true);
    expect(throttleOf(indexHolds(rows), 'list', NOW_MS)).toBeNull();
    expect(throttleOf(indexHolds(rows), 'destroy', NOW_MS)).toBeNull();
  });

  test('provider vector 6: on list, creations and destroys go on', () => {
    const context = { call: 'list', holds: indexHolds([]), nowMs: NOW_MS } as const;
    const rows = carriedOut(holdsAfterFailure(failure(retryIn(120_000)), context));
    expect(throttleOf(indexHolds(rows), 'list', NOW_MS + 119_999)).not.toBeNull();
    expect(may({ rows })).toBe(true);
    expect(throttleOf(indexHolds(rows), 'destroy', NOW_MS)).toBeNull();
  });

  test('provider vector 7: a shorter throttle during a longer one changes nothing', () => {
    const rows = [row({ untilMs: NOW_MS + 10 * MINUTE })];
    expect(holdsAfterFailure(failure(retryIn(MINUTE)), creating({ rows }))).toEqual([]);
    const longer = holdsAfterFailure(failure(retryIn(11 * MINUTE)), creating({ rows }));
    expect(longer).toMatchObject([{ order: 'impose', key: 'create', forMs: 11 * MINUTE }]);
  });

  test('a retry time that has passed says nothing; a far one is capped at 15 minutes', () => {
    expect(holdsAfterFailure(failure(retryIn(0)), creating({}))).toEqual([]);
    expect(holdsAfterFailure(failure(retryIn(-1)), creating({}))).toEqual([]);
    const far = holdsAfterFailure(failure(retryIn(365 * 24 * 60 * MINUTE)), creating({}));
    expect(far).toMatchObject([{ forMs: 15 * MINUTE }]);
  });
});

describe('quota', () => {
  const quota = { quota: true } as const;

  test('provider vector 8: with 5 machines none is made until there are at most 4, or 15 min', () => {
    const rows = carriedOut(holdsAfterFailure(failure(quota), creating({ machines: 6 })));
    expect(rows).toMatchObject([{ kind: 'quota', amount: 5 }]);
    expect(may({ rows, machines: 5 })).toBe(false);
    expect(may({ rows, machines: 4 })).toBe(true);
    expect(may({ rows, machines: 5, nowMs: NOW_MS + 15 * MINUTE - 1 })).toBe(false);
    expect(may({ rows, machines: 5, nowMs: NOW_MS + 15 * MINUTE })).toBe(true);
  });

  test('provider vector 8: with no machine it is tried again after 60 s', () => {
    const before = [row({ kind: 'quota', key: 'machines', amount: 3 })];
    const orders = holdsAfterFailure(failure(quota), creating({ rows: before, machines: 1 }));
    const rows = carriedOut(orders, before);
    expect(may({ rows, machines: 0, nowMs: NOW_MS + MINUTE - 1 })).toBe(false);
    expect(may({ rows, machines: 0, nowMs: NOW_MS + MINUTE })).toBe(true);
  });

  test('after its time one single trial is let through, and a success clears it', () => {
    const rows = [row({ kind: 'quota', key: 'machines', amount: 5, untilMs: NOW_MS })];
    expect(may({ rows }, 1), 'while another is under way').toBe(false);
    const input: AdmissionInput = {
      holds: indexHolds(rows),
      nowMs: NOW_MS,
      payload: null,
      plan,
      group: groupOf(plan),
      machines: 5,
      running: 0,
      runningMax: 3,
      onTrial: new Set(),
    };
    expect([admissionRefusal(input), admissionRefusal(input)]).toEqual([
      null,
      'one trial at a time (quota machines)',
    ]);
    expect(holdsAfterSuccess(creating({ rows }))).toContainEqual(
      expect.objectContaining({ order: 'lift', kind: 'quota' }),
    );
  });

  test('a success within a quota in force clears nothing; the smaller amount stays', () => {
    const rows = [row({ kind: 'quota', key: 'machines', amount: 4 })];
    expect(holdsAfterSuccess(creating({ rows }))).toEqual([]);
    const orders = holdsAfterFailure(failure(quota), creating({ rows, machines: 9 }));
    expect(orders).toMatchObject([{ amount: 4 }]);
  });
});

describe('capacity', () => {
  const spot = { ...plan, spot: true };
  const elsewhere = { ...plan, location: 'm2' };
  const other = { ...plan, name: 'm3' };
  const none = (scope: 'all' | 'group' | 'plan') =>
    carriedOut(holdsAfterFailure(failure({ capacity: { scope } }), creating({})));

  test('provider vector 9: the group (m1, c3) alone is declined', () => {
    const rows = none('group');
    expect(may({ rows })).toBe(false);
    for (const of of [spot, elsewhere, other]) expect(may({ rows, of })).toBe(true);
  });

  test('a plan, spot and metro apart; or everything', () => {
    const rows = none('plan');
    expect([plan, spot, elsewhere, other].map((of) => may({ rows, of }))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect([plan, spot, elsewhere, other].some((of) => may({ rows: none('all'), of }))).toBe(false);
  });

  test('provider vector 10: wrapped inside two causes it is still recognised', () => {
    const inner = new ProviderError('transient', 'none left', { capacity: { scope: 'all' } });
    const wrapped = new Error('outer', { cause: new Error('middle', { cause: inner }) });
    const orders = holdsAfterFailure(failureOfCall(wrapped, NOW_MS), creating({}));
    expect(orders).toMatchObject([{ kind: 'capacity', key: 'all' }]);
  });

  test('the hold doubles from 60 s to 16 min, and a success begins anew', () => {
    let rows: ProviderHoldRow[] = [];
    const waits: number[] = [];
    for (let at = 0; at < 7; at += 1) {
      const [order] = holdsAfterFailure(
        failure({ capacity: { scope: 'all' } }),
        creating({ rows }),
      );
      if (order?.order !== 'impose') throw new Error('nothing was imposed');
      waits.push(order.forMs / MINUTE);
      rows = [row({ kind: 'capacity', key: 'all', level: order.level, untilMs: NOW_MS })];
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 16, 16]);
    expect(holdsAfterSuccess(creating({ rows }))).toEqual([
      { order: 'lift', kind: 'capacity', key: 'all', seenUntilMs: NOW_MS },
    ]);
  });

  test('several failures under one hold are one step', () => {
    const rows = [row({ kind: 'capacity', key: 'all' })];
    const again = failure({ capacity: { scope: 'all' } });
    expect(holdsAfterFailure(again, creating({ rows }))).toEqual([]);
  });
});

describe('what stops creations besides', () => {
  const base: AdmissionInput = {
    holds: indexHolds([]),
    nowMs: NOW_MS,
    payload: null,
    plan,
    group: groupOf(plan),
    machines: 5,
    running: 0,
    runningMax: 1,
    onTrial: new Set(),
  };

  test('the reasons come in their order', () => {
    const all = [
      row({ kind: 'capacity', key: 'all' }),
      row({ kind: 'quota', key: 'machines', amount: 1 }),
      row({}),
    ];
    const given = { ...base, payload: 'no key', running: 1 };
    const reasons = [
      admissionRefusal({ ...given, holds: indexHolds(all) }),
      admissionRefusal({ ...given, payload: null, holds: indexHolds(all) }),
      admissionRefusal({ ...given, payload: null, holds: indexHolds(all.slice(1)) }),
      admissionRefusal({ ...given, payload: null, holds: indexHolds(all.slice(2)) }),
      admissionRefusal({ ...given, payload: null }),
      admissionRefusal(base),
    ];
    expect(reasons.map((reason) => reason?.split(/[ ,:]/).slice(0, 2).join(' ') ?? null)).toEqual([
      'nothing can',
      'no capacity',
      'at quota',
      'creations are',
      '1 creations',
      null,
    ]);
  });

  test('our token and an outage pause creations, ever longer; an unknown outcome does not', () => {
    const first = holdsAfterFailure(failure({}, 'auth'), creating({}));
    expect(first).toMatchObject([{ kind: 'throttle', key: 'create', forMs: MINUTE, level: 1 }]);
    const rows = [row({ untilMs: NOW_MS, level: 1 })];
    const second = holdsAfterFailure(failure({}, 'auth'), creating({ rows }));
    expect(second).toMatchObject([{ forMs: 2 * MINUTE, level: 2 }]);
    expect(holdsAfterFailure(failure(), creating({}))).toMatchObject([{ forMs: 5_000 }]);
    expect(holdsAfterFailure(failure({ outcome: 'unknown' }), creating({}))).toEqual([]);
  });

  test('facets are independent: one error may carry several, each is handled', () => {
    const both = failure({ ...retryIn(MINUTE), quota: true, capacity: { scope: 'plan' } });
    const kinds = holdsAfterFailure(both, creating({})).map(({ kind }) => kind);
    expect(kinds).toEqual(['throttle', 'quota', 'capacity']);
  });

  test('whatever fails, no hold in force ends earlier', () => {
    const facets = fc.record({
      quota: fc.constantFrom(undefined, true as const),
      scope: fc.constantFrom(undefined, 'all' as const, 'group' as const, 'plan' as const),
      retryMs: fc.option(fc.integer({ min: -MINUTE, max: 100 * MINUTE }), { nil: undefined }),
    });
    const rowsArb = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('throttle create', 'capacity all', 'quota machines'),
        untilMs: fc.integer({ min: NOW_MS - MINUTE, max: NOW_MS + 120 * MINUTE }),
        amount: fc.integer({ min: 1, max: 9 }),
      }),
      { selector: ({ id }) => id },
    );
    fc.assert(
      fc.property(facets, rowsArb, fc.integer({ min: 2, max: 9 }), (said, given, machines) => {
        const rows = given.map(({ id, untilMs, amount }) => {
          const [kind, key] = id.split(' ') as [ProviderHoldRow['kind'], string];
          return row({ kind, key, untilMs, amount });
        });
        const error = failure({
          ...(said.quota && { quota: true }),
          ...(said.scope && { capacity: { scope: said.scope } }),
          ...(said.retryMs !== undefined && retryIn(said.retryMs)),
        });
        const after = carriedOut(holdsAfterFailure(error, creating({ rows, machines })), rows);
        for (const before of rows) {
          const now = after.find(({ kind, key }) => kind === before.kind && key === before.key);
          expect(now!.untilMs).toBeGreaterThanOrEqual(before.untilMs);
        }
      }),
    );
  });
});
