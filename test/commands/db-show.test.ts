import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { showHardware, showMachines, showStatistics } from '../../src/commands/db-show.ts';
import { machineId } from '../../src/domain/ids.ts';
import { hardwareReportCodec, installationRequestCodec } from '../../src/wire/codec.ts';
import { insertMachine, startPgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import type { PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow, MINUTE, providedOf, startedAt } from '../contracts/bmdb-rows.ts';
import { testRows } from '../support/rows.ts';
import { metalIn } from '../config/examples.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-show-'));
const file = join(dir, 'shepherd.yaml');
const NOW = Date.now();
const A = machineId('00000000-0000-4000-8000-00000000000a');
const B = machineId('00000000-0000-4000-8000-00000000000b');

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
  const url = new URL(server.url);
  vi.stubEnv('DB_PASSWORD', url.password);
  vi.stubEnv('METAL_TOKEN', 'hush');
  writeFileSync(file, JSON.stringify(configFor(url)));
  await addMachines();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

const configFor = ({ username, host, pathname }: URL) => ({
  database: { url: `postgresql://${username}:\${DB_PASSWORD}@${host}${pathname}` },
  ...metalIn(dir),
});

async function addMachines(): Promise<void> {
  const backoff = { process: 'ShepherdAgentStart', lastIntervalSeconds: 60 } as const;
  const request = installationRequestCodec.encode({
    generation: 3n,
    genericImage: { rootDevice: { name: 'vda' }, cloudInit: Buffer.from('hush') },
  });
  const first = machineRow(NOW, {
    machineId: A,
    provided: providedOf('one', { location: null }),
    ...startedAt(NOW - 5 * MINUTE),
    heartbeat: { atMs: NOW, bootId: null },
    installation: {
      requestGeneration: 3n,
      handedOutAtMs: NOW,
      reportGeneration: null,
      reportResult: null,
    },
    backoffs: [
      { ...backoff, untilMs: NOW - MINUTE, cause: 'no route' },
      { ...backoff, process: 'UnitTest1', untilMs: NOW + 60 * MINUTE, cause: 'a\u001b[31mb' },
    ],
  });
  await insertMachine(server.sql, first, request);
  await insertMachine(server.sql, machineRow(NOW, { machineId: B, provided: null }));
  const report = { report: { manufacturer: 'ACME', cpu: [{ cores: 8 }] } };
  await server.sql.query('INSERT INTO machine_hardware_report VALUES ($1, $2)', [
    ...[A, hardwareReportCodec.encode(report)],
  ]);
  await server.sql.query(
    `INSERT INTO work_history (machine_id, process, event, failed_cause, component)
     VALUES ($1, 'ShepherdAgentStart', 'Failed', 'no route', 'shepherd')`,
    [A],
  );
}

/** Lines with single spaces, as their columns are as wide as they must. */
const linesOf = (text: string) => text.split('\n').map((line) => line.trim().replace(/ +/g, ' '));

describe('db show', () => {
  test('has a line for each machine', async () => {
    const lines = linesOf(await showMachines({ file }));
    expect(lines[0]).toBe('machine provider device status location work backoffs also known');
    expect(lines[1]).toBe(
      `${A} metal device-one Running <unknown> - UnitTest1 ` +
        'AgentHeartbeat, AgentStarted, HardwareReport, OSInstallationRequest',
    );
    expect(lines[2]).toBe(`${B} - - - - - - -`);
    expect(lines[3]).toMatch(/^2 machines, schema \d{14}_[\w-]+$/);
    expect(lines).toHaveLength(4);
  });

  test('tells everything of one machine, but no secret', async () => {
    const text = await showMachines({ file, machine: A });
    expect(linesOf(text)).toEqual(
      expect.arrayContaining([
        `id ${A}`,
        'Provided',
        'provider_location <unknown>',
        'OSInstallationRequest',
        'root_device {',
        '# generic_image.cloud_init: <redacted>',
        'work: none',
        `UnitTest1 until ${new Date(NOW + 60 * MINUTE).toISOString()} a\\u{1b}[31mb`,
        expect.stringMatching(/^20.*Z ShepherdAgentStart Failed shepherd - no route$/),
      ]),
    );
    expect(text).not.toContain('hush');
    expect(text).not.toMatch(/backoffs[^]*until.*no route/);
    const all = await showMachines({ file, machine: A, expiredBackoffs: true });
    expect(all).toMatch(/backoffs\n[^]*ShepherdAgentStart +until .* no route\n/);
  });

  test('prints one document of JSON', async () => {
    const one = JSON.parse(await showMachines({ file, machine: A, json: true })) as {
      machines: { machineId: string; tags: Record<string, { message?: object }[]> }[];
      history: object[];
      sql: string[];
    };
    expect(one.machines.map((machine) => machine.machineId)).toEqual([A]);
    expect(one.machines[0]!.tags['OSInstallationRequest']![1]!.message).toMatchObject({
      generic_image: { root_device: { name: 'vda' }, cloud_init: '<redacted>' },
    });
    expect(one.history).toMatchObject([{ event: 'Failed', cause: 'no route' }]);
    expect(one.sql[0]).toContain(A);
    const all = JSON.parse(await showMachines({ file, json: true })) as typeof one;
    expect(all.machines).toHaveLength(2);
  });

  testRows([
    ['report.cpu[0].cores', '8'],
    ['HardwareReport.report.manufacturer', 'ACME'],
    ['provider_id', 'device-one'],
    ['Provided.provider_location', '<unknown>'],
    ['OSInstallationRequest.generation', '3'],
    ['generic_image.cloud_init', '<redacted>'],
  ])('prints the field %s alone', async (field, value) => {
    expect(await showMachines({ file, machine: A, field })).toBe(value);
    const json = await showMachines({ file, machine: A, field, json: true });
    expect(JSON.parse(json)).toBe(value);
  });

  test('refuses a field that is not there, or is not the only one', async () => {
    const fieldOf = (machine: string | undefined, field: string) =>
      showMachines({ file, machine, field });
    await expect(fieldOf(A, 'report.cpu[1].cores')).rejects.toMatchObject({
      code: 'not-found',
      message:
        `machine ${A} has no field "report.cpu[1].cores"; what is known of it: ` +
        'AgentHeartbeat, AgentStarted, HardwareReport, OSInstallationRequest, Provided',
    });
    await expect(fieldOf(A, 'report..cpu')).rejects.toMatchObject({ code: 'not-found' });
    await expect(fieldOf(B, 'provider')).rejects.toMatchObject({
      message: expect.stringMatching(/what is known of it: nothing$/),
    });
    await expect(fieldOf(A, 'boot_id')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('AgentHeartbeat.boot_id, AgentStarted.boot_id'),
    });
    await expect(fieldOf(undefined, 'boot_id')).rejects.toMatchObject({ code: 'usage' });
  });

  test('refuses what is no machine', async () => {
    const unknown = '00000000-0000-4000-8000-00000000000c';
    await expect(showMachines({ file, machine: unknown })).rejects.toMatchObject({
      code: 'not-found',
      message: `there is no machine ${unknown}`,
    });
    await expect(showMachines({ file, machine: 'rack7' })).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('db hardware', () => {
  test('has the report of each machine that is provided', async () => {
    expect(linesOf(await showHardware({ file }))).toEqual([
      ...[A, 'provider metal', 'provider id device-one', 'report', 'report {'],
      ...['manufacturer: "ACME"', 'cpu {', 'cores: 8', '}', '}'],
      'hardware reports: 1',
    ]);
  });

  test('prints one document of JSON', async () => {
    expect(JSON.parse(await showHardware({ file, json: true }))).toMatchObject({
      machines: [
        {
          machineId: A,
          provider: 'metal',
          providerId: 'device-one',
          report: { message: { report: { cpu: [{ cores: 8 }] } } },
        },
      ],
    });
  });
});

describe('db stats', () => {
  test('counts the fleet and each provider', async () => {
    const lines = linesOf(await showStatistics({ file }));
    expect(lines[0]).toBe('fleet metal');
    expect(lines).toEqual(
      expect.arrayContaining([
        'machines 2 1',
        'heartbeating 1 1',
        'installation pending 1 1',
        'agent to be started 0 0',
        'backoffs of UnitTest1 1 1',
      ]),
    );
    expect(lines.join('\n')).not.toContain('backoffs of ShepherdAgentStart');
  });

  test('prints one document of JSON', async () => {
    const text = await showStatistics({ file, json: true });
    expect(JSON.parse(text)).toMatchObject({
      fleet: { machines: 2, provided: 1, activeBackoffs: { UnitTest1: 1 } },
      providers: { metal: { machines: 1 } },
    });
  });
});
