import { describe, expect, it, test } from 'vitest';
import {
  beatArgs,
  statements as beats,
} from '../../../../src/adapters/bmdb/pg/heartbeats/beats.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { beatOn, beatStand, recordOf } from './beat-stand.ts';
import type { HeldOpen } from './claim-stand.ts';

const stand = beatStand();
const NEW_KEY = Buffer.alloc(32, 9);

/** What the end of an agent start or of a recovery does to a start, in this order. */
const ENDS: Readonly<Record<string, (t: HeldOpen, id: MachineId) => Promise<unknown>>> = {
  replaced: (t, id) =>
    t.query(
      `UPDATE machine_agent_started SET agent_public_key = $2, agent_started_at = now()
       WHERE machine_id = $1`,
      [id, NEW_KEY],
    ),
  forgotten: (t, id) => t.query(`DELETE FROM machine_agent_started WHERE machine_id = $1`, [id]),
};
const dropBeat = (t: HeldOpen, id: MachineId) =>
  t.query(`DELETE FROM machine_agent_heartbeat WHERE machine_id = $1`, [id]);

describe.each([
  ['heard before', true],
  ['not heard yet', false],
])('an agent that was %s', (_, heard) => {
  const addAgent = async () => {
    const id = await stand.add();
    if (heard) await beatOn(stand.bmdb, recordOf(id, { bootId: 'before' }));
    return id;
  };

  describe.each(Object.entries(ENDS))('whose start is being %s', (_end, endStart) => {
    it('is not known any more once that is committed', async () => {
      const id = await addAgent();
      const finish = await stand.begin();
      await endStart(finish, id);
      await dropBeat(finish, id);
      const outcome = beatOn(stand.bmdb, recordOf(id));
      await stand.untilBlocked();
      await finish.commit();
      expect(await outcome).toEqual({ kind: 'unauthenticated' });
      expect(await stand.stored(id)).toBeUndefined();
    });

    it('goes on being known when that is undone', async () => {
      const id = await addAgent();
      const finish = await stand.begin();
      await endStart(finish, id);
      await dropBeat(finish, id);
      const outcome = beatOn(stand.bmdb, recordOf(id));
      await stand.untilBlocked();
      await finish.rollback();
      expect(await outcome).toMatchObject({ kind: 'accepted' });
      expect((await stand.stored(id))?.count).toBe(heard ? 2 : 1);
    });

    it('leaves nothing behind when its heartbeat was first', async () => {
      const id = await addAgent();
      const heartbeat = await stand.begin();
      const records = new Map([[id, recordOf(id)]]);
      await heartbeat.run(heard ? beats.beat : beats.admit, {
        ...beatArgs(records, DEFAULT_LOSS),
        sent: [recordOf(id)],
      });
      const finish = await stand.begin();
      const ended = endStart(finish, id).then(() => dropBeat(finish, id));
      await stand.untilBlocked();
      await heartbeat.commit();
      await ended;
      await finish.commit();
      expect(await stand.stored(id)).toBeUndefined();
    });
  });

  it('waits for nobody who does something else to the machine', async () => {
    const id = await addAgent();
    const work = await stand.begin();
    await work.query(`SELECT 1 FROM machines WHERE machine_id = $1 FOR KEY SHARE`, [id]);
    await work.query(`UPDATE machine_provided SET provider_location = 'x' WHERE machine_id = $1`, [
      id,
    ]);
    expect((await beatOn(stand.bmdb, recordOf(id))).kind).toBe('accepted');
  });
});

it('a late heartbeat does not touch what the next agent of the machine has said', async () => {
  const id = await stand.add();
  await beatOn(stand.bmdb, recordOf(id, { bootId: 'before' }));
  const next = await stand.begin();
  await ENDS['replaced']!(next, id);
  await dropBeat(next, id);
  await next.query(
    `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
     VALUES ($1, now(), 'after')`,
    [id],
  );
  const late = beatOn(stand.bmdb, recordOf(id, { bootId: 'late', hardwareReport: KEY }));
  await stand.untilBlocked();
  await next.commit();
  expect(await late).toEqual({ kind: 'unauthenticated' });
  expect(await stand.stored(id)).toMatchObject({ boot_id: 'after', count: 1 });
  const { rowCount } = await stand.server.sql.query('SELECT 1 FROM machine_hardware_report');
  expect(rowCount).toBe(0);
});

describe('a recovery that ends', () => {
  test.each([
    ['an agent that came back', 'beat'],
    ['an agent that was never heard', 'admit'],
  ] as const)('waits for %s, and then forgets it', async (_, what) => {
    const id = await stand.add(startedAt(Date.now() - 40 * MINUTE));
    if (what === 'beat') {
      await beatOn(stand.bmdb, recordOf(id));
      await stand.server.sql.query(
        `UPDATE machine_agent_heartbeat SET agent_heartbeat_at = now() - interval '11 min'`,
      );
    }
    const work = await stand.rival.claim('ShepherdRecovery', id);
    const heartbeat = await stand.begin();
    const args = { ...beatArgs(new Map([[id, recordOf(id)]]), DEFAULT_LOSS), sent: [recordOf(id)] };
    await heartbeat.run(beats[what], args);
    const finished = work.finish({
      kind: 'recovered',
      coolDown: { initialMs: 60_000, exponent: 1, maximumMs: 0 },
      bootSeconds: null,
    });
    await stand.untilBlocked();
    await heartbeat.commit();
    await finished;
    expect(await stand.stored(id)).toBeUndefined();
    expect(await beatOn(stand.bmdb, recordOf(id))).toEqual({ kind: 'unauthenticated' });
  });
});

describe('batches of two agent servers that overlap', () => {
  const MACHINES = 60;
  const ROUNDS = 12;

  it('are all recorded, and none has to be repeated', async () => {
    const ids = await Promise.all(Array.from({ length: MACHINES }, () => stand.add()));
    const forth = ids.map((id) => recordOf(id, { bootId: 'boot' }));
    const back = [...forth].reverse();
    const caller = async (bmdb: typeof stand.bmdb, records: readonly HeartbeatRecord[]) => {
      for (let round = 0; round < ROUNDS; round++) {
        const outcomes = await bmdb.heartbeats.recordHeartbeats(records);
        expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
      }
    };
    // From the first heartbeats on, which have to make the rows.
    await Promise.all([
      ...[caller(stand.bmdb, forth), caller(stand.bmdb, back)],
      ...[caller(stand.other, back), caller(stand.other, forth)],
    ]);
    const { rows } = await stand.server.sql.query<{ count: number }>(
      `SELECT DISTINCT unbroken_count::int AS count FROM machine_agent_heartbeat`,
    );
    expect(rows).toEqual([{ count: 4 * ROUNDS }]);
    expect(new Set(stand.transactions)).toEqual(new Set(['executed']));
  });
});

test.each([
  ['heard before', 'machine_agent_heartbeat', true],
  ['not heard yet', 'machine_agent_started', false],
])('a batch of agents %s locks the first machine first', async (_, table, heard) => {
  const ids = (await Promise.all(Array.from({ length: 20 }, () => stand.add()))).sort();
  const backwards = ids.map((id) => recordOf(id)).reverse();
  if (heard) await stand.bmdb.heartbeats.recordHeartbeats(backwards);
  const [first, last] = [await stand.begin(), await stand.begin()];
  const lock = `SELECT 1 FROM ${table} WHERE machine_id = $1 FOR NO KEY UPDATE NOWAIT`;
  await first.query(lock, [ids[0]]);
  const outcomes = stand.bmdb.heartbeats.recordHeartbeats(backwards);
  await stand.untilBlocked();
  expect((await last.query(lock, [ids.at(-1)])).rowCount, 'nobody holds it').toBe(1);
  await last.rollback();
  await first.rollback();
  expect(new Set((await outcomes).map(({ kind }) => kind))).toEqual(new Set(['accepted']));
});

describe('an installation request that is renewed meanwhile', () => {
  const ask = async () => {
    const id = await stand.add();
    await beatOn(stand.bmdb, recordOf(id));
    await stand.server.sql.query(
      `INSERT INTO machine_os_installation_request VALUES ($1, 3, '\\x03')`,
      [id],
    );
    return id;
  };
  const renew = async (id: MachineId) => {
    const renewal = await stand.begin();
    await renewal.query(
      `UPDATE machine_os_installation_request
       SET generation = 4, os_installation_request_raw = '\\x04' WHERE machine_id = $1`,
      [id],
    );
    return renewal;
  };
  const handedOut = async () => {
    const { rows } = await stand.server.sql.query<{ at: Date | null }>(
      `SELECT handed_out_at AS at FROM machine_os_installation_request`,
    );
    return rows[0]!.at;
  };

  it('is handed out as it has become, and marked', async () => {
    const id = await ask();
    const renewal = await renew(id);
    const outcome = beatOn(stand.bmdb, recordOf(id));
    await stand.untilBlocked();
    await renewal.commit();
    expect(await outcome).toMatchObject({ installationRequest: Buffer.from([4]) });
    expect(await handedOut()).not.toBeNull();
  });

  it('is not answered by the report of the earlier one', async () => {
    const id = await ask();
    await beatOn(stand.bmdb, recordOf(id));
    const renewal = await renew(id);
    const installationReport = { generation: 3n, result: 'Success', raw: KEY } as const;
    const outcome = beatOn(stand.bmdb, recordOf(id, { installationReport }));
    await stand.untilBlocked();
    await renewal.commit();
    expect(await outcome).toMatchObject({ installationRequest: Buffer.from([4]) });
    expect(await handedOut()).not.toBeNull();
    const { rowCount } = await stand.server.sql.query(
      `SELECT 1 FROM machine_os_installation_report`,
    );
    expect(rowCount).toBe(0);
  });
});
