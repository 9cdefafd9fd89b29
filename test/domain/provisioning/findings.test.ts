import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MachineRow, ProviderMachine } from '../../../src/domain/machine.ts';
import { machineId, witness } from '../../../src/domain/ids.ts';
import { isMissingDue } from '../../../src/domain/provisioning/findings.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { device, free, intentRow, machineRow, NOW_MS, provided } from '../../support/facts.ts';
import { rowsIn } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';
import { findingsOf, inputOf, judge, OTHER, witnessed } from './judge.ts';

const expectFindings = (words: string, expected: string) =>
  expect(findingsOf(words)).toBe(expected);
const testFindings = (title: string, table: string) =>
  testRows(rowsIn(table))(`${title}: %s`, expectFindings);

testRows(
  rowsIn(`
  witnessed, intent dead                          → adoptable adopt
  witnessed, intent, ours                         → adoptable adopt
  witnessed, intent, ours, running                → creating none
  witnessed, intent                               → creating none
  witnessed, running                              →
  witnessed                                       → orphan none
  device                                          → orphan none
  device ownership=untagged                       → orphan none
  device, assimilate                              → orphan assimilate
  device ownership=untagged, assimilate           → orphan assimilate
  device, device id=device-2, machine, assimilate → orphan none
  device id=device-2, intent dead attempts=1, other, assimilate → orphan none, unfinished noteEmpty
  device id=device-2, intent, other, assimilate   → orphan none, unfinished none
  device id=device-2, intent dead, other, assimilate → orphan assimilate, unfinished noteEmpty
  device id=device-2, intent dead, other          → orphan none, unfinished noteEmpty
  device failed=true                              → failed none
  witnessed ownership=foreign, intent dead, assimilate → foreign none`),
)(
  'reports an unreferenced device as an orphan and takes it over if configured: %s',
  expectFindings,
);

test('counts a broken device separately and as a machine', () => {
  expect(judge(inputOf('device failed=true')).summary).toMatchObject({
    ...{ failed: 1, orphan: 0, managed: 1 },
  });
});

testRows(
  rowsIn(`
  device, machine                                 →
  other, machine                                  → missing markAbsent
  device, machine missing=1m                      → back markPresent
  other, machine missing=15m seen=2               → missing confirmMissing
  other, machine missing=14m seen=20              → missing markAbsent
  other, machine missing=1h seen=1                → missing markAbsent
  other, machine missing=9h seen=9, gap           → missing none
  other, machine status=Missing                   →
  other, machine leaving                          →
  device, machine status=Missing                  → back markPresent
  device status=Missing, machine status=Missing   →
  other, machine young                            →
  device ownership=untagged, machine              → contradicted none
  device reservationId=rack-2, machine            → contradicted none`),
)(
  'provider vectors 12, 13 and 14, equinix vector 24: compares a machine with its device: %s',
  expectFindings,
);

test('does not look a last time for a machine that was never missing', () => {
  expect(isMissingDue(null, NOW_MS)).toBe(false);
});

testRows([
  ['', 1, 0],
  ['id=another', 0, 1],
  ['id=null reservationId=rack-5', 0, 1],
])(
  'provider vector 17: identifies used entries of an inventory by id: %s',
  (change, used, unused) => {
    const entry = `device availability=PossiblyUsed reservationId=null ${change}`.trim();
    const { summary } = judge(inputOf(`${entry}, machine reservationId=null`));
    expect(summary).toMatchObject({ used, free: unused });
  },
);

describe('an unfinished creation without a device', () => {
  testRows(
    rowsIn(`
    other, intent dead attempts=1                 → unfinished noteEmpty
    other, intent dead attempts=1 empty=59m       → unfinished none
    other, intent dead attempts=1 empty=1h        → unfinished abandon
    other, intent dead attempts=0                 → unfinished drop
    other, intent dead attempts=0, gap            → unfinished none
    free, intent dead attempts=0                  → unfinished noteEmpty
    other, intent attempts=0                      → unfinished none
    other, intent dead attempts=1 empty=2h, gap   → unfinished noteGap
    other, intent dead attempts=1, gap            → unfinished none
    other, intent attempts=1 empty=2h             → unfinished none`),
  )('waits, is noted, given up or dropped: %s', expectFindings);

  test('equinix vector 10: resumes with its creation key when its slot is free', () => {
    const plan = judge(inputOf('free, intent dead attempts=1 empty=2h'));
    expect(plan).toMatchObject({
      creations: [{ slotId: 'rack-1', intent: { witness: intentRow().witness } }],
      decisions: [{ verdict: 'resume' }],
    });
    expect(plan.machines, 'it is not given up in the same breath').toEqual([]);
  });

  test('counts once and needs no capacity of its own', () => {
    const input = inputOf('free, other, intent dead attempts=1');
    const { creations, summary } = judge({ ...input, machinesMax: 1 });
    expect([summary.managed, creations.length]).toEqual([1, 1]);
  });

  test('is only looked for after enough requests', () => {
    const { creations, decisions } = judge(inputOf('free, intent dead attempts=5'));
    expect(creations).toEqual([]);
    expect(decisions[0]!.reason).toContain('only searched for');
  });
});

testFindings(
  'A5: what is listed and cannot be read may be there',
  `
  other, machine, unreadable device-1             →
  other, machine, unreadable device-9             → missing markAbsent
  other, intent dead attempts=1 empty=2h, unreadable device-9 → unfinished noteGap
  other, intent dead attempts=1 empty=2h, machine, unreadable device-1 → unfinished abandon`,
);

test('A5: counts unreadable entries once against the limit and never makes a listing empty', () => {
  expect(judge(inputOf('machine, unreadable device-1')).breaker).toBe(null);
  expect(judge(inputOf('other, machine, unreadable device-1')).summary.managed).toBe(1);
  expect(judge(inputOf('other, machine, unreadable device-9')).summary.managed).toBe(2);
});

describe('the circuit breaker', () => {
  const fleet = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      machineRow({
        machineId: machineId(`machine-${at}`),
        provided: provided({ providerId: `device-${at}`, reservationId: `used-${at}` }),
      }),
    );
  const listing = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      device({ id: `device-${at}`, reservationId: `used-${at}` }),
    );

  test.each<readonly [number, number, boolean]>([
    [20, 5, false],
    [20, 6, true],
    [100, 10, false],
    [100, 11, true],
  ])('is, with %i machines of which %i are missing, open: %s', (count, missing, isOpen) => {
    const plan = judge({ machines: fleet(count), listed: [...listing(count - missing), OTHER] });
    expect(plan.breaker !== null).toBe(isOpen);
    expect(plan.creations).toHaveLength(isOpen ? 0 : 1);
    const marked = plan.machines.filter(({ action }) => action === 'markAbsent');
    expect(marked).toHaveLength(isOpen ? 0 : missing);
    expect(plan.summary.missing).toBe(missing);
  });

  test('counts orphans as machines, of which a tenth may disagree', () => {
    const listed = listing(60);
    expect(judge({ machines: fleet(54), listed }).breaker).toBeNull();
    expect(judge({ machines: fleet(53), listed }).breaker).toContain('7 of 60');
  });

  test('opens for an empty listing while something is recorded', () => {
    expect(judge({ machines: fleet(1) }).breaker).toContain('empty');
    expect(judge({}).breaker).toBeNull();
  });

  test('counts orphans, but not failed, foreign and known-missing machines', () => {
    const orphans = listing(6);
    expect(judge({ listed: orphans }).breaker).toContain('6 orphans');
    expect(
      judge({ listed: orphans.map((each) => ({ ...each, failed: true })) }).breaker,
    ).toBeNull();
    const foreign = orphans.map((each) => ({ ...each, ownership: 'foreign' as const }));
    expect(judge({ listed: foreign }).breaker).toBeNull();
    for (const status of ['ProvisioningFailedPermanent', 'Missing'] as const) {
      const machines = fleet(6).map((row) => ({ ...row, provided: { ...row.provided!, status } }));
      expect(judge({ listed: [OTHER], machines }).breaker).toBeNull();
    }
  });

  test('stops neither adoption, nor return, nor abandonment', () => {
    const listed = [witnessed({ id: 'new' }), OTHER];
    const intents = [intentRow({ sessionAlive: false })];
    const plan = judge({ listed, machines: fleet(9), intents });
    expect(plan.breaker).not.toBeNull();
    expect(plan.machines.map(({ action }) => action)).toContain('adopt');
  });
});

test('reports a fleet over its limit and never shrinks it', () => {
  const plan = judge({
    ...inputOf('device, device id=o reservationId=o, machine'),
    machinesMax: 1,
  });
  expect(plan).toMatchObject({ overLimit: 1, creations: [] });
});

test('decides once for every free slot and every creation', () => {
  const slotArb = fc.record({
    listed: fc.constantFrom('free', 'device', 'both', 'foreign', 'nothing'),
    row: fc.boolean(),
    intent: fc.constantFrom('none', 'dead', 'alive', 'settled'),
  });
  fc.assert(
    fc.property(
      fc.array(slotArb, { maxLength: 8 }),
      fc.nat(6),
      fc.integer({ min: 1, max: 4 }),
      (slots, machinesMax, chunkSize) => {
        const listed: ProviderMachine[] = [];
        const machines: MachineRow[] = [];
        const intents = [];
        for (const [at, slot] of slots.entries()) {
          const reservationId = `rack-${at}`;
          const op = witness(`dddddddd-0000-4000-8000-00000000000${at}`);
          const tags = slot.intent === 'settled' ? {} : { [WITNESS_TAG]: op };
          const used = device({ id: `device-${at}`, reservationId, tags });
          if (slot.listed === 'free' || slot.listed === 'both')
            listed.push(free({ reservationId }));
          if (slot.listed === 'device' || slot.listed === 'both') listed.push(used);
          if (slot.listed === 'foreign') listed.push({ ...used, ownership: 'foreign' });
          const hardware = provided({ providerId: `device-${at}`, reservationId });
          if (slot.row)
            machines.push(machineRow({ machineId: machineId(`m-${at}`), provided: hardware }));
          else if (slot.intent === 'dead' || slot.intent === 'alive') {
            intents.push(
              intentRow({
                witness: op,
                slotId: reservationId,
                sessionAlive: slot.intent === 'alive',
              }),
            );
          }
        }
        const plan = judge({ listed, machines, intents, machinesMax, chunkSize });
        expect(plan.decisions).toHaveLength(plan.summary.free);
        const chosen = plan.decisions.filter(({ verdict }) => verdict !== 'skip');
        expect(chosen.map(({ slot }) => slot)).toEqual(plan.creations.map(({ slot }) => slot));
        expect(plan.creations.length).toBeLessThanOrEqual(chunkSize);
        const taken = new Set(machines.map((row) => row.provided!.reservationId));
        const alive = new Set(
          intents.filter((each) => each.sessionAlive).map((each) => each.slotId),
        );
        const under = new Set(
          listed.filter((each) => each.id !== null).map((each) => each.reservationId),
        );
        for (const { slotId, intent } of plan.creations) {
          expect([taken.has(slotId), alive.has(slotId), under.has(slotId)]).toEqual([
            false,
            false,
            false,
          ]);
          expect(intent !== undefined).toBe(intents.some((each) => each.slotId === slotId));
        }
        const fresh = plan.creations.filter(({ intent }) => !intent).length;
        if (machinesMax > 0 && fresh > 0) {
          expect(plan.summary.managed + fresh).toBeLessThanOrEqual(machinesMax);
        }
        const again = judge({
          listed: listed.toReversed(),
          machines,
          intents,
          machinesMax,
          chunkSize,
        });
        expect(again.creations).toEqual(plan.creations);
      },
    ),
  );
});
