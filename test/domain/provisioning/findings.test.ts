import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MachineRow, ProviderMachine } from '../../../src/domain/machine.ts';
import { machineId, witness } from '../../../src/domain/ids.ts';
import { isMissingDue } from '../../../src/domain/provisioning/findings.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import type { ReconcileInput } from '../../../src/domain/provisioning/reconcile.ts';
import {
  deprovisionAsked,
  device,
  free,
  intentRow,
  machineRow,
  NOW_MS,
  provided,
  SESSION,
} from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';
import { judge } from './judge.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const dead = { sessionAlive: false } as const;
const witnessed = (change: Partial<ProviderMachine> = {}) =>
  device({ tags: { [WITNESS_TAG]: intentRow().witness }, ...change });

const found = (change: Partial<ReconcileInput>) =>
  judge(change).machines.map(({ case: name, action }) => `${name} ${action}`);
/** Something else, so that the listing is not empty. */
const OTHER = free({ reservationId: 'rack-9' });
const absent = (change: Partial<MachineRow> = {}, input: Partial<ReconcileInput> = {}) =>
  found({ listed: [OTHER], machines: [machineRow(change)], ...input });

describe('a device that nothing refers to', () => {
  test('with the witness of a dead session it is adopted', () => {
    expect(found({ listed: [witnessed()], intents: [intentRow(dead)] })).toEqual([
      'adoptable adopt',
    ]);
  });

  test('with the witness of our own session too, unless a creation works on it', () => {
    const ours = { listed: [witnessed()], intents: [intentRow()], self: SESSION };
    expect(found(ours)).toEqual(['adoptable adopt']);
    const running = new Set<string>([intentRow().witness]);
    expect(found({ ...ours, running })).toEqual(['creating none']);
    expect(found({ ...ours, self: null })).toEqual(['creating none']);
  });

  test('of a creation that was begun since the rows were read it is nothing to tell', () => {
    const running = new Set<string>([intentRow().witness]);
    expect(found({ listed: [witnessed()], running })).toEqual([]);
  });

  testRows(['ours', 'untagged'] as const)('%s: an orphan, taken over if told so', (ownership) => {
    const listed = [device({ ownership })];
    expect(found({ listed })).toEqual(['orphan none']);
    expect(found({ listed, assimilate: true })).toEqual(['orphan assimilate']);
  });

  test('an orphan on the slot of a machine or a creation is never taken over', () => {
    const orphan = device({ id: 'device-2' });
    expect(
      found({ listed: [device(), orphan], machines: [machineRow()], assimilate: true }),
    ).toContain('orphan none');
    for (const intent of [intentRow({ ...dead, attempts: 1 }), intentRow()]) {
      expect(found({ listed: [orphan], intents: [intent], assimilate: true })).toContain(
        'orphan none',
      );
    }
  });

  test('on the slot of a take-over that did not succeed it is taken over again', () => {
    const input = { listed: [device({ id: 'device-2' })], intents: [intentRow(dead)] };
    expect(found({ ...input, assimilate: true })).toContain('orphan assimilate');
    expect(found(input)).toContain('orphan none');
  });

  test('a witness that fits no intent makes it no less an orphan', () => {
    expect(found({ listed: [witnessed()] })).toEqual(['orphan none']);
  });

  test('a broken one is told apart', () => {
    const { summary, machines } = judge({ listed: [device({ failed: true })] });
    expect(machines).toMatchObject([{ case: 'failed', action: 'none' }]);
    expect(summary).toMatchObject({ failed: 1, orphan: 0, managed: 1 });
  });

  test('provider vector 15: of another owner it is left alone, whatever it carries', () => {
    const foreign = witnessed({ ownership: 'foreign' });
    const input = { listed: [foreign], intents: [intentRow(dead)], assimilate: true };
    expect(found(input)).toContain('foreign none');
    expect(found(input).filter((each) => !/^(foreign|unfinished) /.test(each))).toEqual([]);
  });
});

describe('a machine and its device', () => {
  test('that agree are nothing to tell', () => {
    expect(found({ listed: [device()], machines: [machineRow()] })).toEqual([]);
  });

  test('provider vector 13: absent once it is marked, and back next time cleared', () => {
    expect(absent()).toEqual(['missing markAbsent']);
    const row = machineRow({ missing: { sinceMs: NOW_MS - MINUTE, seen: 1 } });
    expect(found({ listed: [device()], machines: [row] })).toEqual(['back markPresent']);
  });

  test('provider vector 14: three complete listings over 15 min lead to a last look', () => {
    const since = (minutes: number, seen: number) => ({
      missing: { sinceMs: NOW_MS - minutes * MINUTE, seen },
    });
    expect(absent(since(15, 2))).toEqual(['missing confirmMissing']);
    expect(absent(since(14, 20))).toEqual(['missing markAbsent']);
    expect(absent(since(60, 1))).toEqual(['missing markAbsent']);
    expect(isMissingDue(null, NOW_MS)).toBe(false);
  });

  test('equinix vector 24, provider vector 12: a listing with gaps marks nothing', () => {
    const row = { missing: { sinceMs: 0, seen: 9 } };
    expect(absent(row, { listingComplete: false })).toEqual(['missing none']);
  });

  test('known to be missing, or on its way back, it need not be listed', () => {
    expect(absent({ provided: provided({ status: 'Missing' }) })).toEqual([]);
    expect(absent({ deprovision: deprovisionAsked() })).toEqual([]);
  });

  test('a missing one that is listed again is back, unless it is being taken away', () => {
    const machines = [machineRow({ provided: provided({ status: 'Missing' }) })];
    expect(found({ listed: [device()], machines })).toEqual(['back markPresent']);
    expect(found({ listed: [device({ status: 'Missing' })], machines })).toEqual([]);
  });

  test('recorded since the listing was begun it cannot be in it', () => {
    const young = { createdAtMs: NOW_MS - MINUTE };
    expect(absent(young, { listedAtMs: NOW_MS - MINUTE })).toEqual([]);
    expect(absent(young, { listedAtMs: NOW_MS })).toEqual(['missing markAbsent']);
  });

  test('a device that is not ours, or elsewhere, contradicts', () => {
    const machines = [machineRow()];
    for (const change of [{ ownership: 'untagged' }, { reservationId: 'rack-2' }] as const) {
      expect(found({ listed: [device(change)], machines })).toEqual(['contradicted none']);
    }
  });

  test('provider vector 17: what an inventory lists counts as used by the id that is recorded', () => {
    const entry = { availability: 'PossiblyUsed', reservationId: null } as const;
    const machines = [machineRow({ provided: provided({ reservationId: null }) })];
    const of = (change: Partial<ProviderMachine>) =>
      judge({ listed: [device({ ...entry, ...change })], machines }).summary;
    expect(of({})).toMatchObject({ used: 1, free: 0 });
    expect(of({ id: 'another' })).toMatchObject({ used: 0, free: 1 });
    expect(of({ id: null, reservationId: 'rack-5' })).toMatchObject({ used: 0, free: 1 });
  });
});

describe('an unfinished creation without a device', () => {
  const unfinished = (
    change: Parameters<typeof intentRow>[0],
    input: Partial<ReconcileInput> = {},
  ) =>
    judge({ listed: [OTHER], intents: [intentRow({ ...dead, attempts: 1, ...change })], ...input });

  test('is noted as empty, and abandoned after an hour of complete listings', () => {
    const actions = [null, NOW_MS - HOUR + 1, NOW_MS - HOUR].map(
      (emptySinceMs) => unfinished({ emptySinceMs }).machines[0]!.action,
    );
    expect(actions).toEqual(['noteEmpty', 'none', 'abandon']);
  });

  test('is dropped at once when it was never asked for and its slot is listed no more', () => {
    const actionOf = (input: Partial<ReconcileInput>) =>
      unfinished({ attempts: 0 }, input).machines[0]?.action;
    expect(actionOf({})).toBe('drop');
    expect(actionOf({ listingComplete: false }), 'the slot may be in the gap').toBe('none');
    expect(actionOf({ listed: [free()] }), 'it is taken up').toBe('noteEmpty');
    expect(unfinished({ attempts: 0, sessionAlive: true }).machines[0]!.action).toBe('none');
  });

  test('not by a listing with gaps, nor while somebody works on it', () => {
    const long = { emptySinceMs: NOW_MS - 2 * HOUR };
    const gap = { listingComplete: false };
    expect(unfinished(long, gap).machines[0]!.action, 'the hour is broken').toBe('noteGap');
    expect(unfinished({}, gap).machines[0]!.action).toBe('none');
    expect(unfinished({ ...long, sessionAlive: true }).machines[0]!.action).toBe('none');
  });

  test('equinix vector 10: it is taken up again with its witness when its slot is free', () => {
    const { creations, machines, decisions } = unfinished(
      { emptySinceMs: NOW_MS - 2 * HOUR },
      { listed: [free()] },
    );
    expect(creations).toMatchObject([
      { slotId: 'rack-1', intent: { witness: intentRow().witness } },
    ]);
    expect(decisions).toMatchObject([{ verdict: 'resume' }]);
    expect(machines, 'it is not given up in the same breath').toEqual([]);
  });

  test('it counts once, and needs no room of its own', () => {
    const input = { listed: [free(), OTHER], machinesMax: 1 };
    const { creations, summary } = unfinished({}, input);
    expect(summary.managed).toBe(1);
    expect(creations).toHaveLength(1);
  });

  test('after enough requests it is only looked for', () => {
    const { creations, decisions } = unfinished({ attempts: 5 }, { listed: [free()] });
    expect(creations).toEqual([]);
    expect(decisions[0]!.reason).toContain('only looked for');
  });
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
  ])('of %i machines %i missing: open %s', (count, missing, isOpen) => {
    const plan = judge({ machines: fleet(count), listed: [...listing(count - missing), OTHER] });
    expect(plan.breaker !== null).toBe(isOpen);
    expect(plan.creations).toHaveLength(isOpen ? 0 : 1);
    const marked = plan.machines.filter(({ action }) => action === 'markAbsent');
    expect(marked).toHaveLength(isOpen ? 0 : missing);
    expect(plan.summary.missing).toBe(missing);
  });

  test('orphans are machines too, of which a tenth may disagree', () => {
    const listed = listing(60);
    expect(judge({ machines: fleet(54), listed }).breaker).toBeNull();
    expect(judge({ machines: fleet(53), listed }).breaker).toContain('7 of 60');
  });

  test('an empty listing opens it, as long as something is recorded', () => {
    expect(judge({ machines: fleet(1) }).breaker).toContain('empty');
    expect(judge({}).breaker).toBeNull();
  });

  test('orphans count; failed, foreign and known-missing machines do not', () => {
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

  test('everything else runs: adoption, return, abandonment', () => {
    const listed = [witnessed({ id: 'new' }), OTHER];
    const plan = judge({ listed, machines: fleet(9), intents: [intentRow(dead)] });
    expect(plan.breaker).not.toBeNull();
    expect(plan.machines.map(({ action }) => action)).toContain('adopt');
  });
});

test('over the limit is told and never reduced', () => {
  const machines = [machineRow()];
  const plan = judge({
    listed: [device(), device({ id: 'o', reservationId: 'o' })],
    machines,
    machinesMax: 1,
  });
  expect(plan).toMatchObject({ overLimit: 1, creations: [] });
});

test('every free slot has one decision, and every creation one of them', () => {
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

describe('A5: what is listed and cannot be read', () => {
  const unclear = (id: string) => ({
    unreadable: [{ id, reservationId: null, fault: 'it has no hostname' }],
  });

  test('is never missing, others are', () => {
    expect(absent({}, unclear('device-1'))).toEqual([]);
    expect(absent({}, unclear('device-9'))).toEqual(['missing markAbsent']);
    // Nor is a listing of nothing else an empty one.
    const { breaker } = judge({ machines: [machineRow()], ...unclear('device-1') });
    expect(breaker).toBe(null);
  });

  test('may be the device of an unfinished creation, unless it is that of a machine', () => {
    const emptySinceMs = NOW_MS - 2 * HOUR;
    const begun = { intents: [intentRow({ ...dead, attempts: 1, emptySinceMs })] };
    expect(found({ listed: [OTHER], ...begun, ...unclear('device-9') })).toEqual([
      'unfinished noteGap',
    ]);
    const known = { machines: [machineRow()], ...unclear('device-1') };
    expect(found({ listed: [OTHER], ...begun, ...known })).toEqual(['unfinished abandon']);
  });

  test('counts against the limit once, as it may be ours', () => {
    const one = { listed: [OTHER], machines: [machineRow()] };
    expect(judge({ ...one, ...unclear('device-1') }).summary.managed).toBe(1);
    expect(judge({ ...one, ...unclear('device-9') }).summary.managed).toBe(2);
  });
});
