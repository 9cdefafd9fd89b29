import { expect, test } from 'vitest';
import { foresightOf, TOLD_MAX } from '../../../src/domain/provisioning/foresight.ts';
import { judge } from './judge.ts';
import { device, free, hold, NOW_MS, penaltyRow, PROVIDER } from '../../support/facts.ts';

const rack = (at: number) => `rack-${String(at).padStart(4, '0')}`;

/** A provider with this much free capacity, where this many creations may run at once. */
const foreseen = (slots: number, chunkSize: number, orphans = 0) =>
  foresightOf(
    judge({
      listed: [
        ...Array.from({ length: slots }, (_, at) => free({ reservationId: rack(at) })),
        ...Array.from({ length: orphans }, (_, at) =>
          device({ id: `device-${at}`, reservationId: `other-${at}`, ownership: 'foreign' }),
        ),
      ],
      holds: [{ ...hold('no-allocate'), slotId: rack(0), reason: 'its fan is loud' }],
      penalties: [penaltyRow(NOW_MS + 1, { slotId: rack(1), cause: 'no capacity' })],
      chunkSize,
    }),
  );

test('counts unused free slots by reason, the most frequent reason first', () => {
  const { skipped, creations, creationCount } = foreseen(40, 3);
  expect(creations.map(({ slot }) => slot)).toEqual(
    [2, 3, 4].map((at) => `${PROVIDER}/${rack(at)}`),
  );
  expect(creationCount).toBe(3);
  expect(skipped.map(({ reason, count }) => [reason, count])).toEqual([
    ['not among the first 3', 35],
    ['a hold forbids its use: its fan is loud', 1],
    ['it is in cooldown: no capacity', 1],
  ]);
  expect(skipped[0]?.slots).toHaveLength(10);
});

test('has a length that does not grow with the fleet', () => {
  const { creations, creationCount, findings } = foreseen(2_000, Infinity, 500);
  expect([creations.length, creationCount]).toEqual([TOLD_MAX, 1_998]);
  expect(findings).toMatchObject([{ case: 'foreign', action: 'none', count: 500 }]);
  expect(findings[0]?.examples).toHaveLength(10);
});
