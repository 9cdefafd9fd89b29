import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assembleFacts,
  mergeListing,
  type KnownListing,
  type Rows,
} from '../../src/domain/assemble.ts';
import { machineId, type ProviderName } from '../../src/domain/ids.ts';
import type { MachineRow, ProviderMachine } from '../../src/domain/machine.ts';
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
import { rowsIn } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';
import { inputOf } from './provisioning/judge.ts';

const NO_ROWS: Rows = {
  machines: [],
  intents: [],
  holds: [],
  penalties: [],
  conditions: [],
  requests: [],
};
const listing = (...machines: ProviderMachine[]): Map<ProviderName, KnownListing> =>
  new Map([[PROVIDER, { machines, complete: true }]]);
const assemble = (rows: Partial<Rows>, listings = listing()) =>
  assembleFacts({ ...NO_ROWS, ...rows }, listings);
const OTHER = machineId('aaaaaaaa-0000-4000-8000-000000000002');

describe('assembleFacts', () => {
  test('collects row, device, intent, hold and cooldown of one slot', () => {
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

  test('makes no slot from holds, cooldowns and requests alone', () => {
    const rows = {
      holds: [hold('preserve')],
      penalties: [penaltyRow(NOW_MS)],
      requests: [requestRow(), requestRow({ verb: 'freeze', slotId: null, machineId: null })],
    };
    expect(assemble(rows).size).toBe(0);
  });

  /** Each slot with its machine, its device or capacity, its intent and its conflicts. */
  function slotsOf(words: string): string {
    const { machines = [], intents = [], listed = [] } = inputOf(words);
    const facts = assemble({ machines, intents }, listing(...listed));
    return [...facts.values()]
      .map(({ slot, row, listed: device, intent, conflict }) => {
        const on = device === null ? [] : [device.id === null ? 'free' : `device ${device.id}`];
        const has = [...(row ? ['machine'] : []), ...on, ...(intent ? ['intent'] : [])];
        return `${slot}: ${has.join(', ')}${conflict === null ? '' : ` (${conflict})`}`;
      })
      .join('; ');
  }
  const NOT_OURS = 'device device-1 of this machine carries the tag of another owner';
  const FOREIGN = 'device ownership=foreign';
  testRows(
    rowsIn(`
      machine bare                                          →
      machine reservationId=null, device reservationId=null → stub/device-1: machine, device device-1
      machine reservationId=null, device availability=PossiblyUsed reservationId=null → stub/device-1: machine, device device-1
      machine, device ownership=untagged                    → stub/rack-1: machine, device device-1 (device device-1 of this machine carries no owner tag)
      machine, ${FOREIGN}                                   → stub/rack-1: machine, device device-1 (${NOT_OURS})
      machine, ${FOREIGN} reservationId=rack-2              → stub/rack-1: machine (${NOT_OURS})
      machine, ${FOREIGN} id=device-2                       → stub/rack-1: machine, device device-2 (device device-2 is on this slot, the machine's is device-1)
      machine, device, ${FOREIGN} id=device-2               → stub/rack-1: machine, device device-1 (devices device-1 and device-2 are on this slot)
      device, device id=device-2                            → stub/rack-1: device device-1 (devices device-1 and device-2 are on this slot)
      machine, device id=device-2                           → stub/rack-1: machine, device device-2 (device device-2 is on this slot, the machine's is device-1)
      machine, device reservationId=rack-2                  → stub/rack-1: machine (device device-1 of this machine is listed on stub/rack-2); stub/rack-2: device device-1
      ${FOREIGN}                                            →
      ${FOREIGN} reservationId=null                         →
      ${FOREIGN} availability=PossiblyUsed                  →
      machine provider=other, ${FOREIGN}                    → other/rack-1: machine
      intent, ${FOREIGN}                                    → stub/rack-1: intent
      free, ${FOREIGN}                                      →
      ${FOREIGN}, free                                      →
      free, device ownership=untagged                       → stub/rack-1: device device-1
      device ownership=untagged, free                       → stub/rack-1: device device-1`),
  )('assigns to a slot: %s', (words, expected) => {
    expect(slotsOf(words)).toBe(expected);
  });

  test('reports two machines on a slot, and an unreadable one, as conflicts', () => {
    const other = machineRow({ machineId: OTHER });
    const conflictOf = (...machines: MachineRow[]) =>
      assemble({ machines }, listing(device({ id: 'device-2' }))).get(SLOT)!.conflict;
    expect(conflictOf(machineRow(), other)).toBe(
      `machines ${MACHINE} and ${OTHER} claim this slot`,
    );
    expect(conflictOf(other, machineRow({ unreadable: 'too new' }))).toBe('too new');
  });

  test('keeps an untagged device without any reference as an orphan', () => {
    const facts = assemble({}, listing(device({ ownership: 'untagged' }))).get(SLOT)!;
    const view = viewOf(facts, { nowMs: NOW_MS, loss: DEFAULT_LOSS });
    expect(view).toMatchObject({ state: 'Quarantined', substate: 'conflict' });
  });

  test('concludes nothing without a listing', () => {
    const facts = assembleFacts({ ...NO_ROWS, machines: [machineRow()] }, new Map());
    expect(facts.get(SLOT)).toMatchObject({ listed: null, listingComplete: false, conflict: null });
  });

  test('gives each slot its facts for any mixture of rows and devices', () => {
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

  test('replaces the previous listing by a complete one', () => {
    const latest = { machines: [], complete: true };
    expect(mergeListing(PROVIDER, complete, latest)).toBe(latest);
  });

  test('applies only the entries of a listing with gaps and concludes nothing', () => {
    const latest = { machines: [device()], complete: false };
    expect(mergeListing(PROVIDER, complete, latest)).toEqual({
      machines: [device({ reservationId: 'rack-2' }), device()],
      complete: false,
    });
  });

  test('A5: keeps the last reading of entries that cannot be read now, and of no others', () => {
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

  test('takes the first listing as it is', () => {
    const latest = { machines: [free()], complete: false };
    expect(mergeListing(PROVIDER, undefined, latest)).toBe(latest);
  });
});
