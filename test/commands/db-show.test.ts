import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { openHttpDoor, type Door } from '../../src/commands/remote/client.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import type { Console } from '../../src/console/console.ts';
import { createMachineHistory } from '../../src/daemon/views/machine-history.ts';
import { timeText } from '../../src/commands/layout.ts';
import { machineId } from '../../src/domain/ids.ts';
import { hardwareReportCodec, installationRequestCodec } from '../../src/wire/codec.ts';
import { insertMachine, openPgBmdb, startPgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import type { PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow, MINUTE, providedOf, startedAt } from '../contracts/bmdb-rows.ts';
import { testRows } from '../support/rows.ts';
import { startScriptedConsole } from '../console/scripted-console.ts';
import { runThrough } from './run-through.ts';

const NOW = Date.now();
const A = machineId('00000000-0000-4000-8000-00000000000a');
const B = machineId('00000000-0000-4000-8000-00000000000b');

let server: PgServer;
let web: Console;
let door: Door;
let close: () => Promise<void>;
beforeAll(async () => {
  server = await startPgServer();
  await addMachines();
  const bmdb = openPgBmdb({ url: server.url, clock: systemClock, wakes: 'poll' });
  const random = createSeededRandom(7);
  const { id, token } = makeToken(random);
  await bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 3_600_000 },
  });
  web = await startScriptedConsole({
    ...{ records: bmdb.inspection, history: createMachineHistory(bmdb.inspection, () => null) },
    accounts: { book: bmdb.access, events: bmdb.events, random },
  });
  door = openHttpDoor({ url: web.url, token, version: '0.0.0', advice: '' });
  close = () => bmdb.close();
});
afterAll(async () => {
  await web.close();
  await close();
  await server.stop();
});

/** What `shepherd db` says; of a mistake its code and words. */
async function db(...args: string[]) {
  const means = { door, monotonic: systemClock.monotonic, sleep: async () => undefined };
  const { code, stdout, stderr } = await runThrough(means, ['db', ...args]);
  if (code === 0) return stdout.trimEnd();
  throw new Error(`${code}: ${stderr}`);
}

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
    const lines = linesOf(await db('show'));
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
    const text = await db('show', A);
    expect(linesOf(text)).toEqual(
      expect.arrayContaining([
        `id ${A}`,
        'Provided',
        'provider_location <unknown>',
        'OSInstallationRequest',
        'root_device {',
        '# generic_image.cloud_init: <redacted>',
        'work: none',
        `UnitTest1 until ${timeText(NOW + 60 * MINUTE)} a\\u{1b}[31mb`,
        expect.stringMatching(/^20.*Z ShepherdAgentStart Failed shepherd - no route$/),
      ]),
    );
    expect(text).not.toContain('hush');
    expect(text).not.toMatch(/backoffs[^]*until.*no route/);
    const all = await db('show', A, '--expired-backoffs');
    expect(all).toMatch(/backoffs\n[^]*ShepherdAgentStart +until .* no route\n/);
  });

  test('prints one document of JSON', async () => {
    const one = JSON.parse(await db('show', A, '--json')) as {
      machines: { machineId: string; tags: Record<string, { message?: object }[]> }[];
      history: object[];
      sql: string[];
    };
    expect(one.machines.map((machine) => machine.machineId)).toEqual([A]);
    expect(one.machines[0]!.tags['OSInstallationRequest']![1]!.message).toMatchObject({
      generic_image: { root_device: { name: 'vda' }, cloud_init: '<redacted>' },
    });
    expect(one.history).toMatchObject([{ kind: 'Failed', reason: 'no route' }]);
    expect(one.sql[0]).toContain(A);
    const all = JSON.parse(await db('show', '--json')) as typeof one;
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
    expect(await db('show', A, '--field', field)).toBe(value);
    const json = await db('show', A, '--field', field, '--json');
    expect(JSON.parse(json)).toBe(value);
  });

  test('refuses a field that is not there, or is not the only one', async () => {
    await expect(db('show', A, '--field', 'report.cpu[1].cores')).rejects.toThrow(
      `1: shepherd: machine ${A} has no field "report.cpu[1].cores"; what is known of it: ` +
        'AgentHeartbeat, AgentStarted, HardwareReport, OSInstallationRequest, Provided',
    );
    await expect(db('show', A, '--field', 'report..cpu')).rejects.toThrow('1: ');
    await expect(db('show', B, '--field', 'provider')).rejects.toThrow('known of it: nothing');
    await expect(db('show', A, '--field', 'boot_id')).rejects.toThrow(
      /^2: .*AgentHeartbeat\.boot_id, AgentStarted\.boot_id/,
    );
    await expect(db('show', '--field', 'boot_id')).rejects.toThrow('2: ');
  });

  test('refuses what is no machine', async () => {
    const unknown = '00000000-0000-4000-8000-00000000000c';
    await expect(db('show', unknown)).rejects.toThrow(
      `1: shepherd: there is no machine ${unknown}`,
    );
    await expect(db('show', 'rack7')).rejects.toThrow('2: ');
  });
});

describe('db hardware', () => {
  test('has the report of each machine that is provided', async () => {
    expect(linesOf(await db('hardware'))).toEqual([
      ...[A, 'provider metal', 'provider id device-one', 'report', 'report {'],
      ...['manufacturer: "ACME"', 'cpu {', 'cores: 8', '}', '}'],
      'hardware reports: 1',
    ]);
  });

  test('prints one document of JSON', async () => {
    expect(JSON.parse(await db('hardware', '--json'))).toMatchObject({
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
    const lines = linesOf(await db('stats'));
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
    const text = await db('stats', '--json');
    expect(JSON.parse(text)).toMatchObject({
      fleet: { machines: 2, provided: 1, activeBackoffs: { UnitTest1: 1 } },
      providers: { metal: { machines: 1 } },
    });
  });
});
