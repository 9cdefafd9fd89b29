import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Bmdb, InspectedMachine } from '../../../../src/adapters/bmdb/port.ts';
import { latestMigration } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import {
  hardwareReportCodec,
  installationReportCodec,
  installationRequestCodec,
} from '../../../../src/wire/codec.ts';
import type { BmdbHarness } from '../../../contracts/bmdb.ts';
import { machineRow } from '../../../contracts/bmdb-rows.ts';
import { openTwoBmdbs, pgHarness, startTimedPgServer } from './pg-harness.ts';
import type { TimedPgServer, TwoBmdbs } from './pg-harness.ts';

let server: TimedPgServer;
let two: TwoBmdbs;
let harness: BmdbHarness;
let bmdb: Bmdb;
let now: number;
beforeAll(async () => {
  server = await startTimedPgServer();
  two = openTwoBmdbs(server);
});
afterAll(async () => {
  await two.close();
  await server.stop();
});
beforeEach(async () => {
  harness = await pgHarness(server, two);
  now = harness.nowMs();
  bmdb = harness.bmdb;
});

const never = new AbortController().signal;

/** Inserts a machine; the id sorts by the number. */
async function insert(change: Partial<MachineRow> = {}, request?: Uint8Array): Promise<MachineRow> {
  const row = machineRow(now, change);
  await harness.insert(row, request);
  return row;
}
const inspectOne = async (id: string, expiredBackoffs = false): Promise<InspectedMachine> => {
  const query = { machineId: machineId(id), expiredBackoffs };
  const { machines } = await bmdb.inspection.machines(query, never);
  expect(machines).toHaveLength(1);
  return machines[0]!;
};
const valuesOf = (machine: InspectedMachine, tag: string) =>
  Object.fromEntries((machine.tags[tag] ?? []).map(({ name, value }) => [name, value]));
const set = (sql: string, ...values: unknown[]) => server.sql.query(sql, values);

describe('schema', () => {
  it('names the tags and their columns as the database has them', async () => {
    const { version, tagTypes } = await bmdb.inspection.schema(never);
    expect(version).toBe(await latestMigration());
    expect(tagTypes.map((type) => [type.table, type.name])).toEqual([
      ['machine_agent_heartbeat', 'AgentHeartbeat'],
      ['machine_agent_start_attempt', 'AgentStartAttempt'],
      ['machine_agent_started', 'AgentStarted'],
      ['machine_boot_times', 'BootTimes'],
      ['machine_deprovision_request', 'DeprovisionRequest'],
      ['machine_hardware_report', 'HardwareReport'],
      ['machine_os_installation_report', 'OSInstallationReport'],
      ['machine_os_installation_request', 'OSInstallationRequest'],
      ['machine_provided', 'Provided'],
      ['machine_quarantined', 'Quarantined'],
      ['machine_recovery', 'Recovery'],
      ['machine_ssh_host_key', 'SshHostKey'],
    ]);
    expect(tagTypes.find((type) => type.name === 'OSInstallationReport')?.columns).toEqual([
      { name: 'generation', type: 'int8' },
      { name: 'os_installation_result', type: 'machine_os_installation_result' },
      { name: 'os_installation_report_raw', type: 'bytea' },
    ]);
  });

  it('says that the migrations are not what they should be', async () => {
    await set(`UPDATE schema_migrations SET name = name || '-x' WHERE id = (
      SELECT min(id) FROM schema_migrations)`);
    const { version } = await bmdb.inspection.schema(never);
    await set(`UPDATE schema_migrations SET name = replace(name, '-x', '')`);
    expect(version).toBe(`${await latestMigration()} DIRTY!!!`);
  });

  it('knows tags of a newer schema, and takes no other table for one', async () => {
    await set(`CREATE TABLE machine_os_kernels (
      machine_id uuid PRIMARY KEY REFERENCES machines, "Odd ""name" smallint, big numeric,
      flag boolean, kinds process[], words text[], api_token text, at timestamptz, body bytea)`);
    await set(`CREATE TABLE machine_os_log (machine_id uuid, line text)`);
    try {
      const { machineId: id } = await insert();
      const odd = `INSERT INTO machine_os_kernels VALUES ($1, 7, 12345678901234567890.5, true,
        '{UnitTest1}', '{a,b}', 'hush', 'infinity', '\\x00ff')`;
      await set(odd, id);
      await set(`GRANT SELECT ON machine_os_kernels, machine_os_log TO PUBLIC`);
      const { tagTypes } = await bmdb.inspection.schema(never);
      const names = tagTypes.map((type) => type.name);
      expect(names).toContain('OSKernels');
      expect(names).not.toContain('OSLog');
      expect(valuesOf(await inspectOne(id), 'OSKernels')).toEqual({
        'Odd "name': '7',
        big: '12345678901234567890.5',
        flag: 'true',
        kinds: '{UnitTest1}',
        words: '{a,b}',
        api_token: '<redacted>',
        at: 'Infinity',
        body: '00ff',
      });
    } finally {
      await set(`DROP TABLE machine_os_kernels, machine_os_log`);
    }
  });
});

describe('machines', () => {
  it('reads the report of an installation as text', async () => {
    const { machineId: id } = await insert({
      installation: {
        requestGeneration: 5n,
        handedOutAtMs: null,
        reportGeneration: 5n,
        reportResult: 'Error',
      },
    });
    const raw = installationReportCodec.encode({ generation: 5n, error: { error: 'no disk' } });
    await set('UPDATE machine_os_installation_report SET os_installation_report_raw = $1', raw);
    expect(valuesOf(await inspectOne(id), 'OSInstallationReport')).toMatchObject({
      os_installation_report_raw: 'generation: 5\nerror {\n  error: "no disk"\n}',
    });
  });

  it('reads messages as text, and lets a field be picked', async () => {
    const { machineId: id } = await insert();
    const report = { report: { cpu: [{ cores: 8, vendor: 'ACME' }] }, warning: ['hot'] };
    const insertReport = `INSERT INTO machine_hardware_report VALUES ($1, $2)`;
    await set(insertReport, id, hardwareReportCodec.encode(report));
    const [field] = (await inspectOne(id)).tags['HardwareReport']!;
    expect(field!.value).toBe(
      'report {\n  cpu {\n    cores: 8\n    vendor: "ACME"\n  }\n}\nwarning: "hot"',
    );
    expect(field!.message).toMatchObject({ report: { cpu: [{ cores: 8 }] } });
  });

  it('leaves the secrets of a request out, and everything of one that cannot be read', async () => {
    const installation = { requestGeneration: 1n, handedOutAtMs: null } as const;
    const none = { reportGeneration: null, reportResult: null };
    const request = installationRequestCodec.encode({
      generation: 1n,
      genericImage: {
        imageUrl: 'https://ann:hush@images.example/a.img?signature=hush',
        cloudInit: Buffer.from('password: hush'),
        rootDevice: { name: 'vda' },
      },
    });
    const good = await insert({ installation: { ...installation, ...none } }, request);
    const bad = await insert(
      { installation: { ...installation, ...none } },
      Buffer.concat([request.subarray(0, -1), Buffer.from('hush')]),
    );
    const { machines } = await bmdb.inspection.machines({}, never);
    const text = (id: string) =>
      machines.find((each) => each.machineId === id)!.tags['OSInstallationRequest']![1]!.value;
    expect(text(good.machineId)).toBe(
      'generation: 1\ngeneric_image {\n' +
        '  image_url: "https://images.example/a.img?<redacted>"\n' +
        '  root_device {\n    name: "vda"\n  }\n}\n# generic_image.cloud_init: <redacted>',
    );
    expect(text(bad.machineId)).toMatch(/^<unreadable> \(\d+ bytes\)$/);
    const all = JSON.stringify(machines);
    expect(all).not.toContain('hush');
    expect(all).not.toContain(Buffer.from('hush').toString('hex'));
    expect(all).not.toContain(Buffer.from('hush').toString('base64').slice(0, 5));
  });

  it('pages by machine id, each once, and multiplies nothing', async () => {
    await set(`INSERT INTO machines (machine_id)
      SELECT gen_random_uuid() FROM generate_series(1, 450)`);
    await set(`INSERT INTO work_backoff (machine_id, process, until, cause)
      SELECT machine_id, p, now() + interval '1 h', 'x' FROM machines,
        unnest('{UnitTest1,UnitTest2,ShepherdRecovery}'::process[]) p`);
    const seen: InspectedMachine[] = [];
    const sizes: number[] = [];
    let after: InspectedMachine['machineId'] | null = null;
    do {
      const query = { limit: 9_999, ...(after ? { after } : {}) };
      const page = await bmdb.inspection.machines(query, never);
      seen.push(...page.machines);
      sizes.push(page.machines.length);
      after = page.next;
    } while (after);
    expect(sizes).toEqual([200, 200, 50]);
    const { rows } = await set(`SELECT machine_id FROM machines ORDER BY machine_id`);
    expect(seen.map((each) => each.machineId)).toEqual(rows.map((row) => row.machine_id));
    expect(seen.every((each) => Object.keys(each.backoffs).length === 3)).toBe(true);
  });

  it('tells the statements it ran, which can be run again', async () => {
    const { machineId: id } = await insert();
    const { sql } = await bmdb.inspection.machines({ machineId: id }, never);
    const { tagTypes } = await bmdb.inspection.schema(never);
    // The machine, the tags and their columns, its backoffs and its work.
    expect(sql.length).toBe(1 + 1 + tagTypes.length + 2);
    const counts = [];
    for (const text of sql) counts.push((await set(text)).rows.length);
    // The machine, the columns of all tags, and the one tag it has.
    expect(counts.filter((count) => count === 1)).toHaveLength(2);
    expect(sql.join('\n')).toContain(`'${id}'::uuid`);
    expect(sql.join('\n')).not.toMatch(/\$\d/);
  });
});

describe('hardware', () => {
  it('comes at most 100 machines at a time, each once', async () => {
    await set(`WITH m AS (INSERT INTO machines SELECT FROM generate_series(1, 230)
        RETURNING machine_id),
      p AS (INSERT INTO machine_provided (machine_id, provider, provider_id)
        SELECT machine_id, 'metal', machine_id::text FROM m)
      INSERT INTO machine_hardware_report SELECT machine_id, '' FROM m`);
    const seen: string[] = [];
    const sizes: number[] = [];
    let after: InspectedMachine['machineId'] | null = null;
    do {
      const query = { limit: 9_999, ...(after ? { after } : {}) };
      const page = await bmdb.inspection.hardware(query, never);
      seen.push(...page.machines.map((each) => each.machineId));
      sizes.push(page.machines.length);
      after = page.next;
    } while (after);
    expect(sizes).toEqual([100, 100, 30]);
    const { rows } = await set(`SELECT machine_id FROM machines ORDER BY machine_id`);
    expect(seen).toEqual(rows.map((row) => row.machine_id));
    expect((await bmdb.inspection.hardware({}, never)).machines).toHaveLength(100);
  });

  it('shows the bytes of no report that cannot be read', async () => {
    const { machineId: id } = await insert();
    await set(`INSERT INTO machine_hardware_report VALUES ($1, '\\xff')`, id);
    const { machines } = await bmdb.inspection.hardware({}, never);
    expect(machines.map((each) => each.report.value)).toEqual(['<unreadable> (1 bytes)']);
  });
});
