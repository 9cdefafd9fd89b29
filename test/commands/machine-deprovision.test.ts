import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deprovision } from '../../src/commands/machine-deprovision.ts';
import { NotFound, NothingToDo, UsageError } from '../../src/domain/errors.ts';
import { machineId } from '../../src/domain/ids.ts';
import { insertMachine, startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow, providedOf } from '../contracts/bmdb-rows.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-deprovision-'));
const file = join(dir, 'shepherd.yaml');
const A = machineId('00000000-0000-4000-8000-00000000000a');
const B = machineId('00000000-0000-4000-8000-00000000000b');

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
  const { username, host, pathname, password } = new URL(server.url);
  vi.stubEnv('DB_PASSWORD', password);
  vi.stubEnv('METAL_TOKEN', 'hush');
  const config = {
    database: { url: `postgresql://${username}:\${DB_PASSWORD}@${host}${pathname}` },
    providers: {
      metal: {
        ...{ driver: 'equinix', token: '${METAL_TOKEN}', username: 'test' },
        projectId: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
        instanceSetId: 'tests-shell-000000000000001',
        ...{ devicePrefix: 'shepherd-dp-', sshKeyLabel: 'shepherd-dp' },
      },
    },
    ssh: { keyPath: join(dir, 'ssh-key') },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
  };
  writeFileSync(file, JSON.stringify(config));
  const at = Date.now();
  const rows = [A, B].map((id) => machineRow(at, { machineId: id, provided: providedOf(id) }));
  for (const row of rows) await insertMachine(server.sql, row);
});
afterAll(async () => {
  await server.stop();
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const ask = (machine: string, change = {}) =>
  deprovision({ ...{ file, machine, by: 'ann', reason: 'over', yes: true }, ...change });
const requests = async () =>
  (
    await server.sql.query(
      `SELECT machine_id, requested_by, reason FROM machine_deprovision_request`,
    )
  ).rows;

test('without confirmation it is only told what would be done', async () => {
  expect(await ask(A, { yes: false })).toMatch(/would be given back: device .* --yes$/);
  expect(await requests()).toEqual([]);
});

test('a request is filed with who and why, once', async () => {
  expect(await ask(A)).toMatch(/is to be given back/);
  expect(await ask(A, { by: 'bob' })).toMatch(/on its way: ann asked for it/);
  expect(await requests()).toEqual([{ machine_id: A, requested_by: 'ann', reason: 'over' }]);
});

test('an unknown machine, a wrong id, no reason and a hold are refused by name', async () => {
  const unknown = '00000000-0000-4000-8000-0000000000ff';
  await expect(ask(unknown)).rejects.toBeInstanceOf(NotFound);
  await expect(ask('rack-7')).rejects.toBeInstanceOf(UsageError);
  await expect(ask(B, { reason: ' ' })).rejects.toBeInstanceOf(UsageError);
  await server.sql.query(`INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
    SELECT provider, coalesce(provider_reservation_id, provider_id), 'preserve', 'eve', 'evidence'
    FROM machine_provided WHERE machine_id = '${B}'`);
  await expect(ask(B)).rejects.toBeInstanceOf(NothingToDo);
  expect(await requests()).toHaveLength(1);
});
