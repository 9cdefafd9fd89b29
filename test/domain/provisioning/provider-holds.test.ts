import fc from 'fast-check';
import { expect, test } from 'vitest';
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
import { at, rowsIn, span } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const GROUP = 'group c3 in m1';
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

/** `throttle create 1m, quota machines 1m =5, capacity all 0s #3`: end, amount and level. */
const holdsIn = (words: string): ProviderHoldRow[] =>
  words
    .split(',')
    .filter((each) => each.trim() !== '')
    .map((each) => {
      const [kind = '', key = '', until = '1m', ...more] = each.trim().split(' ');
      const number = (sign: string) => more.find((word) => word.startsWith(sign))?.slice(1);
      const [amount, level] = [number('='), number('#')];
      return row({
        ...{ kind: kind as 'quota', key: key === 'group' ? GROUP : key, untilMs: at(until) },
        ...{ level: Number(level ?? 1), amount: amount === undefined ? null : Number(amount) },
      });
    });
const creating = (rows: readonly ProviderHoldRow[], machines = 6): CallContext => ({
  ...{ call: 'create', holds: indexHolds(rows), nowMs: NOW_MS },
  creation: { plan, group: groupOf(plan), machines },
});
/** `retry 2m`, `quota`, `capacity group`, `auth`, `unknown`, alone or joined by `and`. */
function failureIn(words: string) {
  const facets = words.split(' and ').map((each): ProviderErrorFacets => {
    const [what, how = ''] = each.split(' ');
    if (what === 'retry') return retryIn(span(how));
    if (what === 'quota') return { quota: true };
    if (what === 'capacity') return { capacity: { scope: how as 'all' } };
    return what === 'unknown' ? { outcome: 'unknown' } : {};
  });
  return failure(Object.assign({}, ...facets) as object, words === 'auth' ? 'auth' : 'transient');
}
const textOf = (orders: readonly HoldOrder[]) =>
  orders
    .map((order) => {
      const key = order.key === GROUP ? 'group' : order.key;
      if (order.order === 'lift') return `lift ${order.kind} ${key}`;
      const amount = order.amount === undefined ? '' : ` =${order.amount}`;
      return `${order.kind} ${key} ${order.forMs / 1_000}s${amount} #${order.level}`;
    })
    .join(', ');

testRows(
  rowsIn(`
    ; retry 120s → throttle create 120s #1
    ; retry 0s →
    ; retry -1ms →
    ; retry 8760h → throttle create 900s #1
    throttle create 10m; retry 1m →
    throttle create 10m; retry 11m → throttle create 660s #1
    ; quota → quota machines 900s =5 #1
    quota machines 1m =3; quota of 1 → lift quota machines, quota machines 60s =0 #1
    quota machines 1m =4; quota of 9 → quota machines 900s =4 #1
    quota machines 0s =4; quota of 9 → quota machines 900s =8 #2
    ; capacity all → capacity all 60s #1
    ; capacity group → capacity group 60s #1
    capacity all 1m; capacity all →
    capacity all 0s #1; capacity all → capacity all 120s #2
    capacity all 0s #2; capacity all → capacity all 240s #3
    capacity all 0s #4; capacity all → capacity all 960s #5
    capacity all 0s #5; capacity all → capacity all 960s #6
    ; auth → throttle create 60s #1
    throttle create 0s #1; auth → throttle create 120s #2
    throttle create 1m; auth →
    ; outage → throttle create 5s #1
    ; unknown →
    ; retry 1m and quota and capacity all → throttle create 60s #1, quota machines 900s =5 #1, capacity all 60s #1
  `),
)('provider vectors 6 to 8: imposes holds after a failure: %s: %s', (words, told) => {
  const [before = '', failed = ''] = words.split(';');
  const [what = '', machines = '6'] = failed.trim().split(' of ');
  const context = creating(holdsIn(before), Number(machines));
  expect(textOf(holdsAfterFailure(failureIn(what), context))).toBe(told);
});

testRows(
  rowsIn(`
    throttle create 1m → lift throttle create
    quota machines 1m =4 →
    quota machines 0s =5 → lift quota machines
    capacity all 0s #7, capacity group 1m, capacity other 1m → lift capacity group, lift capacity all
  `),
)('starts anew after a success, except under a quota in force: %s: %s', (words, told) => {
  expect(textOf(holdsAfterSuccess(creating(holdsIn(words))))).toBe(told);
});

test('lifts only the hold that was seen', () => {
  const rows = holdsIn('capacity all 0s');
  expect(holdsAfterSuccess(creating(rows))).toMatchObject([{ seenUntilMs: NOW_MS }]);
});

test('provider vector 6: throttles only listings after a throttled list', () => {
  const context = { call: 'list', holds: indexHolds([]), nowMs: NOW_MS } as const;
  expect(textOf(holdsAfterFailure(failureIn('retry 120s and quota'), context))).toBe(
    'throttle list 120s #1',
  );
  const holds = indexHolds(holdsIn('throttle list 2m'));
  const isThrottled = (call: 'list' | 'create' | 'destroy', after = 0) =>
    throttleOf(holds, call, NOW_MS + after) !== null;
  expect(isThrottled('list', 119_999)).toBe(true);
  expect(isThrottled('list', 120_000)).toBe(false);
  expect([isThrottled('create'), isThrottled('destroy')]).toEqual([false, false]);
});

const asked = (words: string, change: Partial<AdmissionInput> = {}): AdmissionInput => ({
  ...{ holds: indexHolds(holdsIn(words)), nowMs: NOW_MS, payload: null },
  ...{ plan, group: groupOf(change.plan ?? plan), machines: 5 },
  ...{ running: 0, runningMax: 3, onTrial: new Set() },
  ...change,
});

testRows([
  ['throttle create 2m', {}, 'creations are throttled: it said so'],
  ['throttle create 2m', { nowMs: at('2m') }, null],
  ['throttle list 2m', {}, null],
  ['quota machines 15m =5', {}, 'at quota, 5 machines of 5: it said so'],
  ['quota machines 15m =5', { machines: 4 }, null],
  ['quota machines 15m =5', { nowMs: at('15m') }, null],
  ['quota machines 1m =0', { machines: 0 }, 'at quota, 0 machines of 0: it said so'],
  ['quota machines 0s =5', { running: 1 }, 'one trial at a time (quota machines)'],
  ['capacity group', {}, 'no capacity (group c3 in m1): it said so'],
  ['capacity all', {}, 'no capacity (all): it said so'],
  [
    'capacity all, quota machines 1m =1, throttle create',
    { payload: 'no key' },
    'nothing can be created: no key',
  ],
  ['capacity all, quota machines 1m =1, throttle create', {}, 'no capacity (all): it said so'],
  ['quota machines 1m =1, throttle create', {}, 'at quota, 5 machines of 1: it said so'],
  ['throttle create', { running: 3 }, 'creations are throttled: it said so'],
  ['', { running: 3 }, '3 creations are under way'],
  ['', {}, null],
] as const)(
  'provider vectors 6 to 8: decides whether one more may be created: %s, %j: %s',
  (words, change, why) => {
    expect(admissionRefusal(asked(words, change))).toBe(why);
  },
);

test('lets a single trial through after its end', () => {
  const input = asked('quota machines 0s =5');
  expect([admissionRefusal(input), admissionRefusal(input)]).toEqual([
    null,
    'one trial at a time (quota machines)',
  ]);
});

test('provider vector 9: separates group, plan, spot and metro, or holds everything', () => {
  const plans = [
    plan,
    { ...plan, spot: true },
    { ...plan, location: 'm2' },
    { ...plan, name: 'm3' },
  ];
  const declined = (scope: 'all' | 'group' | 'plan') => {
    const [order] = holdsAfterFailure(failure({ capacity: { scope } }), creating([]));
    const holds = indexHolds([row({ kind: 'capacity', key: order!.key })]);
    return plans.filter((of) => admissionRefusal(asked('', { holds, plan: of })) !== null);
  };
  expect(declined('group')).toEqual([plan]);
  expect(declined('plan')).toEqual([plan]);
  expect(declined('all')).toEqual(plans);
});

test('provider vector 10: recognises an error inside two causes', () => {
  const inner = new ProviderError('transient', 'none left', { capacity: { scope: 'all' } });
  const wrapped = new Error('outer', { cause: new Error('middle', { cause: inner }) });
  const orders = holdsAfterFailure(failureOfCall(wrapped, NOW_MS), creating([]));
  expect(textOf(orders)).toBe('capacity all 60s #1');
});

/** The holds in force after the orders. */
const carriedOut = (orders: readonly HoldOrder[], before: readonly ProviderHoldRow[]) => {
  const rows = new Map(before.map((each) => [`${each.kind} ${each.key}`, each]));
  for (const order of orders) {
    const id = `${order.kind} ${order.key}`;
    if (order.order === 'lift') rows.delete(id);
    else {
      const untilMs = Math.max(NOW_MS + order.forMs, rows.get(id)?.untilMs ?? 0);
      rows.set(id, row({ kind: order.kind, key: order.key, untilMs }));
    }
  }
  return [...rows.values()];
};

test('never ends a hold in force earlier, whatever fails', () => {
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
      const after = carriedOut(holdsAfterFailure(error, creating(rows, machines)), rows);
      for (const before of rows) {
        const now = after.find(({ kind, key }) => kind === before.kind && key === before.key);
        expect(now!.untilMs).toBeGreaterThanOrEqual(before.untilMs);
      }
    }),
  );
});
