import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Bmdb, BmdbSession, Work } from '../../../../src/adapters/bmdb/port.ts';
import { createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { BACKOFF_JITTER } from '../../../../src/domain/backoff.ts';
import type { BackoffDescriptor } from '../../../../src/domain/backoff.ts';
import type { Process } from '../../../../src/domain/machine.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { addMachines, claimStand, openOn } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const COUNT = 40;
const DOUBLING: BackoffDescriptor = { initialMs: 100_000, exponent: 2, maximumMs: 400_000 };
const s = claimStand();

let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  bmdb = openPgBmdb({
    jitter: BACKOFF_JITTER,
    url: s.server.url,
    random: createSeededRandom(7),
    budget: { percent: 100, perGroupMax: COUNT, fleetMax: COUNT },
  });
  session = await openOn(bmdb);
});
afterEach(() => bmdb.close());

type Table = 'work_backoff' | 'machine_recovery';
const COLUMNS = {
  work_backoff: { until: 'until', seconds: 'last_interval_seconds' },
  machine_recovery: { until: 'next_at', seconds: 'cool_down_seconds' },
} as const;

/** How long each machine waits, and what is remembered of it: in seconds from the failure on. */
async function waitsIn(table: Table): Promise<{ waits: number[]; intervals: Set<number> }> {
  const { until, seconds } = COLUMNS[table];
  const { rows } = await s.server.sql.query<{ wait: number; seconds: number }>(
    `SELECT extract(epoch FROM t.${until} - h.at)::float8 AS wait, t.${seconds}::float8 AS seconds
     FROM ${table} t JOIN (
       SELECT machine_id, max("timestamp") AS at FROM work_history WHERE event = 'Failed' GROUP BY 1
     ) h USING (machine_id)`,
  );
  expect(rows).toHaveLength(COUNT);
  return { waits: rows.map((row) => row.wait), intervals: new Set(rows.map((row) => row.seconds)) };
}

const endWaits = (table: Table) =>
  s.server.sql.query(`UPDATE ${table} SET ${COLUMNS[table].until} = now() - interval '1 s'`);

/** Longer by up to a tenth at random, each by itself, and never shorter. */
function expectSpread(waits: readonly number[], seconds: number): void {
  const shares = waits.map((wait) => wait / seconds - 1).toSorted((a, b) => a - b);
  expect(shares[0]).toBeGreaterThanOrEqual(0);
  expect(shares[0]).toBeLessThan(0.02);
  expect(shares.at(-1)).toBeGreaterThan(0.08);
  expect(shares.at(-1)).toBeLessThan(0.1);
  expect(new Set(waits).size).toBe(COUNT);
}

const failAll = async (
  process: Process,
  ids: Awaited<ReturnType<typeof addMachines>>,
  before: (work: Work) => Promise<void> = () => Promise.resolve(),
) => {
  const works = await Promise.all(ids.map((id) => session.claim(process, id)));
  await Promise.all(works.map(before));
  await Promise.all(works.map((work) => work.fail(DOUBLING, 'refused')));
};

test('waits after failures are spread; what is remembered, and grows, is not', async () => {
  const ids = await addMachines(s, COUNT);
  for (const seconds of [100, 200, 400, 400]) {
    await failAll('ShepherdAgentStart', ids);
    const { waits, intervals } = await waitsIn('work_backoff');
    expectSpread(waits, seconds);
    expect([...intervals]).toEqual([seconds]);
    await endWaits('work_backoff');
  }
});

test('so are the waits between two attempts of the ladder', async () => {
  const ids = await addMachines(s, COUNT, startedAt(Date.now() - 40 * MINUTE));
  for (const seconds of [100, 200]) {
    await failAll('ShepherdRecovery', ids, (work) =>
      work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null }),
    );
    const { waits, intervals } = await waitsIn('machine_recovery');
    expectSpread(waits, seconds);
    expect([...intervals]).toEqual([seconds]);
    await endWaits('work_backoff');
    await endWaits('machine_recovery');
  }
});
