import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assembleFacts,
  mergeListing,
  type KnownListing,
  type Rows,
} from '../../src/domain/assemble.ts';
import { machineId, slot, type ProviderName } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf } from '../../src/domain/view.ts';
import {
  device,
  free,
  hold,
  intentRow,
  machineRow,
  MACHINE,
  NOW_MS,
  penaltyRow,
  requestRow,
  PROVIDER,
  provided,
  SLOT,
} from '../support/facts.ts';
import { testRows } from '../support/rows.ts';

const NO_ROWS: Rows = { machines: [], intents: [], holds: [], penalties: [], requests: [] };
const listing = (...machines: ProviderMachine[]): Map<ProviderName, KnownListing> =>
  new Map([[PROVIDER, { machines, complete: true }]]);
const assemble = (rows: Partial<Rows>, listings = listing()) =>
  assembleFacts({ ...NO_ROWS, ...rows }, listings);
const OTHER = machineId('aaaaaaaa-0000-4000-8000-000000000002');

describe('assembleFacts', () => {
  test('row, device, intent, hold and penalty of one slot meet', () => {
    const rows = {
      machines: [machineRow()],
      intents: [intentRow()],
      holds: [hold('preserve')],
      penalties: [penaltyRow(NOW_MS)],
      requests: [requestRow({ key: 'b', createdAtMs: NOW_MS + 1 }), requestRow({ key: 'a' })],
    };
    const facts = assemble(rows, listing(device()));
    expect([...facts.keys()]).toEqual([SLOT]);
    expect(facts.get(SLOT)).toMatchObject({
      row: { machineId: MACHINE },
      listed: { id: 'device-1' },
      intent: { state: 'open' },
      holds: [{ kind: 'preserve' }],
      penalty: { untilMs: NOW_MS },
      listingComplete: true,
      requests: [{ key: 'a' }, { key: 'b' }],
      conflict: null,
    });
  });

  test('holds, penalties and requests alone make no slot', () => {
    const rows = {
      holds: [hold('preserve')],
      penalties: [penaltyRow(NOW_MS)],
      requests: [requestRow(), requestRow({ verb: 'freeze', slotId: null, machineId: null })],
    };
    expect(assemble(rows).size).toBe(0);
  });

  test('a machine without hardware has no slot', () => {
    expect(assemble({ machines: [machineRow({ provided: null })] }).size).toBe(0);
  });

  test('a slot without a reservation is named by its device', () => {
    const rows = { machines: [machineRow({ provided: provided({ reservationId: null }) })] };
    const facts = assemble(rows, listing(device({ reservationId: null })));
    expect(facts.get(slot('stub', 'device-1'))?.conflict).toBeNull();
  });

  test('an entry of a stateless inventory is used if a machine has its id', () => {
    const entry = device({ availability: 'PossiblyUsed', reservationId: null, id: 'srv-1' });
    const machines = [
      machineRow({ provided: provided({ providerId: 'srv-1', reservationId: null }) }),
    ];
    const found = assemble({ machines }, listing(entry)).get(slot('stub', 'srv-1'));
    expect(found).toMatchObject({ conflict: null, listed: { id: 'srv-1' } });
  });

  testRows([
    [
      'two machines on a slot',
      { machines: [machineRow(), machineRow({ machineId: OTHER })] },
      [device()],
      'claim this slot',
    ],
    [
      'a machine that cannot be read, before all else,',
      { machines: [machineRow({ machineId: OTHER }), machineRow({ unreadable: 'too new' })] },
      [device({ ownership: 'untagged' }), device({ id: 'device-2' })],
      'too new',
    ],
    [
      'a device that lost our tag',
      { machines: [machineRow()] },
      [device({ ownership: 'untagged' })],
      'device device-1 of this machine carries no owner tag',
    ],
    [
      'a device that another owner tagged',
      { machines: [machineRow()] },
      [device({ ownership: 'foreign' })],
      'device device-1 of this machine carries the tag of another owner',
    ],
    [
      'a device that another owner tagged, elsewhere',
      { machines: [machineRow()] },
      [device({ ownership: 'foreign', reservationId: 'rack-2' })],
      'device device-1 of this machine carries the tag of another owner',
    ],
    [
      "a foreign device on a machine's slot",
      { machines: [machineRow()] },
      [device({ id: 'device-2', ownership: 'foreign' })],
      'device device-2 is on this slot',
    ],
    [
      "a foreign device beside a machine's own",
      { machines: [machineRow()] },
      [device(), device({ id: 'device-2', ownership: 'foreign' })],
      'device-1 and device-2 are on this slot',
    ],
    ['two devices on a slot', {}, [device(), device({ id: 'device-2' })], 'are on this slot'],
    [
      "another device than the machine's",
      { machines: [machineRow()] },
      [device({ id: 'device-2' })],
      'device device-2 is on this slot',
    ],
    [
      'a device on another reservation',
      { machines: [machineRow()] },
      [device({ reservationId: 'rack-2' })],
      'is listed on stub/rack-2',
    ],
  ])('%s is a conflict of that slot', (_, rows, machines, reason) => {
    expect(assemble(rows, listing(...machines)).get(SLOT)?.conflict).toContain(reason);
  });

  testRows([
    ['its own slot', 'rack-1'],
    ['a slot of its own name', null],
  ])('a foreign device that no machine refers to does not exist: %s', (_, reservationId) => {
    const foreign = device({ reservationId, ownership: 'foreign' });
    expect(assemble({}, listing(foreign)).size).toBe(0);
    const tracked = device({ reservationId, ownership: 'foreign', availability: 'PossiblyUsed' });
    expect(assemble({}, listing(tracked)).size).toBe(0);
  });

  test("a foreign device with a machine's id makes no slot where it sits", () => {
    const foreign = device({ ownership: 'foreign', reservationId: 'rack-2' });
    const facts = assemble({ machines: [machineRow()] }, listing(foreign));
    expect([...facts.keys()]).toEqual([SLOT]);
  });

  test('an id means the device of its own provider only', () => {
    const elsewhere = provided({ provider: 'other' as ProviderName });
    const foreign = device({ ownership: 'foreign' });
    const facts = assemble({ machines: [machineRow({ provided: elsewhere })] }, listing(foreign));
    expect([...facts.values()]).toMatchObject([{ slot: 'other/rack-1', conflict: null }]);
  });

  test('a foreign device on the slot of a creation is not shown as what was created', () => {
    const foreign = device({ ownership: 'foreign' });
    const found = assemble({ intents: [intentRow()] }, listing(foreign)).get(SLOT);
    expect(found).toMatchObject({ listed: null, intent: { state: 'open' }, conflict: null });
  });

  testRows(['foreign', 'untagged'] as const)(
    'a slot under a %s device is not free',
    (ownership) => {
      for (const machines of [
        [free(), device({ ownership })],
        [device({ ownership }), free()],
      ]) {
        const listed = assemble({}, listing(...machines)).get(SLOT)?.listed;
        expect(listed?.availability).not.toBe('KnownUnused');
      }
    },
  );

  test('an untagged device that nothing refers to stays an orphan', () => {
    const facts = assemble({}, listing(device({ ownership: 'untagged' }))).get(SLOT)!;
    expect(facts).toMatchObject({ row: null, intent: null, listed: { id: 'device-1' } });
    expect(viewOf(facts, { nowMs: NOW_MS, loss: DEFAULT_LOSS })).toMatchObject({
      state: 'Quarantined',
      substate: 'conflict',
    });
  });

  test('no listing, no conclusion', () => {
    const facts = assembleFacts({ ...NO_ROWS, machines: [machineRow()] }, new Map());
    expect(facts.get(SLOT)).toMatchObject({ listed: null, listingComplete: false, conflict: null });
  });

  test('total: any mixture of rows and devices gives each slot its facts', () => {
    const ids = fc.constantFrom('device-1', 'device-2', 'device-3');
    const slots = fc.constantFrom('rack-1', 'rack-2', null);
    const rows = fc.array(
      fc
        .tuple(ids, slots)
        .map(([providerId, reservationId]) =>
          machineRow({ provided: provided({ providerId, reservationId }) }),
        ),
      { maxLength: 4 },
    );
    const entries = fc.array(
      fc.oneof(
        fc
          .tuple(ids, slots, fc.constantFrom('ours', 'foreign', 'untagged'))
          .map(([id, reservationId, ownership]) => device({ id, reservationId, ownership })),
        fc.constantFrom('rack-1', 'rack-2').map((reservationId) => free({ reservationId })),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(rows, entries, (machines, machinesListed) => {
        const facts = assemble({ machines }, listing(...machinesListed));
        for (const [name, found] of facts) {
          expect(found.slot).toBe(name);
          expect(found.provider).toBe(PROVIDER);
        }
        const placed = [...facts.values()].filter(({ row }) => row !== null);
        expect(placed.length).toBeLessThanOrEqual(machines.length);
        const counting = machinesListed.filter(({ ownership }) => ownership !== 'foreign');
        const hidden = machinesListed.length > counting.length;
        if (!hidden) expect(facts.size > 0).toBe(machines.length + counting.length > 0);
        for (const { row, conflict } of placed) {
          const { providerId } = row!.provided!;
          const seen = machinesListed.filter(({ id }) => id === providerId);
          const lost = seen.length > 0 && seen.every(({ ownership }) => ownership !== 'ours');
          if (lost) expect(conflict).not.toBeNull();
        }
        for (const { row, listed } of facts.values()) {
          if (!row) expect(listed?.ownership).not.toBe('foreign');
        }
      }),
    );
  });
});

describe('mergeListing', () => {
  const complete = { machines: [free(), device({ reservationId: 'rack-2' })], complete: true };
  const free3 = free({ reservationId: 'rack-3' });

  test('a complete listing replaces the one before', () => {
    const latest = { machines: [], complete: true };
    expect(mergeListing(PROVIDER, complete, latest)).toBe(latest);
  });

  test('a listing with gaps changes only what it mentions, and concludes nothing', () => {
    const latest = { machines: [device()], complete: false };
    expect(mergeListing(PROVIDER, complete, latest)).toEqual({
      machines: [device({ reservationId: 'rack-2' }), device()],
      complete: false,
    });
  });

  test('A5: what cannot be read now stays as it was read last, and nothing else does', () => {
    const unreadable = [
      { id: 'device-1', reservationId: null, fault: 'no hostname' },
      { id: null, reservationId: 'rack-3', fault: 'no plan' },
    ];
    const before = {
      machines: [device(), device({ id: 'device-2', reservationId: 'rack-2' }), free3],
      complete: true,
    };
    const latest = { machines: [], complete: true, unreadable };
    expect(mergeListing(PROVIDER, before, latest)).toEqual({
      machines: [device(), free3],
      complete: true,
      unreadable,
    });
  });

  test('the first listing is all there is', () => {
    const latest = { machines: [free()], complete: false };
    expect(mergeListing(PROVIDER, undefined, latest)).toBe(latest);
  });
});
