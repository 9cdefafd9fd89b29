import { describe, expect, it } from 'vitest';
import type { Witness } from '../../../../src/domain/ids.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  transactionOn,
  untilBlocked,
} from './claim-stand.ts';

const s = claimStand();
const SLOT = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
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
