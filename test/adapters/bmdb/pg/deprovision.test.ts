import { describe, expect, it } from 'vitest';
import type { LiveSession } from '../../../../src/adapters/bmdb/pg/live.ts';
import { claimStatusesOf } from '../../../../src/adapters/bmdb/pg/tasks/ambiguous-commits.ts';
import type { Work } from '../../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { AmbiguousCommit } from '../../../../src/domain/errors.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY, requestedAt, startedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand, refusedWith, SIGNAL } from './claim-stand.ts';
import { openPgDatabase } from './pg-harness.ts';

const s = claimStand();
/** For a machine that was just added. */
const TAGS = ['machine_provided', 'machine_deprovision_request'];
const DEPROVISIONED = { kind: 'deprovisioned' } as const;

async function addClaimed(change: Partial<MachineRow> = {}): Promise<[MachineId, Work]> {
  const id = await s.add({ deprovision: requestedAt(Date.now()), ...change });
  return [id, await s.session.claim('ShepherdDeprovision', id)];
}
const isGone = async (id: MachineId) => (await s.row(id)) === null;
const heartbeat = (id: MachineId) =>
  s.other.heartbeats.recordHeartbeats([{ machineId: id, publicKey: KEY, bootId: null }]);

it('reports an end that the server still works on after it has ended', async () => {
  const [id, { epoch, process }] = await addClaimed();
  const db = openPgDatabase({ url: s.server.url });
  const lost = new AmbiguousCommit('lost');
  const session = {
    db,
    clock: s.clock,
    log: silentLog,
    signal: SIGNAL,
    deadlineMs: () => Number.POSITIVE_INFINITY,
  } as unknown as LiveSession;
  try {
    const busy = await s.begin();
    await busy.query(
      `INSERT INTO work_history (machine_id, process, event, epoch)
       VALUES ($1, 'ShepherdDeprovision', 'Finished', $2)`,
      [id, epoch],
    );
    for (const table of ['work', ...TAGS, 'machines']) {
      await busy.query(`DELETE FROM ${table} WHERE machine_id = $1`, [id]);
    }
    const statuses = claimStatusesOf(session, [{ process, machineId: id, epoch }], lost);
    await s.untilBlocked();
    await busy.commit();
    expect(await statuses).toEqual(new Map([[epoch, 'Finished']]));
  } finally {
    await db.close();
  }
});

/**
 * Another transaction holds its first lock, we begin to wait for that lock, and the other goes on
 * to its next lock. If we held the next lock already, one of us would have to give up.
 */
describe('work on a machine before it is given back', () => {
  const STARTED_AGENT = 'SELECT 1 FROM machine_agent_started WHERE machine_id = $1 FOR SHARE';
  const TESTED = `SELECT 1 FROM work WHERE machine_id = $1 AND exclusion_group = 'UnitTest1' FOR UPDATE`;
  const PERMIT = 'DELETE FROM recovery_permits WHERE machine_id = $1';
  const ORDERS: [name: string, first: string, next: string][] = [
    [
      'an agent that is heard for the first time',
      STARTED_AGENT,
      `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at) VALUES ($1, now())`,
    ],
    [
      'an agent that reports its hardware',
      STARTED_AGENT,
      `INSERT INTO machine_hardware_report VALUES ($1, '\\x01')`,
    ],
    ['an agent that ends an episode', STARTED_AGENT, PERMIT],
    [
      'an updater that misses it',
      'SELECT 1 FROM machine_provided WHERE machine_id = $1 FOR NO KEY UPDATE',
      PERMIT,
    ],
    [
      'the end of other work on it',
      TESTED,
      `INSERT INTO work_backoff (machine_id, process, until, cause)
       VALUES ($1, 'UnitTest1', now(), 'x')`,
    ],
    ['a sweep that cancels other work on it', TESTED, PERMIT],
    [
      'somebody who asks for an installation',
      `INSERT INTO machine_os_installation_request VALUES ($1, 1, '\\x01')`,
      `INSERT INTO machine_quarantined VALUES ($1, 'byOperator', 'x', NULL, 'ann')`,
    ],
  ];

  it.each(ORDERS)('%s', async (_, first, next) => {
    const [id, work] = await addClaimed({ ...startedAt(Date.now()), permit: true });
    await (await s.rival.claim('UnitTest1', id)).finish({ kind: 'nothing' });
    const other = await s.begin();
    await other.query(first, [id]);
    const finished = work.finish(DEPROVISIONED);
    await s.untilBlocked();
    await other.query(`SET LOCAL lock_timeout = '10ms'`);
    await other.query(next, [id]);
    await other.commit();
    await finished;
    expect(await isGone(id)).toBe(true);
    expect(await s.events(id)).toEqual(['deprovisioned']);
  });
});

describe('work on a machine while it is given back', () => {
  /** The progress so far, not committed yet. */
  const going = async () => {
    const id = await s.add(startedAt(Date.now()));
    const key = await s.submit({ verb: 'deprovision', target: await s.target(id) });
    const other = await s.begin();
    await other.query('SELECT 1 FROM machines WHERE machine_id = $1 FOR UPDATE', [id]);
    for (const table of ['work', 'machine_agent_started', 'machine_provided', 'machines']) {
      await other.query(`DELETE FROM ${table} WHERE machine_id = $1`, [id]);
    }
    return { id, key, other };
  };

  it('finds it gone', async () => {
    const { id, key, other } = await going();
    const codes = [
      s.session.claim('UnitTest1', id),
      s.session.updateProvided(id, { absent: true }),
    ].map(refusedWith);
    const settled = s.session.applyRequest(key);
    await s.untilBlocked(3);
    await other.commit();
    expect(await Promise.all(codes)).toEqual(['nothing-to-do', 'not-found']);
    expect(await settled).toMatchObject({
      state: 'refused',
      outcome: expect.stringContaining('is not on slot'),
    });
    expect(await heartbeat(id)).toEqual([{ kind: 'unauthenticated' }]);
  });

  it('does not wait where others must not wait', async () => {
    const { id, other } = await going();
    expect(await refusedWith(s.session.claim('ShepherdAccess', id))).toBe('work-conflict');
    expect(await heartbeat(id)).toMatchObject([{ kind: 'unavailable' }]);
    expect(await s.other.sweep()).toMatchObject({ permits: 0 });
    await other.commit();
    expect(await refusedWith(s.session.claim('ShepherdAccess', id))).toBe('nothing-to-do');
  });

  it('can use its slot as soon as it is gone', async () => {
    const { id, other } = await going();
    const slot = { ...(await s.target(id)), hostname: 'm' };
    expect(await refusedWith(s.rival.intents.open(slot))).toBe('work-conflict');
    await other.commit();
    expect((await s.rival.intents.open(slot)).state).toBe('open');
  });
});

it('removes tags of a newer program together with the machine', async () => {
  const role = new URL(s.server.url).username;
  await s.sql(
    `CREATE TABLE machine_bios (
       machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, version text NOT NULL);
     GRANT SELECT, INSERT, UPDATE, DELETE ON machine_bios TO "${role}"`,
  );
  try {
    const [id, work] = await addClaimed();
    await s.sql(`INSERT INTO machine_bios VALUES ($1, '1.0')`, [id]);
    await work.finish(DEPROVISIONED);
    expect(await isGone(id)).toBe(true);
    expect(await s.count('machine_bios')).toBe(0);
  } finally {
    await s.sql('DROP TABLE machine_bios');
  }
});
