import { describe, expect, it } from 'vitest';
import type { InspectedMachine } from '../../../../src/adapters/bmdb/port.ts';
import { latestMigration } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import {
  hardwareReportCodec,
  installationReportCodec,
  installationRequestCodec,
} from '../../../../src/wire/codec.ts';
import {
  KEY,
  KEY_HEX,
  MINUTE,
  PROVIDER,
  providedOf,
  startedAt,
} from '../../../contracts/bmdb-rows.ts';
import { createStage, refusedWith, SIGNAL, UNKNOWN } from '../../../contracts/bmdb-stage.ts';
import { agentTags, installing } from '../../../contracts/bmdb-vectors.ts';
import { pgStand } from './contract-on-pg.ts';

// Columns only for people, which the memory implementation does not keep.
const stand = pgStand();
const s = createStage(stand.make);
const inspection = () => s.h.other.inspection;
const sql = (text: string, ...values: unknown[]) => stand.server.sql.query(text, values);

const inspect = async (machineId: MachineId, expiredBackoffs = false) => {
  const { machines, next } = await inspection().machines({ machineId, expiredBackoffs }, SIGNAL);
  expect([machines.length, next]).toEqual([1, null]);
  return machines[0]!;
};
const valuesOf = ({ tags }: InspectedMachine, tag: string) =>
  Object.fromEntries((tags[tag] ?? []).map(({ name, value }) => [name, value]));

interface InspectionPage {
  readonly machines: readonly { readonly machineId: MachineId }[];
  readonly next: MachineId | null;
}
/** Page sizes, and ids in the order of their appearance. */
async function walk(read: (after: { after?: MachineId }) => Promise<InspectionPage>) {
  const sizes: number[] = [];
  const ids: MachineId[] = [];
  let after: MachineId | null = null;
  do {
    const page: InspectionPage = await read(after ? { after } : {});
    sizes.push(page.machines.length);
    ids.push(...page.machines.map(({ machineId }) => machineId));
    after = page.next;
  } while (after);
  return { sizes, ids };
}
const allIds = async () =>
  (await sql('SELECT machine_id AS id FROM machines ORDER BY 1')).rows.map(({ id }) => id);

const REPORT = hardwareReportCodec.encode({
  report: { cpu: [{ cores: 8, vendor: 'ACME' }] },
  warning: ['hot'],
});
const REPORT_AS_TEXT =
  'report {\n  cpu {\n    cores: 8\n    vendor: "ACME"\n  }\n}\nwarning: "hot"';
const reportHardware = (machineId: MachineId) =>
  s.h.bmdb.heartbeats.recordHeartbeats([
    { machineId, publicKey: KEY, bootId: 'boot-1', hardwareReport: REPORT },
  ]);

describe('the schema view', () => {
  it('names tags and columns as in the database', async () => {
    const { version, tagTypes } = await inspection().schema(SIGNAL);
    expect(version).toBe(await latestMigration());
    expect(tagTypes.map((type) => [type.table, type.name])).toEqual([
      ['machine_acceptances', 'Acceptances'],
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

  it('reports migrations that differ', async () => {
    await sql(`UPDATE schema_migrations SET name = name || '-x' WHERE id = (
      SELECT min(id) FROM schema_migrations)`);
    const { version } = await inspection().schema(SIGNAL);
    await sql(`UPDATE schema_migrations SET name = replace(name, '-x', '')`);
    expect(version).toBe(`${await latestMigration()} DIRTY!!!`);
  });

  it('knows tags of a newer schema and ignores other tables', async () => {
    await sql(`CREATE TABLE machine_os_kernels (
      machine_id uuid PRIMARY KEY REFERENCES machines, "Odd ""name" smallint, big numeric,
      flag boolean, kinds process[], words text[], api_token text, at timestamptz, body bytea)`);
    await sql(`CREATE TABLE machine_os_log (machine_id uuid, line text)`);
    try {
      const id = await s.add();
      const odd = `INSERT INTO machine_os_kernels VALUES ($1, 7, 12345678901234567890.5, true,
        '{UnitTest1}', '{a,b}', 'hush', 'infinity', '\\x00ff')`;
      await sql(odd, id);
      await sql(`GRANT SELECT ON machine_os_kernels, machine_os_log TO PUBLIC`);
      const { tagTypes } = await inspection().schema(SIGNAL);
      const names = tagTypes.map((type) => type.name);
      expect(names).toContain('OSKernels');
      expect(names).not.toContain('OSLog');
      expect(valuesOf(await inspect(id), 'OSKernels')).toEqual({
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
      await sql(`DROP TABLE machine_os_kernels, machine_os_log`);
    }
  });
});

describe('the view of machines', () => {
  it('shows every tag and field as text', async () => {
    const at = await s.now();
    const iso = (ms: number) => new Date(ms).toISOString();
    const id = await s.add({
      ...agentTags(at, 40, null),
      ...installing([5, 4, 'Error']),
      startAttempt: { atMs: at - MINUTE, count: 3, unreached: 0 },
      quarantine: { kind: 'byOperator', reason: 'being moved', untilMs: at - MINUTE, cause: null },
      hostKey: 'host-key',
    });
    const raw = installationReportCodec.encode({ generation: 4n, error: { error: 'no disk' } });
    await sql('UPDATE machine_os_installation_report SET os_installation_report_raw = $1', raw);
    await reportHardware(id);
    const { heartbeat, installation, provided } = await s.read(id);
    const { tags } = await inspect(id);
    const values = Object.fromEntries(
      Object.entries(tags).map(([tag, fields]) => [
        tag,
        Object.fromEntries(fields.map(({ name, value }) => [name, value])),
      ]),
    );
    expect(values).toMatchObject({
      AgentHeartbeat: { agent_heartbeat_at: iso(heartbeat!.atMs), boot_id: 'boot-1' },
      AgentStartAttempt: { attempted_at: iso(at - MINUTE), count: '3' },
      AgentStarted: {
        agent_started_at: iso(at - 40 * MINUTE),
        agent_public_key: KEY_HEX,
        boot_id: 'boot-1',
      },
      HardwareReport: { hardware_report_raw: REPORT_AS_TEXT },
      OSInstallationReport: {
        generation: '4',
        os_installation_result: 'Error',
        os_installation_report_raw: 'generation: 4\nerror {\n  error: "no disk"\n}',
      },
      OSInstallationRequest: { generation: '5', handed_out_at: iso(installation.handedOutAtMs!) },
      Provided: {
        provider: PROVIDER,
        provider_id: provided!.providerId,
        provider_status: 'Running',
        provider_missing_since: '<unknown>',
      },
      Quarantined: {
        kind: 'byOperator',
        reason: 'being moved',
        until: iso(at - MINUTE),
        set_by: 'test',
      },
      SshHostKey: { key: 'host-key' },
    });
    const { tagTypes } = await inspection().schema(SIGNAL);
    const shown = tagTypes.filter(({ name }) => Object.hasOwn(tags, name));
    expect(Object.keys(tags)).toEqual(shown.map(({ name }) => name));
    for (const { name, columns } of shown) {
      expect(tags[name]!.map((field) => ({ name: field.name, type: field.type }))).toEqual(columns);
    }
    expect(Object.keys(tags)).not.toContain('Recovery');
    const [field] = tags['HardwareReport']!;
    expect(field!.message).toMatchObject({ report: { cpu: [{ cores: 8 }] } });
  });

  it('shows live work and active waits, and ended ones on request', async () => {
    const at = await s.now();
    const wait = { cause: 'no luck', lastIntervalSeconds: 60 };
    const id = await s.add({
      backoffs: [
        { ...wait, process: 'ShepherdAgentStart', untilMs: at - MINUTE },
        { ...wait, process: 'ShepherdRecovery', untilMs: at + 60 * MINUTE },
      ],
    });
    const short = await s.openOn(s.h.bmdb, 60_000);
    await short.claim('UnitTest1', id);
    const { createdAtMs } = await s.read(id);
    expect(await inspect(id)).toMatchObject({
      machineId: id,
      createdAtMs,
      work: { UnitTest1: short.sessionId },
    });
    expect((await inspect(id)).backoffs).toEqual({
      ShepherdRecovery: { untilMs: at + 60 * MINUTE, cause: 'no luck' },
    });
    expect(Object.keys((await inspect(id, true)).backoffs)).toHaveLength(2);
    await s.h.expireSession(short.sessionId);
    expect((await inspect(id)).work).toEqual({});
    await short.close();
  });

  it('omits secrets, and everything of an unreadable request', async () => {
    const request = installationRequestCodec.encode({
      generation: 1n,
      genericImage: {
        imageUrl: 'https://ann:hush@images.example/a.img?signature=hush',
        cloudInit: Buffer.from('password: hush'),
        rootDevice: { name: 'vda' },
      },
    });
    const good = await s.add(installing([1, null]), request);
    const spoilt = Buffer.concat([request.subarray(0, -1), Buffer.from('hush')]);
    const bad = await s.add(installing([1, null]), spoilt);
    const shown = [await inspect(good), await inspect(bad)];
    const [first, second] = shown.map(({ tags }) => tags['OSInstallationRequest']![1]!.value);
    expect(first).toBe(
      'generation: 1\ngeneric_image {\n' +
        '  image_url: "https://images.example/a.img?<redacted>"\n' +
        '  root_device {\n    name: "vda"\n  }\n}\n# generic_image.cloud_init: <redacted>',
    );
    expect(second).toMatch(/^<unreadable> \(\d+ bytes\)$/);
    const all = JSON.stringify(shown);
    expect(all).not.toContain('hush');
    expect(all).not.toContain(Buffer.from('hush').toString('hex'));
    expect(all).not.toContain(Buffer.from('hush').toString('base64').slice(0, 5));
  });

  it('A10: keeps no first-boot secret after the agent answered', async () => {
    const request = installationRequestCodec.encode({
      generation: 1n,
      type: 'genericImage',
      genericImage: {
        imageUrl: 'https://images.test/a.img',
        cloudInit: Buffer.from('#cloud-config'),
        rootDevice: { name: 'vda', by: 'name' },
      },
    });
    const started = startedAt((await s.now()) - 40 * MINUTE);
    const id = await s.add({ ...started, ...installing([1, null]) }, request);
    const kept = async () =>
      valuesOf(await inspect(id), 'OSInstallationRequest')['os_installation_request_raw'];
    expect(await kept()).toContain('cloud_init');
    await s.beat(id);
    expect(await kept()).toContain('cloud_init');
    const installationReport = { generation: 1n, result: 'Success', raw: KEY } as const;
    for (const time of ['first', 'after its answer was lost']) {
      const [outcome] = await s.h.other.heartbeats.recordHeartbeats([
        { machineId: id, publicKey: KEY, bootId: null, installationReport },
      ]);
      expect(outcome, time).toMatchObject({ kind: 'accepted', installationRequest: null });
    }
    expect(await kept()).not.toContain('cloud_init');
    expect(await kept()).toContain('images.test');
  });

  it('names who set a quarantine', async () => {
    const id = await s.add();
    await s.applyRequest({ verb: 'quarantine', target: await s.target(id), untilMs: null });
    expect(valuesOf(await inspect(id), 'Quarantined')).toMatchObject({ set_by: 'ann' });
  });

  it('pages by machine id without repeats', async () => {
    await sql(`INSERT INTO machines (machine_id)
      SELECT gen_random_uuid() FROM generate_series(1, 450)`);
    await sql(`INSERT INTO work_backoff (machine_id, process, until, cause)
      SELECT machine_id, p, now() + interval '1 h', 'x' FROM machines,
        unnest('{UnitTest1,UnitTest2,ShepherdRecovery}'::process[]) p`);
    const seen: InspectedMachine[] = [];
    const { sizes, ids } = await walk(async (after) => {
      const page = await inspection().machines({ limit: 9_999, ...after }, SIGNAL);
      seen.push(...page.machines);
      return page;
    });
    expect(sizes).toEqual([200, 200, 50]);
    expect(ids).toEqual(await allIds());
    expect(seen.every((each) => Object.keys(each.backoffs).length === 3)).toBe(true);
    const small = await walk((after) => inspection().machines({ limit: 150, ...after }, SIGNAL));
    expect(small).toEqual({ sizes: [150, 150, 150], ids });
    expect(await inspection().machines({ machineId: UNKNOWN }, SIGNAL)).toMatchObject({
      ...{ machines: [], next: null },
    });
  });

  it('names its statements, which can be run again', async () => {
    const machineId = await s.add();
    const { sql: told } = await inspection().machines({ machineId }, SIGNAL);
    const { tagTypes } = await inspection().schema(SIGNAL);
    // The machine, the tags and their columns, its backoffs and its work.
    expect(told.length).toBe(1 + 1 + tagTypes.length + 2);
    const counts = [];
    for (const text of told) counts.push((await sql(text)).rows.length);
    // The machine, the columns of all tags, and its one tag.
    expect(counts.filter((count) => count === 1)).toHaveLength(2);
    expect(told.join('\n')).toContain(`'${machineId}'::uuid`);
    expect(told.join('\n')).not.toMatch(/\$\d/);
  });
});

describe('the view of hardware', () => {
  const hardware = () => inspection().hardware({}, SIGNAL);

  it('contains agents’ reports of provided machines', async () => {
    expect(await hardware()).toEqual({ machines: [], next: null });
    await s.addLost();
    const provided = providedOf('one', { provider: providerName('other') });
    const id = await s.addLost({ provided });
    await reportHardware(id);
    await reportHardware(await s.addLost({ provided: null }));
    const { machines, next } = await hardware();
    expect([machines.length, next]).toEqual([1, null]);
    expect(machines[0]).toMatchObject({
      machineId: id,
      provider: 'other',
      providerId: provided.providerId,
      report: {
        name: 'hardware_report_raw',
        type: 'bytea',
        value: REPORT_AS_TEXT,
        message: { report: { cpu: [{ cores: 8 }] } },
      },
    });
  });

  it('returns at most 100 machines per page, each once, by machine id', async () => {
    await sql(`WITH m AS (INSERT INTO machines SELECT FROM generate_series(1, 230)
        RETURNING machine_id),
      p AS (INSERT INTO machine_provided (machine_id, provider, provider_id)
        SELECT machine_id, 'metal', machine_id::text FROM m)
      INSERT INTO machine_hardware_report SELECT machine_id, '' FROM m`);
    const ids = await allIds();
    for (const [limit, sizes] of [
      [9_999, [100, 100, 30]],
      [undefined, [100, 100, 30]],
      [46, [46, 46, 46, 46, 46]],
    ] as const) {
      const given = limit === undefined ? {} : { limit };
      const found = await walk((after) => inspection().hardware({ ...given, ...after }, SIGNAL));
      expect(found).toEqual({ sizes, ids });
    }
  });

  it('shows no bytes of an unreadable report', async () => {
    const id = await s.add();
    await sql(`INSERT INTO machine_hardware_report VALUES ($1, '\\xff')`, id);
    const { machines } = await hardware();
    expect(machines.map((each) => each.report.value)).toEqual(['<unreadable> (1 bytes)']);
  });
});

it('stops when it is aborted', async () => {
  const stopped = AbortSignal.abort(new Error('enough'));
  const { schema, machines, hardware } = inspection();
  for (const call of [
    () => schema(stopped),
    () => machines({}, stopped),
    () => hardware({}, stopped),
  ]) {
    expect(await refusedWith(call())).toBe('cancelled');
  }
});
