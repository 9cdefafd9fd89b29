import { expect, it, onTestFinished, test } from 'vitest';
import { createIntake } from '../../../../src/adapters/agents/heartbeat-service.ts';
import { defaultLimits } from '../../../../src/adapters/agents/limits.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { Locked } from '../../../../src/domain/errors.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import { beatOn, beatStand, recordOf } from './beat-stand.ts';
import { SOON_MS } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const stand = beatStand(SOON_MS);
const addMany = (count: number): Promise<MachineId[]> =>
  Promise.all(Array.from({ length: count }, () => stand.add()));
const send = (records: readonly HeartbeatRecord[]) =>
  stand.bmdb.heartbeats.recordHeartbeats(records);
const REFUSED = {
  kind: 'unavailable',
  error: { retryable: true, message: expect.stringMatching(/could not record.*machine .*locked/) },
};

/** Somebody's transaction that is forgotten; the machine's row in this table is locked by it. */
async function hold(table: string, id: MachineId) {
  const holder = await stand.begin();
  const { rowCount } = await holder.query(
    `SELECT 1 FROM ${table} WHERE machine_id = $1 FOR UPDATE`,
    [id],
  );
  expect(rowCount, 'a row to hold').toBe(1);
  return holder;
}

const REPORT = { generation: 1n, result: 'Success', raw: KEY } as const;
interface Case {
  readonly name: string;
  readonly table: string;
  readonly heard?: boolean;
  readonly report?: Partial<HeartbeatRecord>;
}
const CASES: readonly Case[] = [
  { name: 'the heartbeat', table: 'machine_agent_heartbeat' },
  {
    name: 'the heartbeat, of a new boot',
    table: 'machine_agent_heartbeat',
    report: { bootId: 'b' },
  },
  { name: 'the start, not heard yet', table: 'machine_agent_started', heard: false },
  {
    name: 'the hardware report',
    table: 'machine_hardware_report',
    report: { hardwareReport: new Uint8Array([1, 2]) },
  },
  { name: 'a new request', table: 'machine_os_installation_request' },
  {
    name: 'the request that is reported on',
    table: 'machine_os_installation_request',
    report: { installationReport: REPORT },
  },
  {
    name: 'the installation report',
    table: 'machine_os_installation_report',
    report: { installationReport: REPORT },
  },
];

test.each(CASES)('a lock on $name refuses its own machine alone, and soon', async (each) => {
  const { table, heard = true, report = {} } = each;
  const ids = await addMany(50);
  if (heard) await send(ids.map((id) => recordOf(id, { hardwareReport: KEY })));
  const { sql } = stand.server;
  if (table.startsWith('machine_os')) {
    await sql.query(
      `INSERT INTO machine_os_installation_request
       SELECT machine_id, 1, '\\x01' FROM machine_agent_started`,
    );
  }
  if (table.endsWith('installation_report')) {
    await sql.query(
      `INSERT INTO machine_os_installation_report
       SELECT machine_id, 1, 'Error', '\\x01' FROM machine_agent_started`,
    );
  }
  const holder = await hold(table, ids[20]!);
  const records = ids.map((id) => recordOf(id, report));

  // A statement that waited for all of its time would fail the whole batch.
  const outcomes = await send(records);
  expect(outcomes[20]).toMatchObject(REFUSED);
  expect(outcomes.filter(({ kind }) => kind === 'accepted')).toHaveLength(49);

  await holder.rollback();
  expect(await beatOn(stand.bmdb, records[20]!)).toMatchObject({ kind: 'accepted' });
});

it('a machine that was refused is not waited for again, until it was accepted', async () => {
  const [id, other] = await addMany(2);
  const records = [recordOf(id!), recordOf(other!)];
  await send(records);
  const transactionsOf = async () => {
    stand.transactions.length = 0;
    const outcomes = await send(records);
    return { kinds: outcomes.map(({ kind }) => kind), transactions: [...stand.transactions] };
  };
  const holder = await hold('machine_agent_heartbeat', id!);
  const waited = ['executed', 'executed', 'executed', 'failed', 'executed'];
  const kinds = ['unavailable', 'accepted'];
  expect(await transactionsOf()).toEqual({ kinds, transactions: waited });
  expect(await transactionsOf()).toEqual({ kinds, transactions: ['executed', 'executed'] });
  await holder.rollback();
  expect((await transactionsOf()).kinds).toEqual(['accepted', 'accepted']);
  await hold('machine_agent_heartbeat', id!);
  expect(await transactionsOf()).toEqual({ kinds, transactions: waited });
});

it('of several that are held, those that are let go in time are accepted', async () => {
  const ids = await addMany(10);
  await send(ids.map((id) => recordOf(id)));
  const [short, long] = [ids[3]!, ids[7]!].sort();
  const holders = [
    await hold('machine_agent_heartbeat', short!),
    await hold('machine_agent_started', long!),
    await hold('machine_agent_heartbeat', long!),
  ];
  // Waits so long that a busy machine lets go in time, too.
  const patient = openPgBmdb({ url: stand.server.url, lockTimeoutMs: 5_000 });
  onTestFinished(() => patient.close());
  const sent = patient.heartbeats.recordHeartbeats(ids.map((id) => recordOf(id)));
  await stand.untilBlocked();
  await holders[0]!.rollback();
  const outcomes = await sent;
  const refused = ids.filter((_, at) => outcomes[at]!.kind !== 'accepted');
  expect(refused).toEqual([long]);
});

it('a start that is being replaced for long is not taken for unknown', async () => {
  const id = await stand.add();
  await beatOn(stand.bmdb, recordOf(id));
  const finish = await stand.begin();
  await finish.query(`UPDATE machine_agent_started SET agent_public_key = $1`, [
    Buffer.alloc(32, 9),
  ]);
  await finish.query(`DELETE FROM machine_agent_heartbeat`);
  expect(await beatOn(stand.bmdb, recordOf(id))).toMatchObject(REFUSED);
  await finish.commit();
  expect(await beatOn(stand.bmdb, recordOf(id))).toEqual({ kind: 'unauthenticated' });
});

it('strangers learn nothing from it', async () => {
  const id = await stand.add();
  await hold('machine_agent_started', id);
  const stranger = recordOf(id, { publicKey: new Uint8Array(32) });
  expect(await beatOn(stand.bmdb, stranger)).toEqual({ kind: 'unauthenticated' });
});

it('the intake fails the call of that agent alone', async () => {
  const ids = await addMany(5);
  await send(ids.map((id) => recordOf(id)));
  await hold('machine_agent_heartbeat', ids[2]!);
  const intake = createIntake({
    record: (batch) => stand.bmdb.heartbeats.recordHeartbeats(batch),
    clock: systemClock,
    batch: { gapMs: 1_000, enough: ids.length, max: ids.length },
    limits: defaultLimits,
  });
  const answers = await Promise.allSettled(ids.map((id) => intake.record(recordOf(id))));
  await intake.close();
  expect(answers.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  ]);
  expect(answers[2]).toMatchObject({ reason: expect.any(Locked) });
});
