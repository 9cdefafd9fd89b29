import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createPgBmdb } from '../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { sweep } from '../../src/commands/provider/sweep.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { providedOf } from '../contracts/bmdb-rows.ts';

const NEW_MACHINE = { ...providedOf('x'), reservationId: 's' };
const dir = mkdtempSync(join(tmpdir(), 'shepherd-records-'));
const file = join(dir, 'shepherd.yaml');

let server: PgServer;
let bmdb: Bmdb;
beforeAll(async () => {
  server = await startPgServer();
  bmdb = createPgBmdb({
    ...{ url: server.url, clock: systemClock, random: systemRandom, log: silentLog },
    ...{ loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET, wakes: 'poll' },
  });
  vi.stubEnv('DB_PASSWORD', new URL(server.url).password);
  const { username, host, pathname } = new URL(server.url);
  const config = {
    database: { url: `postgresql://${username}:\${DB_PASSWORD}@${host}${pathname}` },
    providers: { metal: { driver: 'stub', instanceSetId: 'tests-looks-000000000000001' } },
    ssh: { keyPath: join(dir, 'ssh-key') },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
  };
  writeFileSync(file, JSON.stringify(config));
});
afterAll(async () => {
  await bmdb.close();
  await server.stop();
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => server.clear());

describe('records of a provider that is not configured', () => {
  const run = (change: object = {}) =>
    sweep({
      ...{ file, provider: 'barn', json: false, remove: false, version: 'test' },
      signal: AbortSignal.timeout(240_000),
      ...change,
    });
  const left = async () =>
    (
      await server.sql.query<{ name: string }>(
        `SELECT provider || ' ' || key AS name FROM provider_records ORDER BY 1`,
      )
    ).rows.map(({ name }) => name);
  const all = ['barn a', 'barn b', 'metal a'];
  beforeEach(async () => {
    await server.sql.query(
      `INSERT INTO provider_records (provider, key, value, version)
       VALUES ('barn', 'a', '{"token":"planted"}', 'v'), ('barn', 'b', '1', 'v'),
         ('metal', 'a', '1', 'v')`,
    );
  });

  test('are told by their keys, and stay', async () => {
    const told = await run();
    expect(told.split('\n').slice(1)).toEqual(['  a', '  b']);
    expect(told).not.toContain('planted');
    expect(JSON.parse(await run({ json: true }))).toEqual({
      ...{ provider: 'barn', configured: false, records: ['a', 'b'], removed: 0 },
    });
    expect(await left()).toEqual(all);
  });

  test('are removed once their number is agreed to, and nobody else is touched', async () => {
    await expect(run({ remove: true })).rejects.toThrow('confirm with --expect-count 2');
    await expect(run({ remove: true, expectCount: 3 })).rejects.toThrow('not 3; nothing was done');
    expect(await left()).toEqual(all);
    expect(await run({ remove: true, expectCount: 2 })).toContain('2 of 2 records removed');
    expect(await left()).toEqual(['metal a']);
    await expect(run()).rejects.toThrow(UsageError);
  });

  test('stay while a daemon works with it, or machines of it are known', async () => {
    const host = { component: 'shepherd', runtimeInfo: 'host test', intervalMs: 60_000 };
    const daemon = await bmdb.openSession(host);
    const lease = await daemon.lease('provisioner/barn');
    await expect(run({ remove: true, expectCount: 2 })).rejects.toThrow('a daemon works with');
    await lease!.release();
    const slot = { provider: providerName('barn'), slotId: 's', hostname: 'm' };
    const { witness } = await daemon.intents.open(slot);
    await daemon.intents.adopt(witness, { ...NEW_MACHINE, provider: providerName('barn') });
    await expect(run({ remove: true, expectCount: 2 })).rejects.toThrow('1 machines of barn');
    await daemon.close();
    expect(await left()).toEqual(all);
  });
});
