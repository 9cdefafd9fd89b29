import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { sweep, type SweepOptions } from '../../src/commands/provider-sweep.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { createManualClock } from '../../emulators/kit/clock.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import type { EquinixEmulator } from '../../emulators/equinix/options.ts';
import { openPgBmdb, startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { metalIn } from '../config/examples.ts';
import { providedOf } from '../contracts/bmdb-rows.ts';
import { written } from './run-through.ts';

const BARN = providerName('barn');
const dir = mkdtempSync(join(tmpdir(), 'shepherd-looks-'));
const file = join(dir, 'shepherd.yaml');

let server: PgServer;
let bmdb: Bmdb;
let fake: EquinixEmulator;
beforeAll(async () => {
  server = await startPgServer();
  bmdb = openPgBmdb({ url: server.url, clock: systemClock, wakes: 'poll' });
  vi.stubEnv('DB_PASSWORD', new URL(server.url).password);
});
afterAll(async () => {
  await bmdb.close();
  await server.stop();
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  await server.clear();
  fake = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    reservations: 5,
  });
  vi.stubEnv('METAL_TOKEN', fake.tokens.project);
  writeConfig(fake.url);
});
afterEach(() => fake.close());

function writeConfig(baseUrl: string) {
  const { providers, ...around } = metalIn(dir);
  const { username, host, pathname } = new URL(server.url);
  const config = {
    database: { url: `postgresql://${username}:\${DB_PASSWORD}@${host}${pathname}` },
    ...around,
    providers: {
      metal: {
        ...{ ...providers.metal, baseUrl, apiRate: '0s', projectId: fake.projectId },
        ...{ devicePrefix: 'shepherd-looks-', sshKeyLabel: 'shepherd-looks' },
      },
    },
    provisioner: { maxMachines: 3 },
  };
  writeFileSync(file, JSON.stringify(config));
}

const swept = async ({
  json = false,
  ...change
}: Partial<SweepOptions> & { readonly json?: boolean } = {}) => {
  const signal = AbortSignal.timeout(240_000);
  const told = await sweep({ file, version: 'test', remove: false, signal, ...change });
  return written(told, json ? 'json' : 'table');
};
test('records of providers that are not configured are told, and stay', async () => {
  expect(await swept()).toBe('no unconfigured provider has records');
  await server.sql.query(
    `INSERT INTO provider_records (provider, key, value, version)
     VALUES ('metal', 'a', '1', 'v'), ('old-rack', 'a', '1', 'v'), ('old-rack', 'b', '1', 'v'),
       ('barn', 'a', '1', 'v')`,
  );
  const told = await swept();
  expect(told.split('\n').slice(1, -1)).toEqual(['  barn      1', '  old-rack  2']);
  expect(told).not.toContain('metal');
  expect(JSON.parse(await swept({ json: true }))).toEqual({
    unconfigured: [
      { provider: 'barn', records: 1 },
      { provider: 'old-rack', records: 2 },
    ],
  });
  await expect(swept({ remove: true })).rejects.toThrow(
    '--remove works on one provider; name the provider',
  );
  const { rows } = await server.sql.query('SELECT 1 FROM provider_records');
  expect(rows).toHaveLength(4);
});

describe('leftovers', () => {
  const run = (change: Parameters<typeof swept>[0] = {}) => swept({ provider: 'metal', ...change });
  const HOUR_MS = 3_600_000;

  /** An account on which our key was put twice, three hours ago. */
  async function account(): Promise<() => Promise<string[]>> {
    await fake.close();
    const clock = createManualClock(Date.now() - 3 * HOUR_MS);
    fake = await startEquinixEmulator({
      listen: { host: '127.0.0.1', port: 0 },
      profile: 'fast',
      reservations: 1,
      clock,
    });
    vi.stubEnv('METAL_TOKEN', fake.tokens.user);
    writeConfig(fake.url);
    const { publicLine } = await loadOrCreateSshKey(join(dir, 'ssh-key'));
    const url = `${fake.url}/projects/${fake.projectId}/ssh-keys`;
    const headers = { 'X-Auth-Token': fake.tokens.user, 'Content-Type': 'application/json' };
    for (const _ of [1, 2]) {
      const body = JSON.stringify({ label: 'shepherd-looks', key: publicLine });
      const response = await fetch(url, { method: 'POST', headers, body });
      expect(response.status).toBe(201);
    }
    return async () => {
      const list = (await (await fetch(url, { headers })).json()) as { ssh_keys: { id: string }[] };
      return list.ssh_keys.map(({ id }) => id);
    };
  }

  test('are told, and removed only where that is asked for', async () => {
    const keys = await account();
    const before = await keys();
    expect(before).toHaveLength(2);
    expect(await run()).toMatch(/^metal: 1 would be removed with --remove\n +ssh-key +\S+$/);
    expect(await keys()).toEqual(before);
    const { removed, dryRun } = JSON.parse(await run({ json: true, remove: true }));
    expect(dryRun).toBe(false);
    const [gone] = removed;
    expect(await keys()).toEqual(before.filter((id) => id !== gone.id));
    expect(await run({ remove: true })).toBe('metal: no leftovers');
  });

  test('of a provider that is not there, or without our key, are refused', async () => {
    await loadOrCreateSshKey(join(dir, 'ssh-key'));
    await expect(run({ provider: 'nobody' })).rejects.toBeInstanceOf(UsageError);
    rmSync(join(dir, 'ssh-key'));
    await expect(run({ remove: true })).rejects.toThrow(/our SSH key .* is missing/);
    expect(existsSync(join(dir, 'ssh-key'))).toBe(false);
  });
});

describe('records of a provider that is not configured', () => {
  const run = (change: Parameters<typeof swept>[0] = {}) => swept({ provider: 'barn', ...change });
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
    const { witness } = await daemon.intents.open({ provider: BARN, slotId: 's', hostname: 'm' });
    await daemon.intents.adopt(witness, providedOf('x', { provider: BARN, reservationId: 's' }));
    await expect(run({ remove: true, expectCount: 2 })).rejects.toThrow(
      'barn still has 1 machines',
    );
    await daemon.close();
    expect(await left()).toEqual(all);
  });
});
