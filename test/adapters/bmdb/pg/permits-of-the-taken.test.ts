import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { addMachines, claimStand, holding, openOn, sorted, untilBlocked } from './claim-stand.ts';

const s = claimStand();

let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  bmdb = createPgBmdb({
    url: s.server.url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    jitter: 0,
    loss: DEFAULT_LOSS,
    budget: { percent: 100, perGroupMax: 10, fleetMax: 10 },
  });
  session = await openOn(bmdb);
});
afterEach(() => bmdb.close());

const permits = async (): Promise<string[]> => {
  const { rows } = await s.server.sql.query<{ id: string }>(
    'SELECT machine_id AS id FROM recovery_permits',
  );
  return rows.map(({ id }) => id).toSorted();
};
const granted = async (): Promise<number> => {
  const { rows } = await s.server.sql.query<{ n: number }>(
    `SELECT permits_granted::int4 AS n FROM fleet_guard WHERE scope = 'fleet'`,
  );
  return rows[0]!.n;
};

it('a machine that somebody else is busy with gets no permit, though others of its batch do', async () => {
  const ids = await addMachines(s, 3, startedAt(Date.now() - 40 * MINUTE));
  // Leases are there from the first claim on at the latest.
  for (const id of ids) await (await session.claim('ShepherdRecovery', id)).cancel();
  expect(await permits()).toEqual([]);
  const before = await granted();
  const [busy, ...free] = ids;
  const { done, codes } = await holding(
    s,
    `SELECT 1 FROM work WHERE machine_id = '${busy}' FOR UPDATE`,
    () => sorted(ids.map((id) => session.claim('ShepherdRecovery', id))),
  );
  expect(codes).toEqual(['work-conflict']);
  expect(done.map((work) => work.machineId).toSorted()).toEqual(free.toSorted());
  expect(await permits()).toEqual(free.toSorted());
  expect((await granted()) - before).toBe(2);
});

it('whoever waited for the guard looks again: the machine may be taken, or be back', async () => {
  const [taken, back] = await addMachines(s, 2, startedAt(Date.now() - 40 * MINUTE));
  const before = await granted();
  const { claims } = await holding(
    s,
    `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`,
    async () => {
      const claims = [s.session, s.rival].map((each) => each.claim('ShepherdRecovery', taken!));
      await untilBlocked(s, 2);
      return { claims };
    },
  );
  const { done, codes } = await sorted(claims);
  // There is room for one, which is not what keeps the other from it.
  expect([done.length, codes]).toEqual([1, ['work-conflict']]);
  await done[0]!.cancel();
  expect((await granted()) - before).toBe(1);

  const { late } = await holding(
    s,
    `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`,
    async () => {
      const late = [s.session.claim('ShepherdRecovery', back!)];
      await untilBlocked(s, 1);
      await s.server.sql.query(
        `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
         VALUES ($1, now(), NULL)`,
        [back],
      );
      return { late };
    },
  );
  expect((await sorted(late)).codes).toEqual(['nothing-to-do']);
  expect((await granted()) - before, 'none for one that is back').toBe(1);
});
