import fc from 'fast-check';
import { expect, test } from 'vitest';
import { queueInOrder, queueOf } from '../../../src/domain/explanation/queue.ts';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import { ladderRow, machineRow, NOW_MS, orderRow, provided } from '../../support/facts.ts';

const idOf = (at: number) => machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);

const waiting = fc
  .array(
    fc.record({
      provider: fc.constantFrom('p', 'q'),
      location: fc.constantFrom('a', 'b', null),
      permit: fc.boolean(),
      askedAtMs: fc.constantFrom(null, NOW_MS - 9, NOW_MS - 5),
      order: fc.constantFrom(null, orderRow()),
    }),
    { maxLength: 12 },
  )
  .map((machines) =>
    machines.map(({ provider, location, permit, askedAtMs, order }, at) =>
      machineRow({
        machineId: idOf(at),
        provided: provided({ provider: providerName(provider), location }),
        permit,
        recovery: ladderRow({ askedAtMs }),
        order,
      }),
    ),
  );
const budgets = fc
  .shuffledSubarray(['fleet', 'provider p', 'provider q', 'location a', 'location b'])
  .chain((scopes) =>
    fc.tuple(
      ...scopes.map((scope) =>
        fc.constantFrom(0, 1, 2).map((budget) => ({ scope, permits: 1, budget })),
      ),
    ),
  );

test('gives all machines the same places as one by one, first come first', () => {
  fc.assert(
    fc.property(waiting, budgets, (rows, uses) => {
      const queued = queueInOrder(rows, uses);
      for (const { row, queue } of queued) expect(queue).toEqual(queueOf(row, uses, rows));
      const places = queued.flatMap(({ queue }) => (queue?.scope === 'fleet' ? queue.place : []));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(new Set(queued.map(({ row }) => row))).toEqual(new Set(rows));
    }),
  );
});

test('makes an order wait when the permit reserved for orders is taken', () => {
  const row = machineRow({ order: orderRow() });
  const use = (permits: number) => [{ scope: 'fleet', permits, budget: 1 }];
  expect(queueOf(row, use(1), [row])).toBeNull();
  expect(queueOf(row, use(2), [row])).toEqual({ scope: 'fleet', place: 1, of: 1 });
});
