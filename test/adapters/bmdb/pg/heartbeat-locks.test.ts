import { expect, it, onTestFinished, test } from 'vitest';
import { createIntake } from '../../../../src/adapters/agents/heartbeat-service.ts';
import { defaultLimits } from '../../../../src/adapters/agents/limits.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { Locked } from '../../../../src/domain/errors.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import { beatStand, recordOf } from './beat-stand.ts';
import { locking, SOON_MS } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const s = beatStand(SOON_MS);
const REFUSED = {
  kind: 'unavailable',
  error: { retryable: true, message: expect.stringMatching(/could not record.*machine .*locked/) },
};

/** A forgotten transaction that locks the machine's row in this table. */
async function hold(table: string, id: MachineId) {
  const holder = await s.begin();
  expect((await holder.query(locking(table, id))).rowCount, 'a row to hold').toBe(1);
  return holder;
}
const REPORT = { generation: 1n, result: 'Success', raw: KEY } as const;
const CASES: readonly (readonly [string, table: string, report: Partial<HeartbeatRecord>])[] = [
  ['the heartbeat', 'machine_agent_heartbeat', {}],
  ['the heartbeat, of a new boot', 'machine_agent_heartbeat', { bootId: 'b' }],
  ['the start, not heard yet', 'machine_agent_started', {}],
  ['the hardware report', 'machine_hardware_report', { hardwareReport: new Uint8Array([1, 2]) }],
  ['a new request', 'machine_os_installation_request', {}],
  ...['machine_os_installation_request', 'machine_os_installation_report'].map(
    (table) => [`${table}, reported on`, table, { installationReport: REPORT }] as const,
  ),
];

test.each(CASES)(
  'refuses only the machine whose %s is locked, and soon',
  async (_, table, report) => {
    const heard = table !== 'machine_agent_started';
    const ids = await s.addMany(50);
    if (heard) await s.send(ids.map((id) => recordOf(id, { hardwareReport: KEY })));
    if (table.startsWith('machine_os')) {
      await s.sql(
        `INSERT INTO machine_os_installation_request
       SELECT machine_id, 1, '\\x01' FROM machine_agent_started`,
      );
    }
    if (table.endsWith('installation_report')) {
      await s.sql(
        `INSERT INTO machine_os_installation_report
       SELECT machine_id, 1, 'Error', '\\x01' FROM machine_agent_started`,
      );
    }
    const holder = await hold(table, ids[20]!);
    const records = ids.map((id) => recordOf(id, report));

    // A statement that waited for its full time would fail the whole batch.
    const outcomes = await s.send(records);
    expect(outcomes[20]).toMatchObject(REFUSED);
    expect(outcomes.filter(({ kind }) => kind === 'accepted')).toHaveLength(49);

    await holder.rollback();
    expect((await s.send([records[20]!]))[0]).toMatchObject({ kind: 'accepted' });
  },
);

it('does not wait again for a refused machine until it was accepted', async () => {
  const [id, other] = await s.addMany(2);
  const records = [recordOf(id!), recordOf(other!)];
  await s.send(records);
  const transactionsOf = async () => {
    s.transactions.length = 0;
    const outcomes = await s.send(records);
    return { kinds: outcomes.map(({ kind }) => kind), transactions: [...s.transactions] };
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

it('accepts those of several locked machines that are released in time', async () => {
  const ids = await s.addMany(10);
  await s.send(ids.map((id) => recordOf(id)));
  const [short, long] = [ids[3]!, ids[7]!].sort();
  const holders = [
    await hold('machine_agent_heartbeat', short!),
    await hold('machine_agent_started', long!),
    await hold('machine_agent_heartbeat', long!),
  ];
  // Waits so long that a busy machine also releases in time.
  const patient = openPgBmdb({ url: s.server.url, lockTimeoutMs: 5_000 });
  onTestFinished(() => patient.close());
  const sent = patient.heartbeats.recordHeartbeats(ids.map((id) => recordOf(id)));
  await s.untilBlocked();
  await holders[0]!.rollback();
  const outcomes = await sent;
  const refused = ids.filter((_, at) => outcomes[at]!.kind !== 'accepted');
  expect(refused).toEqual([long]);
});

it('does not mistake a start that is being replaced for an unknown one', async () => {
  const id = await s.add();
  await s.beat(id);
  const finish = await s.begin();
  await finish.query(`UPDATE machine_agent_started SET agent_public_key = $1`, [
    Buffer.alloc(32, 9),
  ]);
  await finish.query(`DELETE FROM machine_agent_heartbeat`);
  expect(await s.beat(id)).toMatchObject(REFUSED);
  await finish.commit();
  expect(await s.beat(id)).toEqual({ kind: 'unauthenticated' });
});

it('tells strangers nothing about it', async () => {
  const id = await s.add();
  await hold('machine_agent_started', id);
  const stranger = recordOf(id, { publicKey: new Uint8Array(32) });
  expect((await s.send([stranger]))[0]).toEqual({ kind: 'unauthenticated' });
});

it('fails only the call of that agent', async () => {
  const ids = await s.addMany(5);
  await s.send(ids.map((id) => recordOf(id)));
  await hold('machine_agent_heartbeat', ids[2]!);
  const intake = createIntake({
    record: s.send,
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
