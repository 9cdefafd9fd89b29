import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { providerName } from '../../../src/domain/ids.ts';
import type { ReconcileInput } from '../../../src/domain/provisioning/reconcile.ts';
import {
  device,
  free,
  hold,
  intentRow,
  machineRow,
  NOW_MS,
  penaltyRow,
  provided,
} from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';
import { rowsIn } from '../../support/fact-words.ts';
import { inputOf, judge } from './judge.ts';

const OTHER = providerName('another');
const rack = (at: number) => `rack-${String(at).padStart(3, '0')}`;
const racks = (count: number) =>
  Array.from({ length: count }, (_, at) => free({ reservationId: rack(at) }));

const slotsOf = (change: Partial<ReconcileInput>) =>
  judge(change).creations.map(({ slotId }) => slotId);

/** The counts of a listing and rows in words, and the slots that become machines. */
function countsOf(words: string): string {
  const { summary, creations } = judge({ ...inputOf(words), machinesMax: 2 });
  const counts = (['managed', 'orphan', 'used', 'failed', 'free'] as const)
    .filter((name) => summary[name] > 0)
    .map((name) => `${name} ${summary[name]}`);
  return [...counts, ...creations.map(({ slotId }) => `makes ${slotId}`)].join(', ');
}
const INVENTORY = 'device reservationId=null availability';
testRows(
  rowsIn(`
    ${INVENTORY}=KnownUsed, machine reservationId=null            → managed 1, used 1
    ${INVENTORY}=PossiblyUsed, machine reservationId=null         → managed 1, used 1
    ${INVENTORY}=PossiblyUsed id=new, machine reservationId=null  → managed 1, free 1, makes new
    device reservationId=r id=null availability=PossiblyUsed      → free 1, makes r
    device reservationId=r id=null availability=KnownUnused       → free 1, makes r
    ${INVENTORY}=PossiblyUsed ownership=foreign                   →
    ${INVENTORY}=PossiblyUsed ownership=untagged                  →
    witnessed, intent                                             → managed 1, used 1
    witnessed, free reservationId=rack-2                          → managed 1, orphan 1, used 1, free 1, makes rack-2
    device, free reservationId=rack-2                             → managed 1, orphan 1, used 1, free 1, makes rack-2
    device ownership=untagged                                     → managed 1, orphan 1, used 1
    device ownership=foreign failed=true, witnessed ownership=foreign reservationId=rack-3, free reservationId=rack-2 → free 1, makes rack-2
    device, machine                                               → managed 1, used 1
    device ownership=foreign, machine                             → managed 1
    device ownership=untagged, machine                            → managed 1, used 1
    free, device ownership=foreign, free reservationId=rack-2     → free 1, makes rack-2
    device ownership=foreign, free, free reservationId=rack-2     → free 1, makes rack-2
    free, machine provider=another                                → free 1, makes rack-1
    free, device, free reservationId=rack-2                       → managed 1, orphan 1, used 1, free 1, makes rack-2
    free, gap                                                     → free 1`),
)('counts listed and recorded machines once, and uses free capacity: %s', (words, expected) => {
  expect(countsOf(words)).toBe(expected);
});

describe('a reconciliation', () => {
  test('takes free slots in byte order of their id', () => {
    const listed = [
      free({ reservationId: 'b' }),
      free({ reservationId: 'B' }),
      free({ reservationId: 'a' }),
    ];
    expect(slotsOf({ listed })).toEqual(['B', 'a', 'b']);
  });

  test('creates ten machines in three rounds for capacity 100, limit 10 and chunks of 4', () => {
    const machines = [];
    for (const expected of [4, 4, 2, 0]) {
      const taken = new Set(machines.map((row) => row.provided!.reservationId));
      const listed = [
        ...racks(100).filter(({ reservationId }) => !taken.has(reservationId)),
        ...machines.map((row) =>
          device({ id: row.provided!.providerId, reservationId: row.provided!.reservationId }),
        ),
      ];
      const { creations } = judge({ listed, machines, machinesMax: 10, chunkSize: 4 });
      expect(creations).toHaveLength(expected);
      for (const { slotId } of creations) {
        const hardware = provided({ providerId: `device-${slotId}`, reservationId: slotId });
        machines.push(machineRow({ provided: hardware }));
      }
    }
    expect(machines).toHaveLength(10);
  });

  test('C3: counts free slots that only the limit leaves unused', () => {
    const listed = racks(5);
    const held = { ...hold('no-allocate'), slotId: listed[0]!.reservationId! };
    expect(judge({ listed, holds: [held], machinesMax: 2 })).toMatchObject({ leftOut: 2 });
    expect(judge({ listed, machinesMax: 0 })).toMatchObject({ leftOut: 0 });
    expect(judge({ listed, machinesMax: 9, chunkSize: 1 })).toMatchObject({ leftOut: 0 });
  });

  test.each<readonly [string, Partial<ReconcileInput>, readonly string[]]>([
    ['a slot with an intent', { intents: [intentRow()] }, ['rack-2']],
    ['a slot with a machine', { machines: [machineRow()] }, ['rack-2']],
    ['a slot that must not be used', { holds: [hold('no-allocate')] }, ['rack-2']],
    [
      'B2: one that must not be used for a while',
      { holds: [hold('no-allocate', NOW_MS + 1)] },
      ['rack-2'],
    ],
    ['a slot in cooldown', { penalties: [penaltyRow(NOW_MS + 1)] }, ['rack-2']],
    ['not: a hold of the past', { holds: [hold('no-allocate', NOW_MS)] }, ['rack-1', 'rack-2']],
    ['not: another kind of hold', { holds: [hold('preserve')] }, ['rack-1', 'rack-2']],
    ['not: shelf time that is over', { penalties: [penaltyRow(NOW_MS)] }, ['rack-1', 'rack-2']],
    [
      'B2: not: a hold on the slot of that name of another provider',
      { holds: [{ ...hold('no-allocate'), provider: OTHER }] },
      ['rack-1', 'rack-2'],
    ],
    [
      'B2: not: a cooldown of another provider',
      { penalties: [penaltyRow(NOW_MS + 1, { provider: OTHER })] },
      ['rack-1', 'rack-2'],
    ],
  ])('leaves out %s', (_, change, expected) => {
    const listed = [free(), free({ reservationId: 'rack-2' })];
    expect(slotsOf({ listed, ...change })).toEqual(expected);
  });

  test('keeps whole chunks despite slots on cooldown', () => {
    const listed = racks(4);
    const penalties = [penaltyRow(NOW_MS + 1, { slotId: rack(0) })];
    const { creations, summary } = judge({ listed, penalties, chunkSize: 3 });
    expect(creations.map(({ slotId }) => slotId)).toEqual([rack(1), rack(2), rack(3)]);
    expect(summary.penalised).toBe(1);
  });

  test('never shrinks the fleet after a lower limit', () => {
    const machines = [
      machineRow(),
      machineRow({ provided: provided({ providerId: 'd2', reservationId: 'r2' }) }),
    ];
    expect(judge({ listed: racks(3), machines, machinesMax: 1 })).toMatchObject({
      creations: [],
      summary: { managed: 2, max: 1 },
    });
  });

  test('stays within limit, chunk and free slots in any order of the listing', () => {
    const size = fc.nat(12);
    fc.assert(
      fc.property(
        size,
        size,
        size,
        fc.integer({ min: 1, max: 6 }),
        (count, used, max, chunkSize) => {
          const machines = Array.from({ length: used }, (_, at) =>
            machineRow({
              provided: provided({ providerId: `device-${at}`, reservationId: `used-${at}` }),
            }),
          );
          const devices = machines.map(({ provided: hardware }) =>
            device({ id: hardware!.providerId, reservationId: hardware!.reservationId }),
          );
          const listed = [...racks(count), ...devices];
          const input = { listed, machines, machinesMax: max, chunkSize };
          const { creations } = judge(input);
          const room = max === 0 ? Infinity : Math.max(0, max - used);
          expect(creations).toHaveLength(Math.min(count, room, chunkSize));
          expect(new Set(creations.map(({ slotId }) => slotId)).size).toBe(creations.length);
          expect(judge({ ...input, listed: listed.toReversed() }).creations).toEqual(creations);
        },
      ),
    );
  });
});
