import { afterAll, beforeAll, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createHttpTransport, type Transport } from '../../src/commands/remote/client.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import type { Console } from '../../src/console/console.ts';
import { createMachineHistory } from '../../src/daemon/views/machine-history.ts';
import { machineId } from '../../src/domain/ids.ts';
import { hardwareReportCodec, installationRequestCodec } from '../../src/wire/codec.ts';
import { insertMachine, openPgBmdb, startPgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import type { PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow, MINUTE, providedOf, startedAt } from '../contracts/bmdb-rows.ts';
import { playScenes } from '../support/scenes.ts';
import { startScriptedConsole } from '../console/scripted-console.ts';
import { runThrough } from './run-through.ts';

const NOW = Date.now();
const A = machineId('00000000-0000-4000-8000-00000000000a');
const B = machineId('00000000-0000-4000-8000-00000000000b');

let server: PgServer;
let web: Console;
let transport: Transport;
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
    accounts: { repository: bmdb.access, events: bmdb.events, random },
  });
  transport = createHttpTransport({ url: web.url, token, version: '0.0.0', advice: '' });
  close = () => bmdb.close();
});
afterAll(async () => {
  await web.close();
  await close();
  await server.stop();
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

/** Whatever tells the time, which schema it is, and how it is read, without it. */
const plain = (_: unknown, text: string): string =>
  text
    .replaceAll(/"sql":\[(?:"(?:[^"\\]|\\.)*",?)+\]/g, '"sql":[<statements>]')
    .replaceAll(/\d{4}-\d\d-\d\d[ T][\d:.]+Z/g, '<time>')
    .replaceAll(/\d{14}_[\w-]+/g, '<schema>')
    .replaceAll(/\b\d{13}\b/g, '<ms>')
    .replaceAll(/\((?:in )?\d+\w( ago)?\)/g, '(<span>)');

test('db show and db stats tell what is in the database, but no secret', async () => {
  const means = { transport, monotonic: systemClock.monotonic, sleep: async () => undefined };
  await playScenes(import.meta.dirname, 'db', {
    open: async () => undefined,
    run: (_, words) => runThrough(means, words),
    plain,
  });
});
