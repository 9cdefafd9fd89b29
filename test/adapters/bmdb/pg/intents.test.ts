import { beforeEach, describe, expect, it } from 'vitest';
import type { BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import { beatStand } from './beat-stand.ts';
import type { Transaction } from './beat-stand.ts';

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
const unsettled = async () => {
  const { rows } = await stand.server.sql.query<{ witness: string }>(
    `SELECT witness FROM provision_intents WHERE state IN ('open', 'unresolved')`,
  );
  return rows.map(({ witness }) => witness);
};

describe('a slot that is asked for while its intent ends', () => {
  const ending = async (end: (t: Transaction, intent: IntentRow) => Promise<void>) => {
    const intent = await rival.intents.open(SLOT);
    const transaction = await stand.begin();
    await end(transaction, intent);
    const opened = codeOfRefusal(session.intents.open(SLOT));
    await stand.untilBlocked();
    await transaction.commit();
    return opened;
  };

  it('with a machine is not used twice', async () => {
    const code = await ending(async (adopting, { witness, machineId }) => {
      await adopting.query(`INSERT INTO machines (machine_id) VALUES ($1)`, [machineId]);
      await adopting.query(
        `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_reservation_id)
         VALUES ($1, $2, 'device-1', $3)`,
        [machineId, SLOT.provider, SLOT.slotId],
      );
      await adopting.query(`UPDATE provision_intents SET state = 'adopted' WHERE witness = $1`, [
        witness,
      ]);
    });
    expect(code).toBe('work-conflict');
    expect(await unsettled()).toEqual([]);
  });

  it('with a penalty stays on the shelf', async () => {
    const code = await ending(async (failing, { witness }) => {
      await failing.query(`UPDATE provision_intents SET state = 'failed' WHERE witness = $1`, [
        witness,
      ]);
      await failing.query(
        `INSERT INTO provider_holds (provider, kind, key, until, cause)
         VALUES ($1, 'penalty', $2, now() + interval '1 hour', 'no disk')`,
        [SLOT.provider, SLOT.slotId],
      );
    });
    expect(code).toBe('nothing-to-do');
    expect(await unsettled()).toEqual([]);
  });

  it('with nothing can be used again', async () => {
    const intent = await rival.intents.open(SLOT);
    const transaction = await stand.begin();
    await transaction.query(`UPDATE provision_intents SET state = 'abandoned'`);
    const opened = session.intents.open(SLOT);
    await stand.untilBlocked();
    await transaction.commit();
    expect((await opened).witness).not.toBe(intent.witness);
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
