import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { ReadOptions } from '../../src/commands/provider/open-providers.ts';
import { DRIVERS } from '../../src/adapters/provider/drivers.ts';
import { plan } from '../../src/commands/provider/plan.ts';
import { providerStatus } from '../../src/commands/provider/status.ts';
import { sweep } from '../../src/commands/provider/sweep.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { createManualClock } from '../../emulators/kit/clock.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabaseDoor } from '../../src/commands/remote/database-door.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { runThrough } from './remote/both-doors.ts';
import { providerName } from '../../src/domain/ids.ts';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import type { EquinixEmulator } from '../../emulators/equinix/options.ts';
import { free, scripted } from '../doubles/scripted-driver.ts';
import { openPgBmdb, startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { metalIn } from '../config/examples.ts';
import { providedOf } from '../contracts/bmdb-rows.ts';

const METAL = providerName('metal');
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

function writeConfig(baseUrl: string, more: object = {}, metal: object = {}) {
  const { providers, ...around } = metalIn(dir);
  const { username, host, pathname } = new URL(server.url);
  const config = {
    database: { url: `postgresql://${username}:\${DB_PASSWORD}@${host}${pathname}` },
    ...around,
    providers: {
      metal: {
        ...{ ...providers.metal, baseUrl, apiRate: '0s', projectId: fake.projectId },
        ...{ devicePrefix: 'shepherd-looks-', sshKeyLabel: 'shepherd-looks' },
        ...metal,
      },
      ...more,
    },
    provisioner: { maxMachines: 3 },
  };
  writeFileSync(file, JSON.stringify(config));
}

const reading = (): ReadOptions => ({
  file,
  json: false,
  version: 'test',
  signal: AbortSignal.timeout(240_000),
});
const swept = (change: object = {}) => sweep({ ...reading(), remove: false, ...change });
const slotIds = () =>
  fake
    .reservations()
    .map(({ id }) => id)
    .toSorted();

test('a plan tells what would be created within the limit, and changes nothing', async () => {
  const { text, isGood } = await plan({ ...reading(), all: false });
  expect(isGood).toBe(true);
  expect(text).toContain('metal: 0 managed (limit 3); 0 bmdb, 0 used, 5 free');
  expect(text.match(/^ {2}create /gm)).toHaveLength(3);
  expect(text).toContain('2 free left alone: at the limit of 3 machines');
  expect(fake.devices()).toEqual([]);
  expect(fake.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
  expect((await bmdb.scan(AbortSignal.timeout(240_000))).intents).toEqual([]);
});

test('A1: a plan names the providers whose disks recovery may erase', async () => {
  const before = await plan({ ...reading(), all: false });
  expect(before.text).not.toContain('ERASE');
  writeConfig(fake.url, {}, { recoveryMayEraseDisks: true });
  const { text } = await plan({ ...reading(), all: false });
  expect(text).toContain('recovery MAY ERASE DISKS');
  const json = JSON.parse((await plan({ ...reading(), json: true, all: false })).text);
  expect(json.providers[0].recoveryMayEraseDisks).toBe(true);
});

test('a plan honours the shelf and the holds, and says so for each slot', async () => {
  const [first] = slotIds();
  await server.sql.query(`INSERT INTO provider_holds (provider, kind, key, until, cause)
    VALUES ('metal', 'penalty', '${first}', now() + interval '1 hour', 'it was refused')`);
  const shelved = await plan({ ...reading(), all: true });
  expect(shelved.text).toMatch(
    new RegExp(`skip +metal/${first} +it is on the shelf: it was refus`),
  );
  expect(shelved.text.match(/^ {2}create /gm)).toHaveLength(3);

  await bmdb.providerHolds.impose({
    provider: METAL,
    kind: 'capacity',
    key: 'all',
    forMs: 60_000,
    level: 1,
    cause: 'sold out',
  });
  const held = JSON.parse((await plan({ ...reading(), json: true, all: false })).text);
  expect(held.providers[0].create).toEqual([]);
  const reasons = held.providers[0].decisions.map((each: { reason: string }) => each.reason);
  expect(reasons.filter((reason: string) => reason.includes('sold out'))).toHaveLength(4);
});

test('a stranger under our prefix is told as an orphan', async () => {
  const body = { hostname: 'shepherd-looks-lost', plan: 'm3.large.x86' };
  const response = await fetch(`${fake.url}/projects/${fake.projectId}/devices`, {
    method: 'POST',
    headers: { 'X-Auth-Token': fake.tokens.user, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...body, operating_system: 'ubuntu_22_04', metro: 'fr' }),
  });
  expect(response.status).toBe(201);
  const { text } = await plan({ ...reading(), all: false });
  expect(text).toContain('1 orphan');
  expect(text).toMatch(/orphan +metal\//);
  expect(text.match(/^ {2}create /gm)).toHaveLength(2);
});

test('a provider that does not answer is said to be so', async () => {
  vi.stubEnv('METAL_TOKEN', 'wrong');
  const { text, isGood } = await plan({ ...reading(), all: false });
  expect(isGood).toBe(false);
  expect(text).toMatch(/^metal: cannot be listed: /);
  expect(text).not.toContain('wrong');
});

test('a plan from an incomplete listing creates nothing, and says so', async () => {
  const half = async () => ({ machines: [free('a')], complete: false });
  vi.spyOn(DRIVERS.get('static')!, 'open').mockReturnValue(scripted({ listMachines: half }));
  writeFileSync(join(dir, 'part.json'), '[]');
  const part = {
    driver: 'static',
    instanceSetId: 'tests-looks-000000000000002',
    inventory: 'file:part.json',
  };
  writeConfig(fake.url, { part });
  const options = { ...reading(), provider: 'part', all: true };
  const { text, isGood } = await plan(options);
  expect(isGood).toBe(true);
  expect(text).toContain('the listing is incomplete: nothing is concluded from absence');
  expect(text).toMatch(/skip +part\/\S+ +the listing is incomplete/);
  const [told] = JSON.parse((await plan({ ...options, json: true })).text).providers;
  expect(told).toMatchObject({ provider: 'part', listingComplete: false, create: [] });
});

test('a hold that has ended is not shown as one in force', async () => {
  await server.sql.query(`INSERT INTO provider_holds (provider, kind, key, until, level, cause)
    VALUES ('metal', 'throttle', 'create', now() - interval '1 minute', 1, 'it was too much'),
           ('metal', 'throttle', 'list', now() + interval '1 hour', 1, 'it is too much')`);
  const { providers } = JSON.parse(await providerStatus({ ...reading(), json: true, live: false }));
  expect(providers[0].holds).toMatchObject([{ what: 'throttle list', cause: 'it is too much' }]);
});

test('records of providers that are not configured are told, and stay', async () => {
  expect(await swept()).toBe('there are no records of providers that are not configured');
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
  await expect(swept({ remove: true })).rejects.toThrow('--remove is for one provider; name it');
  const { rows } = await server.sql.query('SELECT 1 FROM provider_records');
  expect(rows).toHaveLength(4);
});

describe('leftovers', () => {
  const run = (change: object = {}) => swept({ provider: 'metal', ...change });
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
    expect(await run()).toMatch(/^metal: 1 would be removed; --remove does it\n +ssh-key +\S+$/);
    expect(await keys()).toEqual(before);
    const { removed, dryRun } = JSON.parse(await run({ json: true, remove: true }));
    expect(dryRun).toBe(false);
    const [gone] = removed;
    expect(await keys()).toEqual(before.filter((id) => id !== gone.id));
    expect(await run({ remove: true })).toBe('metal: nothing is left over');
  });

  test('of a provider that is not there, or without our key, are refused', async () => {
    await loadOrCreateSshKey(join(dir, 'ssh-key'));
    await expect(run({ provider: 'nobody' })).rejects.toBeInstanceOf(UsageError);
    rmSync(join(dir, 'ssh-key'));
    await expect(run({ remove: true })).rejects.toThrow(/our SSH key .* is not there/);
    expect(existsSync(join(dir, 'ssh-key'))).toBe(false);
  });
});

test('the status shows holds with cause and end, the shelf, and unfinished creations', async () => {
  const [slotId] = slotIds();
  await bmdb.providerHolds.impose({
    provider: METAL,
    kind: 'throttle',
    key: 'create',
    forMs: 90_000,
    level: 2,
    cause: 'too many requests',
  });
  await server.sql.query(`INSERT INTO provider_holds (provider, kind, key, until, cause)
    VALUES ('metal', 'penalty', 'slot-x', now() + interval '1 hour', 'it was refused')`);
  const session = await bmdb.openSession({
    component: 'shepherd',
    runtimeInfo: 'test',
    intervalMs: 60_000,
  });
  await session.lease('provisioner/metal');
  await session.intents.open({ provider: METAL, slotId: slotId!, hostname: 'h' });
  const text = await providerStatus({ ...reading(), live: true });
  expect(text).toContain(`provisioner  session ${session.sessionId}`);
  expect(text).toMatch(/throttle create +until \d{4}-.* 2 in a row +too many requests/);
  expect(text).toMatch(/slot-x +until \d{4}-.* it was refused/);
  expect(text).toMatch(new RegExp(`${slotId} +open +0 attempts`));
  expect(text).toContain('complete; 5 entries, 5 KnownUnused');
  await session.close();
});

test('A8: the status tells since when and why a provider cannot be listed', async () => {
  expect(await providerStatus({ ...reading(), live: false })).not.toContain('LISTED');
  const open = () =>
    bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs: 60_000 });
  const [session, other] = [await open(), await open()];
  const { sessionId } = session;
  await bmdb.listings.failed({ provider: METAL, sessionId, cause: 'connect ECONNREFUSED' });
  await server.sql.query(
    `UPDATE provider_listings SET failing_since = now() - interval '20 minutes'`,
  );
  expect(await providerStatus({ ...reading(), live: false })).toMatch(
    /CANNOT BE LISTED +since \S+ \S+ \(20m ago\) by 1 of 2 daemons: connect ECONNREFUSED/,
  );
  const { providers } = JSON.parse(await providerStatus({ ...reading(), json: true, live: false }));
  expect(providers[0].unlisted.text).toContain('ECONNREFUSED');
  await other.close();
  await session.close();
});

let keys = 0;
/** Through the door of the database; a request is filed, and daemons carry it out. */
async function asked(...args: string[]) {
  const config = loadConfig({ file, env: process.env });
  const around = { bmdb, config, clock: systemClock, random: systemRandom };
  const door = openDatabaseDoor({ ...around, by: 'ann', version: 'test', where: file });
  const still = { monotonic: systemClock.monotonic, sleep: async () => undefined };
  const means = { door, ...still, keysUsed: (keys += 10) };
  try {
    return await runThrough(means, ['provider', ...args]);
  } finally {
    await door.close();
  }
}
const filed = () => bmdb.requests.list({ limit: 100 }, AbortSignal.timeout(240_000));

test('slots leave the shelf by name, or all of them with their number', async () => {
  const shelve = (slotId: string) =>
    server.sql.query(`INSERT INTO provider_holds (provider, kind, key, until, cause)
      VALUES ('metal', 'penalty', '${slotId}', now() + interval '1 hour', 'refused')`);
  for (const slotId of ['a', 'b', 'c']) await shelve(slotId);
  const clear = (...args: string[]) => asked('clear', ...args, '--wait', '0s');
  const refused = async (code: number, says: string, ...args: string[]) =>
    expect(await clear(...args), args.join(' ')).toMatchObject({
      ...{ code, stdout: '', stderr: expect.stringContaining(says) },
    });
  await refused(2, 'say what: slots by their ids', 'metal');
  await refused(1, 'z: not on the shelf of metal; nothing was done', 'metal', 'a', 'z');
  await refused(2, 'confirm with --expect-count 3', 'metal', '--all-slots');
  await refused(2, 'not 2; nothing was done', 'metal', '--all-slots', '--expect-count', '2');
  await refused(1, 'no provider is named nobody; there is metal', 'nobody', 'b');
  expect(await filed()).toEqual([]);
  expect(await clear('metal', 'a')).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^clear-provider metal: filed/) },
  });
  expect((await asked('status', 'metal')).stdout).toMatch(/on the shelf:\n +metal\/a +until/);
  const all = await clear('metal', '--all-slots', '--expect-count', '3');
  expect(all).toMatchObject({ code: 0 });
  expect(await filed()).toHaveLength(2);
});

test('holds of a kind are asked to be ended', async () => {
  expect(await asked('clear', 'metal', '--hold', 'throttle', '--wait', '0s')).toMatchObject({
    code: 0,
  });
  expect(await filed()).toMatchObject([{ verb: 'clear-provider', by: 'ann', provider: METAL }]);
});

describe('records of a provider that is not configured', () => {
  const run = (change: object = {}) => swept({ provider: 'barn', ...change });
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
    await expect(run({ remove: true, expectCount: 2 })).rejects.toThrow('1 machines of barn');
    await daemon.close();
    expect(await left()).toEqual(all);
  });
});
