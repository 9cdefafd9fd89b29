import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { BACKOFF_JITTER } from '../../../../src/domain/backoff.ts';
import { ASKED, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand, openOn } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const COUNT = 10;
const s = claimStand();
let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  let drawn = 0;
  bmdb = openPgBmdb({
    jitter: BACKOFF_JITTER,
    url: s.server.url,
    // Numbers as different from each other as possible.
    random: { ...systemRandom, next: () => (drawn++ % COUNT) / COUNT },
    budget: { percent: 100, perGroupMax: COUNT, fleetMax: COUNT },
  });
  session = await openOn(bmdb);
});
afterEach(() => bmdb.close());

test.each([
  ['failures', 'ShepherdAgentStart', 'work_backoff', 'until', 'last_interval_seconds'],
  [
    'attempts of the ladder',
    'ShepherdRecovery',
    'machine_recovery',
    'next_at',
    'cool_down_seconds',
  ],
] as const)(
  'spreads waits after %s, but not the stored one that grows',
  async (_, process, table, until, seconds) => {
    const isLadder = process === 'ShepherdRecovery';
    const started = isLadder ? startedAt(Date.now() - 40 * MINUTE) : {};
    const ids = await s.addMany(COUNT, started);
    for (const expected of [100, 200, 400, 400]) {
      const works = await Promise.all(ids.map((id) => session.claim(process, id)));
      for (const work of isLadder ? works : []) {
        await work.note(ASKED);
      }
      const doubling = { initialMs: 100_000, exponent: 2, maximumMs: 400_000 };
      await Promise.all(works.map((work) => work.fail(doubling, 'refused')));
      const rows = await s.sql<{ share: number; kept: number }>(
        `SELECT extract(epoch FROM t.${until} - h.at)::float8 / $1 - 1 AS share,
           t.${seconds}::float8 AS kept
         FROM ${table} t JOIN (SELECT machine_id, max("timestamp") AS at FROM work_history
           WHERE event = 'Failed' GROUP BY 1) h USING (machine_id)`,
        [expected],
      );
      // Each wait is longer by up to a tenth, independently, and never shorter.
      expect(rows.map(({ share }) => share.toFixed(3)).toSorted()).toEqual(
        ids.map((__, at) => (at / 100).toFixed(3)),
      );
      expect(new Set(rows.map(({ kept }) => kept))).toEqual(new Set([expected]));
      await s.sql(`UPDATE work_backoff SET until = now() - interval '1 s'`);
      await s.sql(`UPDATE ${table} SET ${until} = now() - interval '1 s'`);
    }
  },
);
