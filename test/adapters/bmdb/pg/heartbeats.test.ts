import { describe, expect, it, test } from 'vitest';
import { statements as reports } from '../../../../src/adapters/bmdb/pg/heartbeats/agent-reports.ts';
import { statements as beats } from '../../../../src/adapters/bmdb/pg/heartbeats/beats.ts';
import { statements as locks } from '../../../../src/adapters/bmdb/pg/heartbeats/report-locks.ts';
import { statements as episodes } from '../../../../src/adapters/bmdb/pg/heartbeats/episodes.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { KEY, ladderOn, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { beatStand, recordOf } from './beat-stand.ts';
import { openPgDatabase, startOwnPgServer } from './pg-harness.ts';
import { complaintsAboutPlan, genericPlan, outlineOf } from './query-plans.ts';

// A separate server: a transaction in any database keeps old row versions, and so their pages.
const s = beatStand(undefined, startOwnPgServer);
/** The outcomes in order. */
const kindsOf = async (sent: ReturnType<typeof s.send>) => (await sent).map(({ kind }) => kind);

describe('a heartbeat in PostgreSQL', () => {
  it('never goes back in time', async () => {
    const id = await s.add();
    await s.beat(id);
    await s.sql(
      `UPDATE machine_agent_heartbeat SET agent_heartbeat_at = now() + interval '1 hour'`,
    );
    const before = (await s.stored(id))!.at;
    const outcome = await s.beat(id);
    expect((await s.stored(id))!.at).toBe(before);
    expect(outcome).toMatchObject({ kind: 'accepted', atMs: Math.floor(before) });
  });

  it('is never older than its agent’s start', async () => {
    const id = await s.add(startedAt(Date.now() + MINUTE));
    const { atMs } = (await s.row(id)).agentStarted!;
    for (let time = 0; time < 2; time++) expect(await s.beat(id)).toMatchObject({ atMs });
  });

  it('keeps the last boot id while none is given', async () => {
    const id = await s.add();
    const told = async (bootId: string | null) => {
      expect((await s.beat(id, { bootId })).kind).toBe('accepted');
      return (await s.stored(id))!.boot_id;
    };
    const heard = [];
    for (const bootId of [null, 'a', 'a', null, 'b, c', null, 'a']) heard.push(await told(bootId));
    expect(heard).toEqual([null, 'a', 'a', 'a', 'b, c', 'b, c', 'a']);
    expect((await s.stored(id))!.count).toBe(7);
  });

  it('counts once per appearance in a batch', async () => {
    const id = await s.add();
    const other = await s.add();
    const records = [recordOf(id), recordOf(other), recordOf(id), recordOf(id)];
    expect(await kindsOf(s.send([...records, records[0]!]))).toEqual(Array(5).fill('accepted'));
    expect((await s.stored(id))!.count).toBe(3);
    expect((await s.stored(other))!.count).toBe(1);
  });

  it('is found by its key among any number of wrong ones', async () => {
    const [id, known] = [await s.add(), await s.add()];
    await s.beat(known);
    const forged = (machine: MachineId, from: number) =>
      Array.from({ length: 50 }, (_, at) =>
        recordOf(machine, { publicKey: new Uint8Array(32).fill(from + at) }),
      );
    s.transactions.length = 0;
    const around = (machine: MachineId) => [
      ...forged(machine, 100),
      recordOf(machine),
      ...forged(machine, 150),
    ];
    const outcomes = await s.send([...around(id), ...around(known)]);
    const accepted = outcomes.flatMap(({ kind }, at) => (kind === 'accepted' ? [at] : []));
    expect(accepted).toEqual([50, 151]);
    expect((await s.stored(known))!.count).toBe(2);
    expect(s.transactions, 'no round for each').toEqual(['executed', 'executed']);
  });

  it('costs one statement and leaves no trace for readers', async () => {
    const ids = await s.addMany(20);
    const records = ids.map((id) => recordOf(id, { bootId: 'boot' }));
    await s.send(records);
    await s.sql('TRUNCATE machine_changes');
    s.transactions.length = 0;
    await s.send(records);
    expect(s.transactions).toEqual(['executed']);
    expect(await s.count('machine_changes')).toBe(0);
  });

  it('is written on its machine’s page, so that no index is touched', async () => {
    const records = (await s.addMany(150)).map((id) => recordOf(id, { bootId: 'b'.repeat(36) }));
    const pages = () =>
      s.sql<{ page: number }>(
        `SELECT machine_id, (ctid::text::point)[0] AS page FROM machine_agent_heartbeat ORDER BY 1`,
      );
    await s.send(records);
    const before = await pages();
    expect(new Set(before.map(({ page }) => page)).size).toBeGreaterThan(1);
    for (let time = 0; time < 3; time++) await s.send(records);
    expect(await pages()).toEqual(before);
  });
});

describe('values that cannot be stored', () => {
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

  test.each(SPOILT)('drop %s only and spoil no other item', async (_, spoilt, why) => {
    const [id, stranger, ...others] = await s.addMany(12);
    const report = { hardwareReport: KEY };
    const outcomes = await s.send([
      ...others.map((each) => recordOf(each, report)),
      ...[recordOf(id!, spoilt), recordOf(stranger!, { ...spoilt, ...wrong })],
    ]);
    expect(outcomes.slice(0, 10).map(({ kind }) => kind)).toEqual(Array(10).fill('accepted'));
    expect(outcomes[10]).toEqual({ kind: 'invalid', message: expect.stringMatching(why) });
    expect(outcomes[11]).toEqual({ kind: 'unauthenticated' });
    expect(await s.stored(id!)).toMatchObject({ count: 1, boot_id: null });
    expect(await s.count('machine_hardware_report')).toBe(10);
  });

  it('refuse unknown names and keys like others', async () => {
    const [id, other] = await s.addMany(2);
    const strange: HeartbeatRecord[] = [
      recordOf(machineId('no uuid')),
      recordOf(machineId("'; DROP TABLE machines")),
      recordOf(id!, { publicKey: new Uint8Array(0) }),
      recordOf(id!, { publicKey: new Uint8Array(1_000_000) }),
    ];
    expect(await kindsOf(s.send([...strange, recordOf(id!), recordOf(other!)]))).toEqual([
      ...Array(4).fill('unauthenticated'),
      ...['accepted', 'accepted'],
    ]);
  });

  it('reject a report whose generation no number can hold', async () => {
    const [id, other] = await s.addMany(2);
    await s.sql(`INSERT INTO machine_os_installation_request VALUES ($1, 3, '\\x03')`, [id]);
    const report = (generation: bigint) => ({
      installationReport: { generation, result: 'Success' as const, raw: KEY },
    });
    expect(
      await kindsOf(
        s.send([
          recordOf(id!, report(2n ** 70n)),
          recordOf(id!, report(-(2n ** 70n))),
          recordOf(other!, report(2n ** 70n)),
        ]),
      ),
    ).toEqual(['invalid', 'accepted', 'accepted']);
    expect(await s.count('machine_os_installation_report')).toBe(0);
  });

  it('count the end of an installation once, however often reported', async () => {
    const [id, other] = await s.addMany(2);
    await s.sql(
      `INSERT INTO machine_os_installation_request SELECT unnest($1::uuid[]), 3, '\\x03'`,
      [[id, other]],
    );
    const report = (result: 'Success' | 'Error', generation = 3n) => ({
      installationReport: { generation, result, raw: KEY },
    });
    const first = [recordOf(id!, report('Error')), recordOf(other!, report('Success', 2n))];
    await s.send(first);
    await s.send(first);
    await s.send([recordOf(id!, report('Success')), recordOf(other!, report('Success', 9n))]);
    await s.send([recordOf(id!, report('Error'))]);
    expect(s.installations).toEqual(['Error', 'Success']);
  });

  it('accept many large reports at once', async () => {
    const ids = await s.addMany(20);
    const large = (id: MachineId): HeartbeatRecord =>
      recordOf(id, { hardwareReport: new Uint8Array(1024 * 1024).fill(id.charCodeAt(0)) });
    expect(await kindsOf(s.send(ids.map(large)))).toEqual(Array(20).fill('accepted'));
    const stored = `machine_hardware_report WHERE length(hardware_report_raw) = 1048576
      AND get_byte(hardware_report_raw, 5) = ascii(machine_id::text)`;
    expect(await s.count(stored)).toBe(20);
  });
});

describe('heartbeats of a recovering machine', () => {
  const addRecovering = async () => {
    const started = startedAt(Date.now() - MINUTE);
    const id = await s.add({ ...started, permit: true, recovery: ladderOn('rebooting') });
    for (let time = 0; time < 2; time++) await s.beat(id);
    expect(await left()).toEqual([1, 1]);
    await s.sql(`UPDATE machine_agent_heartbeat SET unbroken_since = now() - interval '31 min'`);
    return id;
  };
  /** Permits, and machines that the ladder remembers. */
  const left = () => Promise.all([s.count('recovery_permits'), s.count('machine_recovery')]);

  it('end the episode', async () => {
    const id = await addRecovering();
    await s.beat(id);
    expect(await left()).toEqual([0, 0]);
    s.transactions.length = 0;
    await s.beat(id);
    expect(s.transactions, 'there is nothing more to do').toEqual(['executed']);
  });

  it('end nothing during work, and end it when that session is dead', async () => {
    const id = await addRecovering();
    const work = await s.rival.claim('UnitTest1', id);
    await s.beat(id);
    expect(await left()).toEqual([1, 1]);
    await s.expire(s.rival);
    await s.beat(id);
    expect(await left()).toEqual([0, 0]);
    await work.cancel();
  });

  it('wait for no holder of the permit or the ladder', async () => {
    const id = await addRecovering();
    const lock = 'SELECT 1 FROM recovery_permits, machine_recovery FOR UPDATE';
    await s.holding(lock, async () => expect((await s.beat(id)).kind).toBe('accepted'));
    expect(await left()).toEqual([1, 1]);
    await s.beat(id);
    expect(await left()).toEqual([0, 0]);
  });

  it('see work that was claimed after they locked the permit', async () => {
    const id = await addRecovering();
    const heartbeat = await s.begin();
    await heartbeat.run(episodes.lockPermits, { machines: [id] });
    const work = await s.rival.claim('UnitTest1', id);
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
  /** Ends at the first row that it finds. */
  const ASKS_FOR_ANY = /\(SELECT EXISTS \(SELECT 1 FROM \w+\)\) AND/g;

  test.each(Object.entries(all))('uses keys for %s', async (_, { text }) => {
    await s.sql('VACUUM ANALYZE');
    const db = openPgDatabase({ url: s.server.url, byKeys: true });
    try {
      const plan = await genericPlan(db, text.replaceAll(ASKS_FOR_ANY, ''));
      const complaints = complaintsAboutPlan(plan, { sizes, readMax: 10, sortMax: 1_000 });
      expect(complaints, outlineOf(plan)).toEqual([]);
    } finally {
      await db.close();
    }
  });
});
