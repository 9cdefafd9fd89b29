import { describe, expect, it } from 'vitest';
import type { Witness } from '../../../../src/domain/ids.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { MINUTE, PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import { claimStand, openOn, refusedWith, SIGNAL } from './claim-stand.ts';

const s = claimStand();
const JOB = 'provisioner/metal';
const SLOT = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
/** A session that began just now, in the current transaction. */
const YOUNG = '00000000-0000-4000-8000-0000000000ff';
const BEGUN = `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
  session_interval_seconds, session_deadline)
  VALUES ('${YOUNG}', 'shepherd', 'host test', 60, now() + interval '60 s')`;
const takenBy = (session: string) =>
  `UPDATE leases SET session_id = '${session}', epoch = nextval('work_epoch')`;
/** A job whose holder is dead. */
const orphaned = async () => {
  const holder = await openOn(s.other);
  const lease = (await holder.lease(JOB))!;
  await s.expire(holder);
  return { holder, lease };
};

describe('a job whose holder is dead', () => {
  it('is not taken while it is being extended', async () => {
    const { holder, lease } = await orphaned();
    const extend = `UPDATE sessions SET session_deadline = now() + interval '1 hour'
      WHERE session_id = '${holder.sessionId}'`;
    await s.holding(extend, async () => expect(await s.session.lease(JOB)).toBeNull());
    expect(await s.session.lease(JOB)).toBeNull();
    expect((await holder.lease(JOB))?.epoch).toBe(lease.epoch);
  });

  it('is not taken from a faster daemon, however young its session', async () => {
    await orphaned();
    const faster = `${BEGUN}; ${takenBy(YOUNG)}`;
    expect(await s.behind(faster, () => s.session.lease(JOB))).toBeNull();
    expect(await s.sql(`SELECT session_id FROM leases`)).toEqual([{ session_id: YOUNG }]);
  });

  it('is taken only after the holder’s pending writes', async () => {
    const { lease } = await orphaned();
    const writing = `SELECT 1 FROM leases WHERE name = '${JOB}' FOR SHARE`;
    const taken = await s.behind(writing, () => s.session.lease(JOB));
    expect(taken?.epoch).not.toBe(lease.epoch);
  });

  it('is taken when nothing of its session is left', async () => {
    const { holder } = await orphaned();
    await s.sql(`DELETE FROM sessions WHERE session_id = $1`, [holder.sessionId]);
    expect((await s.other.scan(SIGNAL)).leases).toMatchObject([{ held: false }]);
    expect(await s.session.lease(JOB)).not.toBeNull();
  });
});

it.each([
  ['is not taken from one that was faster', '', false],
  ['is taken when that one gives it back in the same breath', 'DELETE FROM leases', true],
])('a job without holder for %s', async (_, then, taken) => {
  const faster = await s.begin();
  const insert = `INSERT INTO leases VALUES ($1, $2, nextval('work_epoch'))`;
  await faster.query(insert, [JOB, s.rival.sessionId]);
  const asked = s.session.lease(JOB);
  await s.untilBlocked();
  await faster.query(then);
  await faster.commit();
  expect((await asked) !== null).toBe(taken);
});

it('makes an intent wait while another daemon takes over its job, and does not write it', async () => {
  const lease = (await s.session.lease(JOB))!;
  const opened = await s.behind(takenBy(s.rival.sessionId), () =>
    refusedWith(s.session.intents.open({ ...SLOT, lease })),
  );
  expect(opened).toBe('lease-lost');
  expect(await s.count('provision_intents')).toBe(0);
});

describe('a hold without an end', () => {
  const insert = (kind: string, key: string) =>
    s.sql(
      `INSERT INTO provider_holds (provider, kind, key, cause) VALUES ($1, $2, $3, 'for good')`,
      [PROVIDER, kind, key],
    );

  it('keeps none, whatever is imposed', async () => {
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

  it('keeps a slot on cooldown', async () => {
    await insert('penalty', SLOT.slotId);
    expect((await s.other.scan(SIGNAL)).penalties).toMatchObject([{ slotId: SLOT.slotId }]);
    expect(await refusedWith(s.session.intents.open(SLOT))).toBe('nothing-to-do');
    expect(await s.bmdb.providerHolds.lift(PROVIDER, 'penalty', SLOT.slotId)).toBe(1);
    expect((await s.session.intents.open(SLOT)).state).toBe('open');
  });

  it('is left out when only a newer program knows its kind', async () => {
    await s.sql(`ALTER TABLE provider_holds DROP CONSTRAINT provider_holds_kind_check`);
    await insert('moratorium', 'all');
    expect(await s.other.scan(SIGNAL)).toMatchObject({ providerHolds: [], penalties: [] });
  });
});

describe('a slot whose intent ends while it is requested', () => {
  const EXPIRED = `INSERT INTO provider_holds (provider, kind, key, until, cause)
    VALUES ('${SLOT.provider}', 'penalty', '${SLOT.slotId}', now() - interval '1 s', 'no disk')`;
  /**
   * An old penalty of the slot, locked by another transaction, delays the end. By then the end has
   * released the slot, and nobody sees yet what it leaves there.
   */
  const ending = async (end: (intent: IntentRow) => Promise<unknown>) => {
    await s.sql(EXPIRED);
    const intent = await s.rival.intents.open(SLOT);
    const holdUp = await s.begin();
    await holdUp.query('SELECT 1 FROM provider_holds FOR UPDATE');
    const ended = end(intent);
    await s.untilBlocked();
    const opened = s.session.intents.open(SLOT);
    await s.untilBlocked(2);
    await holdUp.commit();
    await ended;
    return (await opened).witness;
  };
  const attempt = (witness: Witness) => s.session.intents.progress(witness, { attempts: 1 });

  it('makes no attempt when it has a machine by then', async () => {
    const witness = await ending(({ witness }) => s.rival.intents.adopt(witness, providedOf('1')));
    expect(await refusedWith(attempt(witness))).toBe('nothing-to-do');
    await s.session.intents.end(witness, { state: 'failed', cause: 'in vain' });
    expect(
      await s.sql(`SELECT state, attempts::int FROM provision_intents ORDER BY created_at`),
    ).toEqual([
      { state: 'adopted', attempts: 0 },
      { state: 'failed', attempts: 0 },
    ]);
  });

  it('makes no attempt when it is on cooldown by then', async () => {
    const failed = { state: 'failed', cause: 'no disk', penaltyMs: 3_600_000 } as const;
    const witness = await ending(({ witness }) => s.rival.intents.end(witness, failed));
    expect(await refusedWith(attempt(witness))).toBe('nothing-to-do');
    expect(await s.sql(`SELECT sum(attempts)::int FROM provision_intents`)).toEqual([{ sum: 0 }]);
  });

  it('can be used again when it has nothing', async () => {
    const intent = await s.rival.intents.open(SLOT);
    const { witness } = await s.behind(`UPDATE provision_intents SET state = 'abandoned'`, () =>
      s.session.intents.open(SLOT),
    );
    expect(witness).not.toBe(intent.witness);
    await attempt(witness);
  });
});

describe('an intent of a dead session', () => {
  it('is resumed once, by whichever attempt is first', async () => {
    const { witness } = await s.rival.intents.open(SLOT);
    await s.expire(s.rival);
    const resumed = await s.behind(
      `${BEGUN}; UPDATE provision_intents SET session_id = '${YOUNG}'`,
      () => refusedWith(s.session.intents.resume(witness)),
    );
    expect(resumed).toBe('work-conflict');
    expect(await s.sql(`SELECT session_id FROM provision_intents`)).toEqual([
      { session_id: YOUNG },
    ]);
  });

  it('ignores a waiting step after another session took it over', async () => {
    const { intents } = s.session;
    const { witness } = await intents.open(SLOT);
    const steps = await s.behind(
      `UPDATE provision_intents SET session_id = '${s.rival.sessionId}'`,
      () =>
        Promise.all(
          [
            intents.progress(witness, { attempts: 1 }),
            intents.adopt(witness, providedOf('1')),
            intents.end(witness, { state: 'failed', cause: 'test', penaltyMs: 1_000 }),
          ].map(refusedWith),
        ),
      () => s.untilBlocked(3),
    );
    expect(steps).toEqual(Array(3).fill('work-conflict'));
    expect(await s.sql(`SELECT state, attempts::int FROM provision_intents`)).toEqual([
      { state: 'open', attempts: 0 },
    ]);
    expect(await s.count('provider_holds')).toBe(0);
  });
});

it('changes provider data one write after the other', async () => {
  const id = await s.add({ provided: providedOf('1') });
  await s.behind(
    `UPDATE machine_provided SET provider_location = 'la'`,
    () =>
      Promise.all([
        s.session.updateProvided(id, { address: null }),
        s.rival.updateProvided(id, { status: 'Stopped' }),
      ]),
    () => s.untilBlocked(2),
  );
  const { provided } = await s.row(id);
  expect(provided).toMatchObject({ address: null, location: 'la', status: 'Stopped' });
});
