import { describe, expect, it, test } from 'vitest';
import { statements as reports } from '../../../../src/adapters/bmdb/pg/heartbeats/agent-reports.ts';
import { statements as beats } from '../../../../src/adapters/bmdb/pg/heartbeats/beats.ts';
import { statements as locks } from '../../../../src/adapters/bmdb/pg/heartbeats/report-locks.ts';
import { statements as episodes } from '../../../../src/adapters/bmdb/pg/heartbeats/episodes.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { KEY, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { beatOn, beatStand, recordOf } from './beat-stand.ts';
import { openPgDatabase, startOwnPgServer } from './pg-harness.ts';
import { complaintsAboutPlan, genericPlan, outlineOf } from './query-plans.ts';

// A server of its own: a transaction in any database keeps old versions of rows, and so their pages.
const stand = beatStand(undefined, startOwnPgServer);
const sql = (text: string, values: unknown[] = []) => stand.server.sql.query(text, values);
const countOf = async (table: string): Promise<number> =>
  (await sql(`SELECT 1 FROM ${table}`)).rowCount ?? 0;
const send = (records: readonly HeartbeatRecord[]) =>
  stand.bmdb.heartbeats.recordHeartbeats(records);
const addMany = (count: number): Promise<MachineId[]> =>
  Promise.all(Array.from({ length: count }, () => stand.add()));

describe('a heartbeat', () => {
  it('never goes back in time', async () => {
    const id = await stand.add();
    await beatOn(stand.bmdb, recordOf(id));
    await sql(`UPDATE machine_agent_heartbeat SET agent_heartbeat_at = now() + interval '1 hour'`);
    const before = (await stand.stored(id))!.at;
    const outcome = await beatOn(stand.bmdb, recordOf(id));
    expect((await stand.stored(id))!.at).toBe(before);
    expect(outcome).toMatchObject({ kind: 'accepted', atMs: Math.floor(before) });
  });

  it('is not from before the start that it belongs to', async () => {
    const id = await stand.add(startedAt(Date.now() + MINUTE));
    const { rows } = await sql(
      `SELECT floor(extract(epoch FROM agent_started_at) * 1000)::float8 AS at
       FROM machine_agent_started`,
    );
    for (let time = 0; time < 2; time++) {
      expect(await beatOn(stand.bmdb, recordOf(id))).toMatchObject({ atMs: rows[0].at });
    }
  });

  it('tells the boot id, which stays while none is told', async () => {
    const id = await stand.add();
    const told = async (bootId: string | null) => {
      expect((await beatOn(stand.bmdb, recordOf(id, { bootId }))).kind).toBe('accepted');
      return (await stand.stored(id))!.boot_id;
    };
    const heard = [];
    for (const bootId of [null, 'a', 'a', null, 'b, c', null, 'a']) heard.push(await told(bootId));
    expect(heard).toEqual([null, 'a', 'a', 'a', 'b, c', 'b, c', 'a']);
    expect((await stand.stored(id))!.count).toBe(7);
  });

  it('counts as one each time it is in a batch', async () => {
    const id = await stand.add();
    const other = await stand.add();
    const records = [recordOf(id), recordOf(other), recordOf(id), recordOf(id)];
    const outcomes = await send([...records, records[0]!]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('accepted'));
    expect((await stand.stored(id))!.count).toBe(3);
    expect((await stand.stored(other))!.count).toBe(1);
  });

  it('of the right key is found among any number of wrong ones', async () => {
    const [id, known] = [await stand.add(), await stand.add()];
    await beatOn(stand.bmdb, recordOf(known));
    const forged = (machine: MachineId, from: number) =>
      Array.from({ length: 50 }, (_, at) =>
        recordOf(machine, { publicKey: new Uint8Array(32).fill(from + at) }),
      );
    stand.transactions.length = 0;
    const around = (machine: MachineId) => [
      ...forged(machine, 100),
      recordOf(machine),
      ...forged(machine, 150),
    ];
    const outcomes = await send([...around(id), ...around(known)]);
    const accepted = outcomes.flatMap(({ kind }, at) => (kind === 'accepted' ? [at] : []));
    expect(accepted).toEqual([50, 151]);
    expect((await stand.stored(known))!.count).toBe(2);
    expect(stand.transactions, 'no round for each').toEqual(['executed', 'executed']);
  });

  it('costs one statement, and leaves no trace for others to read', async () => {
    const ids = await addMany(20);
    const records = ids.map((id) => recordOf(id, { bootId: 'boot' }));
    await send(records);
    await sql('TRUNCATE machine_changes');
    stand.transactions.length = 0;
    await send(records);
    expect(stand.transactions).toEqual(['executed']);
    expect(await countOf('machine_changes')).toBe(0);
  });

  it('is written on the page that its machine was on, so that no index is touched', async () => {
    const records = (await addMany(150)).map((id) => recordOf(id, { bootId: 'b'.repeat(36) }));
    const pages = async () => {
      const { rows } = await sql(
        `SELECT machine_id, (ctid::text::point)[0] AS page FROM machine_agent_heartbeat ORDER BY 1`,
      );
      return rows;
    };
    await send(records);
    const before = await pages();
    expect(new Set(before.map(({ page }) => page)).size).toBeGreaterThan(1);
    for (let time = 0; time < 3; time++) await send(records);
    expect(await pages()).toEqual(before);
  });
});

describe('what cannot be stored', () => {
  const huge = new Uint8Array(17 * 1024 * 1024);
  const wrong = { publicKey: new Uint8Array(32) };
  const SPOILT: readonly (readonly [string, Partial<HeartbeatRecord>, RegExp])[] = [
    ['a boot id with a zero byte', { bootId: 'a\0b' }, /boot id/],
    ['a boot id with a line break', { bootId: 'a\nb' }, /boot id/],
    ['a boot id that no encoding has', { bootId: '\ud800' }, /boot id/],
    ['an endless boot id', { bootId: 'b'.repeat(100_000) }, /boot id/],
    ['a huge hardware report', { hardwareReport: huge }, /hardware report/],
    [
      'a huge installation report',
      { installationReport: { generation: 1n, result: 'Success', raw: huge } },
      /installation report/,
    ],
  ];

  test.each(SPOILT)('%s is left out, and spoils nobody else', async (_, spoilt, why) => {
    const [id, stranger, ...others] = await addMany(12);
    const report = { hardwareReport: KEY };
    const outcomes = await send([
      ...others.map((each) => recordOf(each, report)),
      ...[recordOf(id!, spoilt), recordOf(stranger!, { ...spoilt, ...wrong })],
    ]);
    expect(outcomes.slice(0, 10).map(({ kind }) => kind)).toEqual(Array(10).fill('accepted'));
    expect(outcomes[10]).toEqual({ kind: 'invalid', message: expect.stringMatching(why) });
    expect(outcomes[11]).toEqual({ kind: 'unauthenticated' });
    expect(await stand.stored(id!)).toMatchObject({ count: 1, boot_id: null });
    expect(await countOf('machine_hardware_report')).toBe(10);
  });

  it('names and keys that nobody has are refused like any other', async () => {
    const [id, other] = await addMany(2);
    const strange: HeartbeatRecord[] = [
      recordOf(machineId('no uuid')),
      recordOf(machineId("'; DROP TABLE machines")),
      recordOf(id!, { publicKey: new Uint8Array(0) }),
      recordOf(id!, { publicKey: new Uint8Array(1_000_000) }),
    ];
    const outcomes = await send([...strange, recordOf(id!), recordOf(other!)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...Array(4).fill('unauthenticated'),
      ...['accepted', 'accepted'],
    ]);
  });

  it('a report of a generation that no number of the database is, is only wrong', async () => {
    const [id, other] = await addMany(2);
    await sql(`INSERT INTO machine_os_installation_request VALUES ($1, 3, '\\x03')`, [id]);
    const report = (generation: bigint) => ({
      installationReport: { generation, result: 'Success' as const, raw: KEY },
    });
    const outcomes = await send([
      recordOf(id!, report(2n ** 70n)),
      recordOf(id!, report(-(2n ** 70n))),
      recordOf(other!, report(2n ** 70n)),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['invalid', 'accepted', 'accepted']);
    expect(await countOf('machine_os_installation_report')).toBe(0);
  });

  it('an end of an installation is counted once, however often it is told', async () => {
    const [id, other] = await addMany(2);
    await sql(`INSERT INTO machine_os_installation_request SELECT unnest($1::uuid[]), 3, '\\x03'`, [
      [id, other],
    ]);
    const report = (result: 'Success' | 'Error', generation = 3n) => ({
      installationReport: { generation, result, raw: KEY },
    });
    const first = [recordOf(id!, report('Error')), recordOf(other!, report('Success', 2n))];
    await send(first);
    await send(first);
    await send([recordOf(id!, report('Success')), recordOf(other!, report('Success', 9n))]);
    await send([recordOf(id!, report('Error'))]);
    expect(stand.installations).toEqual(['Error', 'Success']);
  });

  it('many large reports at once are stored', async () => {
    const ids = await addMany(20);
    const large = (id: MachineId): HeartbeatRecord =>
      recordOf(id, { hardwareReport: new Uint8Array(1024 * 1024).fill(id.charCodeAt(0)) });
    const outcomes = await send(ids.map(large));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    const { rows } = await sql(
      `SELECT count(*)::int AS count FROM machine_hardware_report
       WHERE length(hardware_report_raw) = 1048576
         AND get_byte(hardware_report_raw, 5) = ascii(machine_id::text)`,
    );
    expect(rows[0].count).toBe(20);
  });
});

describe('heartbeats of a machine that was recovering', () => {
  const addRecovering = async () => {
    const id = await stand.add();
    await sql(`INSERT INTO recovery_permits (machine_id, provider) VALUES ($1, 'metal')`, [id]);
    await sql(`INSERT INTO machine_recovery (machine_id, rung, attempts) VALUES ($1, $2, 1)`, [
      ...[id, 'rebooting'],
    ]);
    for (let time = 0; time < 2; time++) await beatOn(stand.bmdb, recordOf(id));
    expect(await left()).toEqual([1, 1]);
    await sql(`UPDATE machine_agent_heartbeat SET unbroken_since = now() - interval '31 min'`);
    return id;
  };
  /** Permits, and machines that the ladder remembers. */
  const left = () => Promise.all([countOf('recovery_permits'), countOf('machine_recovery')]);

  it('end the episode', async () => {
    const id = await addRecovering();
    await beatOn(stand.bmdb, recordOf(id));
    expect(await left()).toEqual([0, 0]);
    stand.transactions.length = 0;
    await beatOn(stand.bmdb, recordOf(id));
    expect(stand.transactions, 'there is nothing more to do').toEqual(['executed']);
  });

  it('end nothing while somebody works on it, but do once that session is dead', async () => {
    const id = await addRecovering();
    const work = await stand.rival.claim('UnitTest1', id);
    await beatOn(stand.bmdb, recordOf(id));
    expect(await left()).toEqual([1, 1]);
    await sql(`UPDATE sessions SET session_deadline = now() - interval '1 s'`);
    await beatOn(stand.bmdb, recordOf(id));
    expect(await left()).toEqual([0, 0]);
    await work.cancel();
  });

  it('wait for nobody who holds the permit or the ladder', async () => {
    const id = await addRecovering();
    const holder = await stand.begin();
    await holder.query('SELECT 1 FROM recovery_permits FOR UPDATE');
    await holder.query('SELECT 1 FROM machine_recovery FOR UPDATE');
    expect((await beatOn(stand.bmdb, recordOf(id))).kind).toBe('accepted');
    expect(await left()).toEqual([1, 1]);
    await holder.commit();
    await beatOn(stand.bmdb, recordOf(id));
    expect(await left()).toEqual([0, 0]);
  });

  it('see work that was claimed when they had locked the permit already', async () => {
    const id = await addRecovering();
    const heartbeat = await stand.begin();
    await heartbeat.run(episodes.lockPermits, { machines: [id] });
    const work = await stand.rival.claim('UnitTest1', id);
    await heartbeat.run(episodes.returnPermits, { machines: [id] });
    await heartbeat.commit();
    expect(await left()).toEqual([1, 1]);
    await work.cancel();
  });
});

describe('a plan made while the tables are empty', () => {
  const TABLES = [
    ...['machine_agent_heartbeat', 'machine_agent_started', 'machine_hardware_report'],
    ...['machine_os_installation_request', 'machine_os_installation_report'],
    ...['recovery_permits', 'machine_recovery', 'work'],
  ];
  const sizes = new Map(TABLES.map((table) => [table, 100_000]));
  const all = { ...beats, ...reports, ...locks, ...episodes };
  /** Ends at the first row that it meets. */
  const ASKS_FOR_ANY = /\(SELECT EXISTS \(SELECT 1 FROM \w+\)\) AND/g;

  test.each(Object.entries(all))('looks rows up by their keys: %s', async (_, { text }) => {
    await sql('VACUUM ANALYZE');
    const db = openPgDatabase({ url: stand.server.url, byKeys: true });
    try {
      const plan = await genericPlan(db, text.replaceAll(ASKS_FOR_ANY, ''));
      const complaints = complaintsAboutPlan(plan, { sizes, readMax: 10, sortMax: 1_000 });
      expect(complaints, outlineOf(plan)).toEqual([]);
    } finally {
      await db.close();
    }
  });
});
