import { expect, onTestFinished, test, vi } from 'vitest';
import { openCases } from '../../src/actors/cases.ts';
import type { Lease } from '../../src/adapters/bmdb/port.ts';
import { createMemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  settled,
} from '../doubles/simulated-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { RepairCase } from '../../src/domain/cases.ts';
import { conditionRow } from '../support/conditions.ts';
import { machineRow, SLOT, slotFacts } from '../support/facts.ts';

const MINUTE = 60_000;
const quarantine = { kind: 'needsHuman', reason: 'broken', untilMs: null, cause: null } as const;

function begin() {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const job = Promise.withResolvers<Lease>();
  const ends: string[] = [];
  const whole = { now: true };
  const window = { isClosed: false };
  const facts = new Map([[SLOT, slotFacts({ row: machineRow({ quarantine }) })]]);
  const visited: string[] = [];
  const stopping = new AbortController();
  const log = recordingLog();
  const running = openCases(
    {
      ...{
        cases: bmdb.cases,
        acceptances: bmdb.acceptances,
        events: bmdb.events,
        clock,
        log,
        periodMs: MINUTE,
      },
      leases: { take: () => job.promise },
      facts: () => facts,
      takeEvidence: async ({ slot }) => void visited.push(slot),
      isWhole: () => whole.now,
      waitsForWindow: () => window.isClosed,
      scene: () => ({
        ...{ nowMs: clock.now(), suspicious: new Set(), effects: { 'disk-failing': 'drain' } },
      }),
      loop: {
        succeeded: () => void ends.push('succeeded'),
        failed: (error) => void ends.push((error as Error).name),
      },
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    job.resolve({} as Lease);
    await running;
  });
  const open = () => bmdb.tables.cases.filter(({ closedAtMs }) => closedAtMs === null).length;
  return {
    clock,
    bmdb,
    job,
    facts,
    ends,
    whole,
    window,
    visited,
    open,
    cases: () => bmdb.tables.cases.length,
  };
}

test('a daemon opens cases only while it has the job, and goes on after a failure', async () => {
  const { clock, bmdb, job, ends, cases } = begin();
  await advance(clock, 5 * MINUTE);
  expect([cases(), ends]).toEqual([0, []]);
  bmdb.tables.reachable = false;
  job.resolve({} as Lease);
  await settled();
  expect([cases(), ends]).toEqual([0, ['unreachable']]);
  bmdb.tables.reachable = true;
  await advance(clock, 2 * MINUTE);
  expect([cases(), ends.at(-1)]).toEqual([1, 'succeeded']);
});

test('a slot whose machine needs a person for two reasons gets one case', async () => {
  const { clock, job, facts, cases } = begin();
  const known = facts.get(SLOT)!;
  facts.set(SLOT, { ...known, conditions: [conditionRow()] });
  job.resolve({} as Lease);
  await advance(clock, 3 * MINUTE);
  expect(cases()).toBe(1);
});

test('a machine that a condition drains is visited for evidence once, a quarantined one is not', async () => {
  const { clock, bmdb, job, facts, visited, cases } = begin();
  job.resolve({} as Lease);
  await advance(clock, 3 * MINUTE);
  expect([cases(), visited]).toEqual([1, []]);
  const [{ caseId }] = bmdb.tables.cases as [RepairCase];
  await bmdb.cases.close(caseId, { by: 'jo', outcome: 'repaired' });
  const failing = conditionRow({ sinceMs: clock.now() + MINUTE });
  facts.set(SLOT, { ...slotFacts({ row: machineRow() }), conditions: [failing] });
  await advance(clock, 3 * MINUTE);
  expect([cases(), visited]).toEqual([2, [SLOT]]);
});

const acceptanceOf = (state: string, askedAtMs: number, cause = 'repaired') => ({
  ...{ state, cause, held: true, askedAtMs, handedOutAtMs: null, endedAtMs: null, reason: '' },
});

test('a case is closed once nothing is wrong any more and the machine is accepted', async () => {
  const { clock, job, facts, whole, open, bmdb } = begin();
  job.resolve({} as Lease);
  await advance(clock, 2 * MINUTE);
  const { openedAtMs } = bmdb.tables.cases[0]!;
  const show = async (row: Parameters<typeof machineRow>[0]) => {
    facts.set(SLOT, slotFacts({ row: machineRow(row) }));
    await advance(clock, 2 * MINUTE);
    return open();
  };
  const passed = acceptanceOf('passed', openedAtMs + 1);
  expect(await show({ quarantine, acceptance: passed })).toBe(1);
  expect(await show({ acceptance: acceptanceOf('passed', openedAtMs) })).toBe(1);
  expect(await show({ acceptance: acceptanceOf('failed', openedAtMs + 1) })).toBe(1);
  whole.now = false;
  expect(await show({ acceptance: passed })).toBe(1);
  whole.now = true;
  expect(await show({ acceptance: passed })).toBe(0);
  expect(bmdb.tables.cases).toMatchObject([{ closedBy: 'acceptance' }]);
  expect(await show({ acceptance: passed })).toBe(0);
});

test('an acceptance begins after the repair, and not while it waits for a window', async () => {
  const { clock, job, facts, window, bmdb } = begin();
  const asked: string[] = [];
  vi.spyOn(bmdb.acceptances, 'begin').mockImplementation(async (ids) => void asked.push(...ids));
  const show = async (change: Parameters<typeof machineRow>[0], cause = 'repaired') => {
    const acceptance = acceptanceOf('waiting', clock.now(), cause);
    facts.set(SLOT, slotFacts({ row: machineRow({ ...change, acceptance }) }));
    await advance(clock, 2 * MINUTE);
    return asked.splice(0).length > 0;
  };
  job.resolve({} as Lease);
  expect(await show({ quarantine })).toBe(false);
  expect(await show({ quarantine }, 'asked')).toBe(true);
  window.isClosed = true;
  expect(await show({})).toBe(false);
  expect(await show({}, 'asked')).toBe(false);
  window.isClosed = false;
  expect(await show({})).toBe(true);
});
