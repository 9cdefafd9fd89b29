import { beforeEach, describe, expect, it } from 'vitest';
import type { BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { Witness } from '../../../../src/domain/ids.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import { beatStand } from './beat-stand.ts';

const stand = beatStand();
const SLOT = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
const HOST = { component: 'shepherd', runtimeInfo: 'host test', intervalMs: 60_000 };
let session: BmdbSession;
let rival: BmdbSession;
beforeEach(async () => {
  session = await stand.bmdb.openSession(HOST);
  rival = await stand.other.openSession(HOST);
});
const codeOfRefusal = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => codeOf(error),
  );
describe('a slot that is asked for while its intent ends', () => {
  const EXPIRED = `INSERT INTO provider_holds (provider, kind, key, until, cause)
    VALUES ('${SLOT.provider}', 'penalty', '${SLOT.slotId}', now() - interval '1 s', 'no disk')`;
  /**
   * The end is held up by an old penalty of the slot, which somebody has locked: by then it has let go
   * of the slot, and nobody sees yet what it leaves there.
   */
  const ending = async (end: (intent: IntentRow) => Promise<unknown>) => {
    await stand.server.sql.query(EXPIRED);
    const intent = await rival.intents.open(SLOT);
    const holdUp = await stand.begin();
    await holdUp.query('SELECT 1 FROM provider_holds FOR UPDATE');
    const ended = end(intent);
    await stand.untilBlocked();
    const opened = session.intents.open(SLOT);
    await stand.untilBlocked(2);
    await holdUp.commit();
    await ended;
    return (await opened).witness;
  };
  const attempt = (witness: Witness) => session.intents.progress(witness, { attempts: 1 });

  it('with a machine is not used twice: no attempt is made', async () => {
    const witness = await ending(({ witness }) => rival.intents.adopt(witness, providedOf('1')));
    expect(await codeOfRefusal(attempt(witness))).toBe('nothing-to-do');
    await session.intents.end(witness, { state: 'failed', cause: 'in vain' });
    const { rows } = await stand.server.sql.query(
      `SELECT state, attempts::int FROM provision_intents ORDER BY created_at`,
    );
    expect(rows).toEqual([
      { state: 'adopted', attempts: 0 },
      { state: 'failed', attempts: 0 },
    ]);
  });

  it('with a penalty stays on the shelf: no attempt is made', async () => {
    const failed = { state: 'failed', cause: 'no disk', penaltyMs: 3_600_000 } as const;
    const witness = await ending(({ witness }) => rival.intents.end(witness, failed));
    expect(await codeOfRefusal(attempt(witness))).toBe('nothing-to-do');
    const { rows } = await stand.server.sql.query(
      `SELECT sum(attempts)::int FROM provision_intents`,
    );
    expect(rows).toEqual([{ sum: 0 }]);
  });

  it('with nothing can be used again', async () => {
    const intent = await rival.intents.open(SLOT);
    const transaction = await stand.begin();
    await transaction.query(`UPDATE provision_intents SET state = 'abandoned'`);
    const opened = session.intents.open(SLOT);
    await stand.untilBlocked();
    await transaction.commit();
    const { witness } = await opened;
    expect(witness).not.toBe(intent.witness);
    await attempt(witness);
  });
});

describe('an intent of a dead session', () => {
  const YOUNG = '00000000-0000-4000-8000-0000000000ff';
  const orphan = async () => {
    const { witness } = await rival.intents.open(SLOT);
    await stand.server.sql.query(
      `UPDATE sessions SET session_deadline = now() - interval '1 s' WHERE session_id = $1`,
      [rival.sessionId],
    );
    return witness;
  };

  it('is resumed by one, even if that one is younger than the other attempt', async () => {
    const witness = await orphan();
    const younger = await stand.begin();
    await younger.query(
      `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
         session_interval_seconds, session_deadline)
       VALUES ($1, 'shepherd', 'host test', 60, now() + interval '60 s')`,
      [YOUNG],
    );
    await younger.query(`UPDATE provision_intents SET session_id = $1`, [YOUNG]);
    const resumed = codeOfRefusal(session.intents.resume(witness));
    await stand.untilBlocked();
    await younger.commit();
    expect(await resumed).toBe('work-conflict');
    const { rows } = await stand.server.sql.query(`SELECT session_id FROM provision_intents`);
    expect(rows).toEqual([{ session_id: YOUNG }]);
  });

  it('that another takes over is not changed by a step that was waiting', async () => {
    const { witness } = await session.intents.open(SLOT);
    const taking = await stand.begin();
    await taking.query(`UPDATE provision_intents SET session_id = $1`, [rival.sessionId]);
    const steps = [
      session.intents.progress(witness, { attempts: 1 }),
      session.intents.adopt(witness, providedOf('1')),
      session.intents.end(witness, { state: 'failed', cause: 'test', penaltyMs: 1_000 }),
    ].map(codeOfRefusal);
    await stand.untilBlocked(3);
    await taking.commit();
    expect(await Promise.all(steps)).toEqual(Array(3).fill('work-conflict'));
    const { rows } = await stand.server.sql.query(
      `SELECT state, attempts::int FROM provision_intents`,
    );
    expect(rows).toEqual([{ state: 'open', attempts: 0 }]);
    expect((await stand.server.sql.query('SELECT 1 FROM provider_holds')).rowCount).toBe(0);
  });
});

it('what is provided is changed one after the other', async () => {
  const id = await stand.add({ provided: providedOf('1') });
  const other = await stand.begin();
  await other.query(`UPDATE machine_provided SET provider_location = 'la'`);
  const changes = [
    session.updateProvided(id, { address: null }),
    rival.updateProvided(id, { status: 'Stopped' }),
  ];
  await stand.untilBlocked(2);
  await other.commit();
  await Promise.all(changes);
  const { rows } = await stand.server.sql.query(
    `SELECT provider_ip_address, provider_location, provider_status FROM machine_provided`,
  );
  expect(rows).toEqual([
    { provider_ip_address: null, provider_location: 'la', provider_status: 'Stopped' },
  ]);
});
