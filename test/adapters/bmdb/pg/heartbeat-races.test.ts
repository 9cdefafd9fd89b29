import { describe, expect, it, test } from 'vitest';
import {
  beatArgs,
  statements as beats,
} from '../../../../src/adapters/bmdb/pg/heartbeats/beats.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import { beatStand, recordOf } from './beat-stand.ts';
import { STEADY, type HeldOpen } from './claim-stand.ts';

const s = beatStand();
const NEW_KEY = Buffer.alloc(32, 9);

const dropBeat = 'DELETE FROM machine_agent_heartbeat WHERE machine_id = $1';
/**
 * Effects of the end of an agent start or a recovery on a start and its heartbeats, in this order.
 */
const ENDS = {
  replaced: async (t: HeldOpen, id: MachineId) => {
    await t.query(
      `UPDATE machine_agent_started SET agent_public_key = $2, agent_started_at = now()
       WHERE machine_id = $1`,
      [id, NEW_KEY],
    );
    await t.query(dropBeat, [id]);
  },
  forgotten: async (t: HeldOpen, id: MachineId) => {
    await t.query(`DELETE FROM machine_agent_started WHERE machine_id = $1`, [id]);
    await t.query(dropBeat, [id]);
  },
};
/** A heartbeat that is written and not committed yet. */
const heartbeatOf = async (id: MachineId, what: 'beat' | 'admit') => {
  const sent = [recordOf(id)];
  const heartbeat = await s.begin();
  await heartbeat.run(beats[what], { ...beatArgs(new Map([[id, sent[0]!]]), DEFAULT_LOSS), sent });
  return heartbeat;
};

describe.each([
  ['heard before', true],
  ['not heard yet', false],
])('an agent that was %s', (_, heard) => {
  const addAgent = async () => {
    const id = await s.add();
    if (heard) await s.beat(id, { bootId: 'before' });
    return id;
  };

  describe.each(Object.entries(ENDS))('an agent whose start is being %s', (_end, endStart) => {
    it.each([
      ['is not known any more once that is committed', 'commit', 'unauthenticated', undefined],
      ['goes on being known when that is undone', 'rollback', 'accepted', heard ? 2 : 1],
    ] as const)('%s', async (_does, end, kind, count) => {
      const id = await addAgent();
      const finish = await s.begin();
      await endStart(finish, id);
      const outcome = s.beat(id);
      await s.untilBlocked();
      await finish[end]();
      expect((await outcome).kind).toBe(kind);
      expect((await s.stored(id))?.count).toBe(count);
    });

    it('leaves nothing behind when its heartbeat came first', async () => {
      const id = await addAgent();
      const heartbeat = await heartbeatOf(id, heard ? 'beat' : 'admit');
      const finish = await s.begin();
      const ended = endStart(finish, id);
      await s.untilBlocked();
      await heartbeat.commit();
      await ended;
      await finish.commit();
      expect(await s.stored(id)).toBeUndefined();
    });
  });

  it('waits for no other work on the machine', async () => {
    const id = await addAgent();
    const other = `SELECT 1 FROM machines FOR KEY SHARE;
      UPDATE machine_provided SET provider_location = 'x'`;
    await s.holding(other, async () => expect((await s.beat(id)).kind).toBe('accepted'));
  });
});

it('keeps the next agent’s data from a late heartbeat', async () => {
  const id = await s.add();
  await s.beat(id, { bootId: 'before' });
  const next = await s.begin();
  await ENDS.replaced(next, id);
  await next.query(
    `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
     VALUES ($1, now(), 'after')`,
    [id],
  );
  const late = s.beat(id, { bootId: 'late', hardwareReport: KEY });
  await s.untilBlocked();
  await next.commit();
  expect(await late).toEqual({ kind: 'unauthenticated' });
  expect(await s.stored(id)).toMatchObject({ boot_id: 'after', count: 1 });
  expect(await s.count('machine_hardware_report')).toBe(0);
});

describe('a recovery that ends', () => {
  test.each([
    ['an agent that came back', 'beat'],
    ['an agent that was never heard', 'admit'],
  ] as const)('waits for %s and then forgets it', async (_, what) => {
    const id = await s.addLost();
    if (what === 'beat') {
      await s.beat(id);
      await s.sql(
        `UPDATE machine_agent_heartbeat SET agent_heartbeat_at = now() - interval '11 min'`,
      );
    }
    const work = await s.rival.claim('ShepherdRecovery', id);
    const heartbeat = await heartbeatOf(id, what);
    const finished = work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
    await s.untilBlocked();
    await heartbeat.commit();
    await finished;
    expect(await s.stored(id)).toBeUndefined();
    expect(await s.beat(id)).toEqual({ kind: 'unauthenticated' });
  });
});

describe('overlapping batches of two agent servers', () => {
  const MACHINES = 60;
  const ROUNDS = 12;

  it('are all recorded without repeats', async () => {
    const ids = await s.addMany(MACHINES);
    const forth = ids.map((id) => recordOf(id, { bootId: 'boot' }));
    const back = [...forth].reverse();
    const caller = async (bmdb: typeof s.bmdb, records: readonly HeartbeatRecord[]) => {
      for (let round = 0; round < ROUNDS; round++) {
        const outcomes = await bmdb.heartbeats.recordHeartbeats(records);
        expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
      }
    };
    // From the first heartbeats on, which must create the rows.
    await Promise.all([
      ...[caller(s.bmdb, forth), caller(s.bmdb, back)],
      ...[caller(s.other, back), caller(s.other, forth)],
    ]);
    const { rows } = await s.server.sql.query<{ count: number }>(
      `SELECT DISTINCT unbroken_count::int AS count FROM machine_agent_heartbeat`,
    );
    expect(rows).toEqual([{ count: 4 * ROUNDS }]);
    expect(new Set(s.transactions)).toEqual(new Set(['executed']));
  });
});

test.each([
  ['heard before', 'machine_agent_heartbeat', true],
  ['not heard yet', 'machine_agent_started', false],
])('lock the first machine first for agents %s', async (_, table, heard) => {
  const ids = (await s.addMany(20)).sort();
  const backwards = ids.map((id) => recordOf(id)).reverse();
  if (heard) await s.bmdb.heartbeats.recordHeartbeats(backwards);
  const [first, last] = [await s.begin(), await s.begin()];
  const lock = `SELECT 1 FROM ${table} WHERE machine_id = $1 FOR NO KEY UPDATE NOWAIT`;
  await first.query(lock, [ids[0]]);
  const outcomes = s.bmdb.heartbeats.recordHeartbeats(backwards);
  await s.untilBlocked();
  expect((await last.query(lock, [ids.at(-1)])).rowCount, 'nobody holds it').toBe(1);
  await last.rollback();
  await first.rollback();
  expect(new Set((await outcomes).map(({ kind }) => kind))).toEqual(new Set(['accepted']));
});

describe('an installation request that is renewed meanwhile', () => {
  const ask = async () => {
    const id = await s.add();
    await s.beat(id);
    await s.sql(`INSERT INTO machine_os_installation_request VALUES ($1, 3, '\\x03')`, [id]);
    return id;
  };
  const RENEWAL = `UPDATE machine_os_installation_request
    SET generation = 4, os_installation_request_raw = '\\x04'`;
  const handedOut = async () =>
    (await s.sql(`SELECT handed_out_at AS at FROM machine_os_installation_request`))[0]!['at'];

  it('is handed out in its new form and marked', async () => {
    const id = await ask();
    const outcome = await s.behind(RENEWAL, () => s.beat(id));
    expect(outcome).toMatchObject({ installationRequest: Buffer.from([4]) });
    expect(await handedOut()).not.toBeNull();
  });

  it('is not answered by the report of the earlier one', async () => {
    const id = await ask();
    await s.beat(id);
    const installationReport = { generation: 3n, result: 'Success', raw: KEY } as const;
    const outcome = await s.behind(RENEWAL, () => s.beat(id, { installationReport }));
    expect(outcome).toMatchObject({ installationRequest: Buffer.from([4]) });
    expect(await handedOut()).not.toBeNull();
    expect(await s.count('machine_os_installation_report')).toBe(0);
  });
});
