import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { addMachines, claimStand, holding, openOn, sorted, untilBlocked } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const s = claimStand();

let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  bmdb = openPgBmdb({ url: s.server.url, budget: { percent: 100, perGroupMax: 10, fleetMax: 10 } });
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

const REBOOT = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;
const works = async (count: number) => {
  const ids = await addMachines(s, count, startedAt(Date.now() - 40 * MINUTE));
  return Promise.all(ids.map((id) => session.claim('ShepherdRecovery', id)));
};

it('a claim takes no permit, and the ask of one machine gives it to that one alone', async () => {
  const before = await granted();
  const [one] = await works(2);
  expect(await permits()).toEqual([]);
  await one!.note(REBOOT);
  await one!.note(REBOOT);
  expect(await permits()).toEqual([one!.machineId]);
  expect((await granted()) - before).toBe(1);
});

it('whoever waited for the guard looks again at the machine, which may be back', async () => {
  const before = await granted();
  const [back, lost] = await works(2);
  const { asks } = await holding(
    s,
    `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`,
    async () => {
      const asks = [back!.note(REBOOT), lost!.note(REBOOT)];
      await untilBlocked(s, 2);
      await s.server.sql.query(
        `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
         VALUES ($1, now(), NULL)`,
        [back!.machineId],
      );
      return { asks };
    },
  );
  const { done, codes } = await sorted(asks);
  expect([done.length, codes]).toEqual([1, ['nothing-to-do']]);
  expect(await permits()).toEqual([lost!.machineId]);
  expect((await granted()) - before, 'none for one that is back').toBe(1);
});
