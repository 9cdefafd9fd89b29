import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { providerName, slot } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { countPermits, type BudgetUse } from '../../../src/domain/recovery/permits.ts';
import { type RecoveryBudget } from '../../../src/domain/policy.ts';
import { agentStarted, machineRow, NOW_MS, provided, slotFacts } from '../../support/facts.ts';

interface PermitMachine {
  readonly provider?: string;
  readonly location?: string | null;
  readonly started?: boolean;
  readonly permit?: boolean;
}
const rowOf = ({ provider = 'p', location = 'a', started = true, permit = false }: PermitMachine) =>
  machineRow({
    provided: provided({ provider: providerName(provider), location }),
    agentStarted: started ? agentStarted(NOW_MS) : null,
    permit,
  });
const many = (count: number, seen: PermitMachine = {}) =>
  Array.from({ length: count }, () => rowOf(seen));
const countsOf = (budget: Partial<RecoveryBudget>, ...groups: readonly MachineRow[][]) =>
  countPermits(groups.flat().map(factsAt), {
    percent: 100,
    perGroupMax: 1_000,
    fleetMax: 1_000,
    ...budget,
  });
const factsAt = (row: MachineRow, at: number) =>
  slotFacts({ row, slot: slot('stub', `rack-${at}`) });
const A = { provider: 'p', location: 'a' };

/** How many permits can be taken there one after another. */
const roomOf = (counts: ReturnType<typeof countPermits>, place = A): number => {
  let room = 0;
  for (; counts.hasRoom(place, false) && room < 100; room += 1) counts.take(place);
  return room;
};

describe('room for one more recovery', () => {
  test('is a share of the started machines: at least one, and two from four machines on', () => {
    expect(roomOf(countsOf({ percent: 5 }, many(60)))).toBe(3);
    expect(roomOf(countsOf({ percent: 5 }, many(59)))).toBe(2);
    expect(roomOf(countsOf({ percent: 5 }, many(4)))).toBe(2);
    expect(roomOf(countsOf({ percent: 0 }, many(4)))).toBe(2);
    expect(roomOf(countsOf({ percent: 5, perGroupMax: 1 }, many(4))), 'as configured').toBe(1);
    expect(roomOf(countsOf({ percent: 5 }, many(3)))).toBe(1);
    expect(roomOf(countsOf({ percent: 5 }, many(1)))).toBe(1);
    expect(roomOf(countsOf({ percent: 5 }))).toBe(1);
  });

  test('has one more permit for an order', () => {
    const full = countsOf({ percent: 5 }, many(10), many(2, { permit: true }));
    expect([full.hasRoom(A, false), full.hasRoom(A, true)]).toEqual([false, true]);
    const over = countsOf({ percent: 5 }, many(10), many(3, { permit: true }));
    expect(over.hasRoom(A, true)).toBe(false);
  });

  test('excludes the permits that are held', () => {
    expect(roomOf(countsOf({ percent: 10 }, many(38), many(2, { permit: true })))).toBe(2);
    const unstarted = many(2, { permit: true, started: false });
    expect(roomOf(countsOf({ percent: 10 }, many(38), unstarted))).toBe(2);
    expect(countsOf({ percent: 5 }, many(20, { permit: true })).hasRoom(A, false)).toBe(false);
  });

  test('ignores machines without an agent or without hardware', () => {
    const bare = Array.from({ length: 60 }, () => machineRow({ provided: null }));
    expect(roomOf(countsOf({ percent: 5 }, many(40), many(60, { started: false }), bare))).toBe(2);
  });

  test('is limited in the fleet, at the provider and at the location', () => {
    expect(roomOf(countsOf({ fleetMax: 4 }, many(60)))).toBe(4);
    expect(roomOf(countsOf({ perGroupMax: 3 }, many(60)))).toBe(3);
    const elsewhere = many(9, { location: 'b', permit: true });
    expect(countsOf({ perGroupMax: 9 }, many(60), elsewhere).hasRoom(A, false)).toBe(false);
    const others = many(9, { provider: 'q', location: 'b', permit: true });
    expect(roomOf(countsOf({ perGroupMax: 9 }, many(60), others))).toBe(9);
    expect(countsOf({ fleetMax: 9 }, many(60), others).hasRoom(A, false)).toBe(false);
  });

  test('is shared by providers at one location, and not without a location', () => {
    const nearby = many(9, { provider: 'q', permit: true });
    expect(countsOf({ perGroupMax: 9 }, many(60), nearby).hasRoom(A, false)).toBe(false);
    const nowhere = many(9, { provider: 'q', location: null, permit: true });
    const counts = countsOf({ perGroupMax: 9 }, many(60, { location: null }), nowhere);
    expect(counts.hasRoom({ provider: 'p', location: null }, false)).toBe(true);
  });
});

describe('changes of permits', () => {
  const shape = fc.record({
    provider: fc.constantFrom('p', 'q'),
    location: fc.constantFrom('a', 'b', null),
    started: fc.boolean(),
    permit: fc.boolean(),
  });
  const news = fc.record({ at: fc.nat(5), seen: fc.option(shape) });

  test('count one by one like all at once, and leave nothing behind', () => {
    fc.assert(
      fc.property(fc.array(shape, { maxLength: 6 }), fc.array(news), (first, later) => {
        const budget = { percent: 40, perGroupMax: 3, fleetMax: 4 };
        const facts = first.map((seen, at) => factsAt(rowOf(seen), at));
        const counts = countPermits(facts, budget);
        for (const { at, seen } of later) {
          counts.take(A);
          facts[at] = { ...factsAt(rowOf(seen ?? {}), at), ...(seen === null && { row: null }) };
          counts.update([facts[at]]);
        }
        counts.update([]);
        const anew = countPermits(facts.filter(Boolean), budget);
        const byScope = (uses: readonly BudgetUse[]) =>
          uses.toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
        expect(counts.held).toBe(anew.held);
        expect(byScope(counts.use())).toEqual(byScope(anew.use()));
        for (const provider of ['p', 'q', 'r']) {
          for (const location of ['a', 'b', 'c', null]) {
            const place = { provider, location };
            expect(counts.hasRoom(place, false)).toBe(anew.hasRoom(place, false));
          }
        }
      }),
    );
  });
});
