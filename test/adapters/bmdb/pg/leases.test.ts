import { describe, expect, it } from 'vitest';
import type { SessionId, Witness } from '../../../../src/domain/ids.ts';
import { MINUTE, PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import {
  claimStand,
  codeOfRefusal,
  openOn,
  SIGNAL,
  transactionOn,
  untilBlocked,
  addMachine,
} from './claim-stand.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';

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

describe('a slot that is asked for while its intent ends', () => {
  const EXPIRED = `INSERT INTO provider_holds (provider, kind, key, until, cause)
    VALUES ('${SLOT.provider}', 'penalty', '${SLOT.slotId}', now() - interval '1 s', 'no disk')`;
  /**
   * The end is held up by an old penalty of the slot, which somebody has locked: by then it has let go
   * of the slot, and nobody sees yet what it leaves there.
   */
  const ending = async (end: (intent: IntentRow) => Promise<unknown>) => {
    await s.server.sql.query(EXPIRED);
    const intent = await s.rival.intents.open(SLOT);
    const holdUp = await transactionOn(s);
    await holdUp.query('SELECT 1 FROM provider_holds FOR UPDATE');
    const ended = end(intent);
    await untilBlocked(s, 1);
    const opened = s.session.intents.open(SLOT);
    await untilBlocked(s, 2);
    await holdUp.commit();
    await ended;
    return (await opened).witness;
  };
  const attempt = (witness: Witness) => s.session.intents.progress(witness, { attempts: 1 });

  it('with a machine is not used twice: no attempt is made', async () => {
    const witness = await ending(({ witness }) => s.rival.intents.adopt(witness, providedOf('1')));
    expect(await codeOfRefusal(attempt(witness))).toBe('nothing-to-do');
    await s.session.intents.end(witness, { state: 'failed', cause: 'in vain' });
    const { rows } = await s.server.sql.query(
      `SELECT state, attempts::int FROM provision_intents ORDER BY created_at`,
    );
    expect(rows).toEqual([
      { state: 'adopted', attempts: 0 },
      { state: 'failed', attempts: 0 },
    ]);
  });

  it('with a penalty stays on the shelf: no attempt is made', async () => {
    const failed = { state: 'failed', cause: 'no disk', penaltyMs: 3_600_000 } as const;
    const witness = await ending(({ witness }) => s.rival.intents.end(witness, failed));
    expect(await codeOfRefusal(attempt(witness))).toBe('nothing-to-do');
    const { rows } = await s.server.sql.query(`SELECT sum(attempts)::int FROM provision_intents`);
    expect(rows).toEqual([{ sum: 0 }]);
  });

  it('with nothing can be used again', async () => {
    const intent = await s.rival.intents.open(SLOT);
    const transaction = await transactionOn(s);
    await transaction.query(`UPDATE provision_intents SET state = 'abandoned'`);
    const opened = s.session.intents.open(SLOT);
    await untilBlocked(s, 1);
    await transaction.commit();
    const { witness } = await opened;
    expect(witness).not.toBe(intent.witness);
    await attempt(witness);
  });
});

describe('an intent of a dead session', () => {
  const YOUNG = '00000000-0000-4000-8000-0000000000ff';
  const orphan = async () => {
    const { witness } = await s.rival.intents.open(SLOT);
    await s.server.sql.query(
      `UPDATE sessions SET session_deadline = now() - interval '1 s' WHERE session_id = $1`,
      [s.rival.sessionId],
    );
    return witness;
  };

  it('is resumed by one, even if that one is younger than the other attempt', async () => {
    const witness = await orphan();
    const younger = await transactionOn(s);
    await younger.query(
      `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
         session_interval_seconds, session_deadline)
       VALUES ($1, 'shepherd', 'host test', 60, now() + interval '60 s')`,
      [YOUNG],
    );
    await younger.query(`UPDATE provision_intents SET session_id = $1`, [YOUNG]);
    const resumed = codeOfRefusal(s.session.intents.resume(witness));
    await untilBlocked(s, 1);
    await younger.commit();
    expect(await resumed).toBe('work-conflict');
    const { rows } = await s.server.sql.query(`SELECT session_id FROM provision_intents`);
    expect(rows).toEqual([{ session_id: YOUNG }]);
  });

  it('that another takes over is not changed by a step that was waiting', async () => {
    const { witness } = await s.session.intents.open(SLOT);
    const taking = await transactionOn(s);
    await taking.query(`UPDATE provision_intents SET session_id = $1`, [s.rival.sessionId]);
    const steps = [
      s.session.intents.progress(witness, { attempts: 1 }),
      s.session.intents.adopt(witness, providedOf('1')),
      s.session.intents.end(witness, { state: 'failed', cause: 'test', penaltyMs: 1_000 }),
    ].map(codeOfRefusal);
    await untilBlocked(s, 3);
    await taking.commit();
    expect(await Promise.all(steps)).toEqual(Array(3).fill('work-conflict'));
    const { rows } = await s.server.sql.query(`SELECT state, attempts::int FROM provision_intents`);
    expect(rows).toEqual([{ state: 'open', attempts: 0 }]);
    expect((await s.server.sql.query('SELECT 1 FROM provider_holds')).rowCount).toBe(0);
  });
});

it('what is provided is changed one after the other', async () => {
  const id = await addMachine(s, { provided: providedOf('1') });
  const other = await transactionOn(s);
  await other.query(`UPDATE machine_provided SET provider_location = 'la'`);
  const changes = [
    s.session.updateProvided(id, { address: null }),
    s.rival.updateProvided(id, { status: 'Stopped' }),
  ];
  await untilBlocked(s, 2);
  await other.commit();
  await Promise.all(changes);
  const { rows } = await s.server.sql.query(
    `SELECT provider_ip_address, provider_location, provider_status FROM machine_provided`,
  );
  expect(rows).toEqual([
    { provider_ip_address: null, provider_location: 'la', provider_status: 'Stopped' },
  ]);
});
