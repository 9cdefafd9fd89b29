import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProviderMachine } from '../../../src/domain/machine.ts';
import { providerName, witness } from '../../../src/domain/ids.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
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
import { judge } from './judge.ts';

const OTHER = providerName('another');
const rack = (at: number) => `rack-${String(at).padStart(3, '0')}`;
const racks = (count: number) =>
  Array.from({ length: count }, (_, at) => free({ reservationId: rack(at) }));

const slotsOf = (change: Partial<ReconcileInput>) =>
  judge(change).creations.map(({ slotId }) => slotId);

describe('what a listing entry counts as', () => {
  const knowsDevice = { machines: [machineRow({ provided: provided({ reservationId: null }) })] };
  const entry = (change: Partial<ProviderMachine>) => device({ reservationId: null, ...change });
  const vectors: readonly (readonly [string, ProviderMachine, 'used' | 'free'])[] = [
    ['KnownUsed stays used', entry({ availability: 'KnownUsed' }), 'used'],
    [
      'KnownUnused stays free',
      entry({ availability: 'KnownUnused', id: null, reservationId: 'r' }),
      'free',
    ],
    [
      'PossiblyUsed without an id is free',
      entry({ availability: 'PossiblyUsed', id: null, reservationId: 'r' }),
      'free',
    ],
    ['PossiblyUsed, unknown: free', entry({ availability: 'PossiblyUsed', id: 'new' }), 'free'],
    ['PossiblyUsed, known: used', entry({ availability: 'PossiblyUsed' }), 'used'],
  ];
  testRows(vectors)('judges an entry: %s', (_, machine, kind) => {
    const { summary } = judge({ ...knowsDevice, listed: [machine] });
    expect({ used: summary.used, free: summary.free }).toEqual({
      used: kind === 'used' ? 1 : 0,
      free: kind === 'free' ? 1 : 0,
    });
  });
});

describe('reconcile', () => {
  test('takes free slots in byte order of their id', () => {
    const listed = [
      free({ reservationId: 'b' }),
      free({ reservationId: 'B' }),
      free({ reservationId: 'a' }),
    ];
    expect(slotsOf({ listed })).toEqual(['B', 'a', 'b']);
  });

  test('capacity 100, at most 10, chunks of 4: ten machines after three rounds', () => {
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

  test('C3: free slots that only the limit keeps from use are counted', () => {
    const listed = racks(5);
    const held = { ...hold('no-allocate'), slotId: listed[0]!.reservationId! };
    expect(judge({ listed, holds: [held], machinesMax: 2 })).toMatchObject({ leftOut: 2 });
    expect(judge({ listed, machinesMax: 0 })).toMatchObject({ leftOut: 0 });
    expect(judge({ listed, machinesMax: 9, chunkSize: 1 })).toMatchObject({ leftOut: 0 });
  });

  test('an intent and the device it made count once', () => {
    const witnessed = device({ tags: { [WITNESS_TAG]: intentRow().witness } });
    const { summary } = judge({ listed: [witnessed], intents: [intentRow()] });
    expect(summary).toMatchObject({ managed: 1, orphan: 0, used: 1 });
  });

  test('a device of another witness is an orphan and counts', () => {
    const orphan = device({
      tags: { [WITNESS_TAG]: witness('dddddddd-0000-4000-8000-000000000001') },
    });
    const listed = [orphan, free({ reservationId: 'rack-2' })];
    const { summary, creations } = judge({ listed, intents: [], machinesMax: 1 });
    expect(summary).toMatchObject({ managed: 1, orphan: 1 });
    expect(creations).toEqual([]);
  });

  test('a foreign device counts for nothing, whatever it carries', () => {
    const foreign = device({ ownership: 'foreign', failed: true });
    const witnessed = device({
      ownership: 'foreign',
      reservationId: 'rack-3',
      tags: { [WITNESS_TAG]: intentRow().witness },
    });
    const listed = [foreign, witnessed, free({ reservationId: 'rack-2' })];
    const { summary, creations } = judge({ listed, machinesMax: 1 });
    expect(summary).toMatchObject({ managed: 0, orphan: 0, used: 0, free: 1, failed: 0 });
    expect(creations.map(({ slotId }) => slotId)).toEqual(['rack-2']);
  });

  test('a machine counts once, whoever tagged its device', () => {
    for (const ownership of ['ours', 'foreign', 'untagged'] as const) {
      const { summary } = judge({ listed: [device({ ownership })], machines: [machineRow()] });
      expect(summary).toMatchObject({ managed: 1, orphan: 0 });
    }
  });

  test('an untagged device that nothing refers to is an orphan and counts', () => {
    const { summary } = judge({ listed: [device({ ownership: 'untagged' })] });
    expect(summary).toMatchObject({ managed: 1, orphan: 1, used: 1 });
  });

  testRows(['ours', 'foreign', 'untagged'] as const)(
    'the slot under a device (%s) is never free, even if it is listed so',
    (ownership) => {
      const listed = [free(), device({ ownership }), free({ reservationId: 'rack-2' })];
      expect(slotsOf({ listed })).toEqual(['rack-2']);
      expect(slotsOf({ listed: listed.toReversed() })).toEqual(['rack-2']);
    },
  );

  testRows(['foreign', 'untagged'] as const)(
    'an entry of an inventory that is not ours is not free: %s',
    (ownership) => {
      const listed = [device({ availability: 'PossiblyUsed', ownership })];
      expect(slotsOf({ listed })).toEqual([]);
    },
  );

  test('one orphan stops nobody else', () => {
    expect(slotsOf({ listed: [device(), free({ reservationId: 'rack-2' })] })).toEqual(['rack-2']);
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
    ['a slot on the shelf', { penalties: [penaltyRow(NOW_MS + 1)] }, ['rack-2']],
    ['not: a hold of the past', { holds: [hold('no-allocate', NOW_MS)] }, ['rack-1', 'rack-2']],
    ['not: another kind of hold', { holds: [hold('preserve')] }, ['rack-1', 'rack-2']],
    ['not: shelf time that is over', { penalties: [penaltyRow(NOW_MS)] }, ['rack-1', 'rack-2']],
    [
      'B2: not: a hold on the slot of that name of another provider',
      { holds: [{ ...hold('no-allocate'), provider: OTHER }] },
      ['rack-1', 'rack-2'],
    ],
    [
      'B2: not: another provider’s shelf',
      { penalties: [penaltyRow(NOW_MS + 1, { provider: OTHER })] },
      ['rack-1', 'rack-2'],
    ],
  ])('leaves out %s', (_, change, expected) => {
    const listed = [free(), free({ reservationId: 'rack-2' })];
    expect(slotsOf({ listed, ...change })).toEqual(expected);
  });

  test('the shelf shortens no chunk', () => {
    const listed = racks(4);
    const penalties = [penaltyRow(NOW_MS + 1, { slotId: rack(0) })];
    const { creations, summary } = judge({ listed, penalties, chunkSize: 3 });
    expect(creations.map(({ slotId }) => slotId)).toEqual([rack(1), rack(2), rack(3)]);
    expect(summary.penalised).toBe(1);
  });

  test('a listing with gaps creates nothing', () => {
    expect(slotsOf({ listed: racks(3), listingComplete: false })).toEqual([]);
  });

  test('a lower limit never reduces machines', () => {
    const machines = [
      machineRow(),
      machineRow({ provided: provided({ providerId: 'd2', reservationId: 'r2' }) }),
    ];
    expect(judge({ listed: racks(3), machines, machinesMax: 1 })).toMatchObject({
      creations: [],
      summary: { managed: 2, max: 1 },
    });
  });

  test('rows of other providers are not ours', () => {
    const foreign = machineRow({ provided: provided({ provider: OTHER }) });
    expect(judge({ listed: [free()], machines: [foreign] })).toMatchObject({
      creations: [{ slotId: 'rack-1' }],
      summary: { bmdb: 0, managed: 0 },
    });
  });

  test('never over the limit, the chunk or the free slots; the order of the listing is nothing', () => {
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
