import { beforeEach, describe, expect, test } from 'vitest';
import { countWorks } from '../../../../src/adapters/bmdb/pg/tasks/works.ts';
import type { BmdbSession, Work } from '../../../../src/adapters/bmdb/port.ts';
import { Unreachable, WorkLost } from '../../../../src/domain/errors.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import type { MemMetrics } from '../../../doubles/mem-metrics.ts';
import { claimStand, refusedWith, openOn } from './claim-stand.ts';

const counted = createMemMetrics();
const s = claimStand(undefined, { metrics: counted });
let before = 0;
const ends = ({ calls }: MemMetrics) => told(calls, 'bmdb_work_finished');
const told = (calls: MemMetrics['calls'], ...names: readonly string[]) =>
  calls
    .filter(({ name }) => names.includes(name))
    .map(({ labels: { processor = '', process, result } }) =>
      [process ?? processor, result].filter(Boolean).join(' '),
    );
/** The counts of this test. */
const since = (...names: readonly string[]) => told(counted.calls.slice(before), ...names);
beforeEach(() => {
  before = counted.calls.length;
});

test('counts a session, its claims and a conflict', async () => {
  const session = await openOn(s.bmdb);
  const id = await s.add();
  await session.claim('UnitTest1', id);
  expect(await refusedWith(session.claim('UnitTest1', id))).toBe('work-conflict');
  expect(since('bmdb_session_started')).toEqual(['shepherd']);
  expect(since('bmdb_work_started')).toEqual(['UnitTest1']);
  expect(since('shepherd_claim_conflicts_total')).toEqual(['UnitTest1']);
  expect(since('bmdb_work_finished')).toEqual([]);
});

test.each<[string, (work: Work, session: BmdbSession) => Promise<void>]>([
  ['finished', (work) => work.finish({ kind: 'nothing' })],
  ['failed', (work) => work.fail(STEADY, 'it broke')],
  ['canceled', (work) => work.cancel()],
  ['canceled', (work, session) => session.releaseWork(work.machineId)],
  ['canceled', (_, session) => session.close()],
])('counts the end of a work once: %s', async (result, end) => {
  const work = await s.session.claim('UnitTest1', await s.add());
  await end(work, s.session);
  await work.cancel();
  await s.session.close();
  expect(since('bmdb_work_finished')).toEqual([`UnitTest1 ${result}`]);
});

describe('the counted works of a session', () => {
  const [A, B] = [1, 2].map((n) => machineId(`00000000-0000-4000-8000-00000000000${n}`));
  let metrics: MemMetrics;
  let session: AbortController;
  let counts: ReturnType<typeof countWorks>;
  const start = (id = A, process: 'UnitTest1' | 'UnitTest2' = 'UnitTest1') =>
    counts.started({ process, machineId: id!, epoch: `${process} of ${id}` });
  beforeEach(() => {
    metrics = createMemMetrics();
    session = new AbortController();
    counts = countWorks(session, metrics);
  });

  test('are released if they are on the given machine or of the given claim', () => {
    for (const id of [A, B]) start(id);
    start(A, 'UnitTest2');
    counts.released(A!, `UnitTest1 of ${A}`);
    expect(ends(metrics)).toEqual(['UnitTest1 canceled']);
    counts.released(A!);
    expect(ends(metrics)).toEqual(['UnitTest1 canceled', 'UnitTest2 canceled']);
  });

  test('are all lost when the session expires, and stay lost', async () => {
    const end = start();
    start(A, 'UnitTest2');
    session.abort();
    expect(ends(metrics)).toEqual(['UnitTest1 lost', 'UnitTest2 lost']);
    await expect(end('finished', () => Promise.reject(new Error('late')))).rejects.toThrow('late');
    expect(ends(metrics)).toHaveLength(2);
  });

  test('are lost if the lease belongs to another session', async () => {
    const gone = start()('finished', () => Promise.reject(new WorkLost('gone')));
    await expect(gone).rejects.toThrow('gone');
    expect(ends(metrics)).toEqual(['UnitTest1 lost']);
  });

  test('do not change while the database does not answer; later ends do count', async () => {
    const end = start();
    const off = end('finished', () => Promise.reject(new Unreachable('off')));
    await expect(off).rejects.toThrow('off');
    expect(ends(metrics)).toEqual([]);
    await end('failed', () => Promise.resolve());
    expect(ends(metrics)).toEqual(['UnitTest1 failed']);
  });

  test('count by the result of their own call, even if the session expires meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = start()('finished', () => promise);
    session.abort();
    resolve();
    await ended;
    expect(ends(metrics)).toEqual(['UnitTest1 finished']);
  });
});
