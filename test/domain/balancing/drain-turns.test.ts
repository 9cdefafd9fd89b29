import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  drainTurns,
  HELD_MS,
  YIELD_MS,
  type Candidate,
  type Holder,
  type Muster,
} from '../../../src/domain/balancing/drain-turns.ts';
import { mayServe, type Wish } from '../../../src/domain/balancing/members.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';
import { createSeededRandom } from '../../doubles/simulated-clock.ts';
import { createPlaces, placeOf, TICK_MS, type DrainOrder, type Outage } from './many-places.ts';
import { drain } from '../../support/balancing-stand.ts';
import { M1, M2, M3, pool } from './pool.ts';

type Drain = Extract<Wish, { want: 'drain' }>;

const MINUTE = 60_000;
const M = Array.from({ length: 6 }, (_, at) =>
  machineId(`aaaaaaaa-0000-4000-8000-00000000000${at + 1}`),
);

const order = (id: MachineId, change: Partial<DrainOrder> = {}): DrainOrder => ({
  ...{ machineId: id, fromMs: 60_000, leaves: false, force: false, workMs: 3 * MINUTE },
  heardAfterMs: [],
  ...change,
});

/** Lets time pass until every order has ended and every remaining machine serves. */
function run(
  places: Parameters<typeof createPlaces>[0],
  orders: readonly DrainOrder[],
  { outages = [], seed = 1 }: { outages?: readonly Outage[]; seed?: number } = {},
) {
  const random = createSeededRandom(seed);
  const world = createPlaces(places, orders, outages, random.next);
  const limitMs = 70 * MINUTE + orders.length * 12 * MINUTE;
  const isOver = () =>
    world.left().length === 0 &&
    world.rows().every(({ state, machineId: id }) => state === 'active' || world.isGone(id));
  while (world.now() < limitMs && !isOver()) world.tick();
  return {
    left: world.left(),
    wrongs: world.wrongs,
    away: world.rows().filter((row) => !mayServe(row) && !world.isGone(row.machineId)),
    endedMs: world.now(),
    awayMs: world.awayMs(),
  };
}
const WELL = { left: [], wrongs: [], away: [] };

describe('turns to drain', () => {
  const candidate = (
    id: MachineId,
    askedAtMs: number,
    change: Partial<Candidate> = {},
  ): Candidate => ({
    wish: asked(id, askedAtMs),
    ...{ isJoining: false, isServing: true, isUnderWay: false, isSetAside: false },
    ...change,
  });
  const asked = (machineId: MachineId, askedAtMs: number, change: Partial<Drain> = {}) =>
    drain(machineId, { askedAtMs, reason: 'asked', ...change }) as Drain;
  const holder = (id: MachineId, askedAtMs: number, change: Partial<Drain> = {}) => ({
    wish: asked(id, askedAtMs, change),
    sinceMs: 0,
  });
  const NONE: Muster = { serving: 0, interrupted: 0, coming: 0, isFilling: false };
  const turns = (
    candidates: readonly Candidate[],
    muster: Partial<Muster>,
    { holders = [], nowMs = 0 }: { holders?: readonly Holder[]; nowMs?: number } = {},
  ) => {
    const told = drainTurns(candidates, holders, pool(), { ...NONE, ...muster }, nowMs);
    const ids = (wishes: readonly Drain[]) => wishes.map(({ machineId }) => machineId);
    return { ...told, begin: ids(told.begin), giveBack: ids(told.giveBack) };
  };
  const away = { serving: 2, interrupted: 1, coming: 1 };

  test('prefer a machine that already drains elsewhere to an earlier request', () => {
    const told = turns([candidate(M1, 1), candidate(M2, 2, { isUnderWay: true })], { serving: 3 });
    expect(told.begin).toEqual([M2]);
  });
  test('are kept while waiting for enough active members, unless enough can never be active', () => {
    const both = [candidate(M1, 1), candidate(M2, 2, { isServing: false })];
    const waits = turns(both, { serving: 1, coming: 1 });
    expect([waits.begin, waits.wait.get(M2)]).toEqual([
      [],
      'asked; it waits for its turn: an earlier request goes first',
    ]);
    expect(turns(both, { serving: 1 }).begin).toEqual([M2]);
  });
  test('let the later of two machines that wait for each other serve again', () => {
    const elder = candidate(M1, 1, { isUnderWay: true });
    const holders = [holder(M2, 2)];
    const soon = turns([elder], away, { holders, nowMs: YIELD_MS - 1 });
    expect([soon.giveBack, soon.dueAtMs]).toEqual([[], YIELD_MS]);
    expect(turns([elder], away, { holders, nowMs: YIELD_MS }).giveBack).toEqual([M2]);
    const younger = candidate(M3, 3, { isUnderWay: true });
    expect(turns([younger], away, { holders, nowMs: YIELD_MS }).giveBack).toEqual([]);
  });
  test('wait at most five minutes for other pools', () => {
    const holders = [holder(M2, 2)];
    expect(turns([], away, { holders, nowMs: HELD_MS - 1 }).giveBack).toEqual([]);
    expect(turns([], away, { holders, nowMs: HELD_MS }).giveBack).toEqual([M2]);
    const one = [candidate(M2, 2, { isSetAside: true })];
    expect(turns(one, { serving: 3 }).wait.get(M2)).toContain('its other pools');
  });
  test('do not drain a machine that returns to service while an earlier one waits', () => {
    const back = candidate(M2, 2, { isJoining: true, isServing: false });
    expect(turns([candidate(M1, 1), back], away).begin).toEqual([]);
    expect(turns([back], away).begin).toEqual([M2]);
    const parked = { ...back, wish: drain(M2, { askedAtMs: null, leaves: true }) as Drain };
    expect(turns([candidate(M1, 1), parked], away).begin).toEqual([M2]);
  });
});

test('of two balancers that drain different machines do not wait for each other', () => {
  // At the first place, draining M1 would leave too few because M3 is down there. M2 is down too
  // and may go.
  const places = [
    placeOf('api', 'edge', [M1, M2, M3], { minActive: 2 }),
    placeOf('web', 'core', [M1, M2, M3], { minActive: 1 }),
  ];
  const outages = [
    { place: 0, machineId: M2, fromMs: 30_000, lengthMs: 20 * MINUTE },
    { place: 0, machineId: M3, fromMs: 30_000, lengthMs: 3 * MINUTE },
  ];
  const told = run(places, [order(M1), order(M2, { fromMs: 61_000 })], { outages });
  expect(told).toMatchObject(WELL);
  expect(told.endedMs).toBeLessThan(40 * MINUTE);
});

test('end every order, keep enough members active and bring every machine back, for random orders', () => {
  const size = fc.integer({ min: 4, max: M.length });
  const spec = fc.record({
    seed: fc.nat(),
    sizes: fc.array(size, { minLength: 2, maxLength: 3 }),
    atOnce: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 3, maxLength: 3 }),
    minActive: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 3, maxLength: 3 }),
    orders: fc.array(
      fc.record({
        at: fc.nat(M.length - 1),
        fromMs: fc.integer({ min: 0, max: 10 * MINUTE }),
        leaves: fc.nat(9).map((each) => each === 0),
        force: fc.nat(9).map((each) => each === 0),
        workMs: fc.integer({ min: TICK_MS, max: 8 * MINUTE }),
        heardAfterMs: fc.array(fc.nat(2 * MINUTE), { minLength: 3, maxLength: 3 }),
      }),
      { minLength: 2, maxLength: 8 },
    ),
    outages: fc.array(
      fc.record({
        place: fc.nat(2),
        at: fc.nat(M.length - 1),
        fromMs: fc.integer({ min: 0, max: 15 * MINUTE }),
        lengthMs: fc.integer({ min: MINUTE, max: 20 * MINUTE }),
      }),
      { maxLength: 4 },
    ),
  });
  fc.assert(
    fc.property(spec, ({ seed, sizes, atOnce, minActive, orders, outages }) => {
      const random = createSeededRandom(seed);
      const places = sizes.map((count, at) =>
        placeOf(
          at === 1 ? 'web' : 'api',
          at === 0 ? 'edge' : 'core',
          M.toSorted(() => random.next() - 0.5).slice(0, count),
          { atOnce: atOnce[at]!, minActive: minActive[at]! },
        ),
      );
      let leaving = 0;
      const asked = orders
        .filter(({ at }) => places.some(({ members }) => members.includes(M[at]!)))
        // Enough other machines must remain where a machine leaves for good.
        .map(({ at, leaves, ...rest }) =>
          order(M[at]!, { ...rest, leaves: leaves && (leaving += 1) < 2 }),
        );
      const down = outages
        .filter(({ place }) => place < places.length)
        .map(({ at, ...rest }) => ({ ...rest, machineId: M[at]! }));
      const told = run(places, asked, { outages: down, seed });
      expect(told).toMatchObject(WELL);
      expect(told.awayMs, 'away here, and serving there').toBeLessThan(12 * MINUTE);
    }),
    { numRuns: 150 },
  );
});
