import { describe, expect, it } from 'vitest';
import type { SessionId } from '../../../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from '../../../contracts/bmdb-rows.ts';
import {
  claimStand,
  codeOfRefusal,
  openOn,
  SIGNAL,
  transactionOn,
  untilBlocked,
} from './claim-stand.ts';

const s = claimStand();
const JOB = 'provisioner/metal';
const SLOT = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };

const kill = (id: SessionId) =>
  s.server.sql.query(
    `UPDATE sessions SET session_deadline = now() - interval '1 ms' WHERE session_id = $1`,
    [id],
  );
/** A job whose holder is dead. */
const orphaned = async () => {
  const holder = await openOn(s.other);
  const lease = (await holder.lease(JOB))!;
  await kill(holder.sessionId);
  return { holder, lease };
};

describe('a job whose holder is dead', () => {
  it('is not taken from one that is being extended just now', async () => {
    const { holder, lease } = await orphaned();
    const poke = await transactionOn(s);
    await poke.query(
      `UPDATE sessions SET session_deadline = now() + interval '1 hour' WHERE session_id = $1`,
      [holder.sessionId],
    );
    expect(await s.session.lease(JOB)).toBeNull();
    await poke.commit();
    expect(await s.session.lease(JOB)).toBeNull();
    expect((await holder.lease(JOB))?.epoch).toBe(lease.epoch);
  });

  it('is not taken from one that was faster, however young its session is', async () => {
    const { lease } = await orphaned();
    const faster = await transactionOn(s);
    const young = '00000000-0000-4000-8000-0000000000ff';
    await faster.query(
      `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
         session_interval_seconds, session_deadline)
       VALUES ($1, 'shepherd', 'host test', 60, now() + interval '60 s')`,
      [young],
    );
    await faster.query(`UPDATE leases SET session_id = $1, epoch = nextval('work_epoch')`, [young]);
    const asked = s.session.lease(JOB);
    await untilBlocked(s, 1);
    await faster.commit();
    expect(await asked).toBeNull();
    const { rows } = await s.server.sql.query(`SELECT session_id FROM leases`);
    expect(rows).toEqual([{ session_id: young }]);
    expect(lease.name).toBe(JOB);
  });

  it('is taken only after what the holder was still writing', async () => {
    const { lease } = await orphaned();
    const writing = await transactionOn(s);
    await writing.query(`SELECT 1 FROM leases WHERE name = $1 FOR SHARE`, [JOB]);
    const asked = s.session.lease(JOB);
    await untilBlocked(s, 1);
    await writing.commit();
    expect((await asked)?.epoch).not.toBe(lease.epoch);
  });

  it('is taken when nothing is left of its session', async () => {
    const { holder } = await orphaned();
    await s.server.sql.query(`DELETE FROM sessions WHERE session_id = $1`, [holder.sessionId]);
    expect((await s.other.scan(SIGNAL)).leases).toMatchObject([{ held: false }]);
    expect(await s.session.lease(JOB)).not.toBeNull();
  });
});

describe('a job that nobody has had', () => {
  const first = async () => {
    const faster = await transactionOn(s);
    await faster.query(`INSERT INTO leases VALUES ($1, $2, nextval('work_epoch'))`, [
      ...[JOB, s.rival.sessionId],
    ]);
    const asked = s.session.lease(JOB);
    await untilBlocked(s, 1);
    return { faster, asked };
  };

  it('is not taken from one that was faster', async () => {
    const { faster, asked } = await first();
    await faster.commit();
    expect(await asked).toBeNull();
  });

  it('is taken when that one gives it back in the same breath', async () => {
    const { faster, asked } = await first();
    await faster.query(`DELETE FROM leases`);
    await faster.commit();
    expect(await asked).not.toBeNull();
  });
});

describe('an intent of a job', () => {
  it('waits for whoever is just taking the job over, and is not written', async () => {
    const lease = (await s.session.lease(JOB))!;
    const taking = await transactionOn(s);
    await taking.query(`UPDATE leases SET session_id = $1, epoch = nextval('work_epoch')`, [
      s.rival.sessionId,
    ]);
    const opened = codeOfRefusal(s.session.intents.open({ ...SLOT, lease }));
    await untilBlocked(s, 1);
    await taking.commit();
    expect(await opened).toBe('lease-lost');
    expect((await s.server.sql.query('SELECT 1 FROM provision_intents')).rowCount).toBe(0);
  });
});

describe('a hold without an end', () => {
  const insert = (kind: string, key: string) =>
    s.server.sql.query(
      `INSERT INTO provider_holds (provider, kind, key, cause) VALUES ($1, $2, $3, 'for good')`,
      [PROVIDER, kind, key],
    );

  it('stays without one, whatever is imposed', async () => {
    await insert('capacity', 'all');
    const hold = { provider: PROVIDER, kind: 'capacity', key: 'all', level: 2 } as const;
    await s.bmdb.providerHolds.impose({ ...hold, cause: 'sold out', forMs: MINUTE });
    const { providerHolds, nowMs } = await s.other.scan(SIGNAL);
    expect(providerHolds).toMatchObject([{ level: 2, cause: 'sold out' }]);
    expect(providerHolds[0]!.untilMs).toBeGreaterThan(nowMs + 1_000 * 365 * 86_400_000);
    expect(new Date(providerHolds[0]!.untilMs).getTime()).not.toBeNaN();
    await s.bmdb.sweep();
    expect((await s.other.scan(SIGNAL)).providerHolds).toHaveLength(1);
  });

  it('keeps a slot on the shelf', async () => {
    await insert('penalty', SLOT.slotId);
    expect((await s.other.scan(SIGNAL)).penalties).toMatchObject([{ slotId: SLOT.slotId }]);
    expect(await codeOfRefusal(s.session.intents.open(SLOT))).toBe('nothing-to-do');
    expect(await s.bmdb.providerHolds.lift(PROVIDER, 'penalty', SLOT.slotId)).toBe(1);
    expect((await s.session.intents.open(SLOT)).state).toBe('open');
  });

  it('of a kind that only a newer program knows is left out', async () => {
    await s.server.sql.query(
      `ALTER TABLE provider_holds DROP CONSTRAINT provider_holds_kind_check`,
    );
    await insert('moratorium', 'all');
    expect(await s.other.scan(SIGNAL)).toMatchObject({ providerHolds: [], penalties: [] });
  });
});
