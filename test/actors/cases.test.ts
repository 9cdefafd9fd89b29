import { expect, onTestFinished, test } from 'vitest';
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
import { hold, machineRow, SLOT, slotFacts } from '../support/facts.ts';

const MINUTE = 60_000;
const quarantine = { kind: 'needsHuman', reason: 'broken', untilMs: null, cause: null } as const;

function begin() {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const job = Promise.withResolvers<Lease>();
  const ends: string[] = [];
  const facts = new Map([[SLOT, slotFacts({ row: machineRow({ quarantine }) })]]);
  const visited: string[] = [];
  const stopping = new AbortController();
  const log = recordingLog();
  const running = openCases(
    {
      ...{ cases: bmdb.cases, events: bmdb.events, clock, log, periodMs: MINUTE },
      leases: { take: () => job.promise },
      facts: () => facts,
      takeEvidence: async ({ slot }) => void visited.push(slot),
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
  return { clock, bmdb, job, facts, ends, visited, cases: () => bmdb.tables.cases.length };
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
  const drain = { ...hold('no-serve'), setBy: 'condition disk-failing' };
  facts.set(SLOT, { ...known, holds: [drain] });
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
  const drain = { ...hold('no-serve'), setBy: 'condition disk-failing' };
  const failing = conditionRow({ sinceMs: clock.now() + MINUTE });
  facts.set(SLOT, { ...slotFacts({ row: machineRow() }), holds: [drain], conditions: [failing] });
  await advance(clock, 3 * MINUTE);
  expect([cases(), visited]).toEqual([2, [SLOT]]);
});
