import { beforeEach, describe, expect, test } from 'vitest';
import { countingBmdb } from '../../../src/adapters/bmdb/counting-bmdb.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import type { MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { emptyRow, newMachine } from '../../doubles/mem-bmdb/tables.ts';
import type { BmdbSession, Work } from '../../../src/adapters/bmdb/port.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import type { MemMetrics } from '../../doubles/mem-metrics.ts';
import { Unreachable, WorkConflict, WorkLost } from '../../../src/domain/errors.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';

const A = machineId('00000000-0000-4000-8000-000000000001');
const B = machineId('00000000-0000-4000-8000-000000000002');
const BACKOFF = { initialMs: 1_000, maximumMs: 1_000, exponent: 1 };

let metrics: MemMetrics;
let mem: MemBmdb;
let session: BmdbSession;
const open = (bmdb: MemBmdb, intervalMs = 5_000) =>
  bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host x', intervalMs });
const ends = () =>
  metrics.calls.flatMap(({ name, labels }) =>
    name === 'bmdb_work_finished' ? [labels['result']] : [],
  );
const clock = createSimulatedClock();

beforeEach(async () => {
  metrics = createMemMetrics();
  const random = createSeededRandom(1);
  mem = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  for (const id of [A, B]) mem.tables.machines.set(id, newMachine(emptyRow(id, clock.now())));
  session = await open(countingBmdb(mem, metrics));
});

/** The session of a BMDB whose work ends as the test says. */
async function sessionWith(change: Partial<Work>): Promise<BmdbSession> {
  const inner: MemBmdb = {
    ...mem,
    openSession: async (options) => {
      const plain = await mem.openSession(options);
      const claim: BmdbSession['claim'] = async (process, id) => ({
        ...(await plain.claim(process, id)),
        ...change,
      });
      return { ...plain, claim };
    },
  };
  return open(countingBmdb(inner, metrics));
}

test('a session is counted, and what it claims', async () => {
  expect(metrics.total('bmdb_session_started', { processor: 'shepherd' })).toBe(1);
  await session.claim('UnitTest1', A);
  expect(metrics.total('bmdb_work_started', { process: 'UnitTest1' })).toBe(1);
  expect(ends()).toEqual([]);
});

test('a conflict is counted as one, and starts nothing', async () => {
  await session.claim('UnitTest1', A);
  await expect(session.claim('UnitTest1', A)).rejects.toThrow(WorkConflict);
  expect(metrics.total('shepherd_claim_conflicts_total', { process: 'UnitTest1' })).toBe(1);
  expect(metrics.total('bmdb_work_started')).toBe(1);
});

describe('a work ends once:', () => {
  test.each<[string, (work: Work) => Promise<void>]>([
    ['finished', (work) => work.finish({ kind: 'nothing' })],
    ['failed', (work) => work.fail(BACKOFF, 'it broke')],
    ['canceled', (work) => work.cancel()],
    ['canceled', (work) => session.releaseWork(work.machineId)],
    ['canceled', () => session.close()],
  ])('%s', async (result, end) => {
    const work = await session.claim('UnitTest1', A);
    await end(work);
    await work.cancel();
    await session.close();
    expect(metrics.total('bmdb_work_finished', { process: 'UnitTest1', result })).toBe(1);
    expect(ends()).toEqual([result]);
  });

  test('released is only what is on that machine', async () => {
    await session.claim('UnitTest1', A);
    await session.claim('UnitTest1', B);
    await session.releaseWork(A);
    expect(ends()).toEqual(['canceled']);
  });

  test('released by its epoch is only that claim', async () => {
    const one = await session.claim('UnitTest1', A);
    await session.claim('UnitTest2', A);
    await session.releaseWork(A, one.epoch);
    expect(ends()).toEqual(['canceled']);
  });

  test('lost, with all the others of an expired session', async () => {
    const work = await session.claim('UnitTest1', A);
    await session.claim('UnitTest2', A);
    clock.increment(5_000);
    expect(session.signal.aborted).toBe(true);
    expect(ends()).toEqual(['lost', 'lost']);
    await expect(work.finish({ kind: 'nothing' })).rejects.toThrow();
    expect(ends()).toEqual(['lost', 'lost']);
  });

  test('lost, when it is somebody else who has it', async () => {
    const lost = await sessionWith({ finish: () => Promise.reject(new WorkLost('gone')) });
    const work = await lost.claim('UnitTest1', A);
    await expect(work.finish({ kind: 'nothing' })).rejects.toThrow('gone');
    expect(ends()).toEqual(['lost']);
  });

  test('not at all while the database does not answer; what is done then counts', async () => {
    const unlucky = await sessionWith({ finish: () => Promise.reject(new Unreachable('off')) });
    const work = await unlucky.claim('UnitTest1', A);
    await expect(work.finish({ kind: 'nothing' })).rejects.toThrow('off');
    expect(ends()).toEqual([]);
    await work.fail(BACKOFF, 'off');
    expect(ends()).toEqual(['failed']);
  });

  test('as its own call says, though the session expires meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = await sessionWith({ finish: () => promise });
    const work = await slow.claim('UnitTest1', A);
    const finished = work.finish({ kind: 'nothing' });
    clock.increment(5_000);
    expect(slow.signal.aborted).toBe(true);
    resolve();
    await finished;
    expect(ends()).toEqual(['finished']);
  });
});
