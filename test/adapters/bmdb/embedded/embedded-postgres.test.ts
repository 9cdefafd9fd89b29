import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  complaintAboutDataDirectory,
  isAlive,
  openDataDirectory,
  runningServer,
} from '../../../../src/adapters/bmdb/embedded/data-directory.ts';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain, NotWritable } from '../../../../src/domain/errors.ts';
import { PATIENCE } from '../../../support/patience.ts';

let base: string;
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'shepherd-test-'));
  await chmod(base, 0o755);
});
afterEach(() => rm(base, { recursive: true, force: true }));

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, log: silentLog });

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

interface ProcessEntry {
  readonly parent: number;
  readonly command: string;
}

/** Environments of the given processes, as /proc shows them to their own account. */
async function environmentsOf(
  isMeant: (pid: number, ran: ProcessEntry) => boolean,
): Promise<string[][]> {
  const found: string[][] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const parent = Number(/^PPid:\t(\d+)$/m.exec(await read('status'))?.[1]);
    if (!isMeant(pid, { parent, command: await read('cmdline') })) continue;
    found.push((await read('environ')).split('\0').filter(Boolean));
  }
  return found;
}

/** Another process that starts a server on the directory and waits for its kill. */
async function startInChild(dataDir: string, temporary = tmpdir()) {
  const module = new URL(
    '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts',
    import.meta.url,
  ).href;
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
    const dataDir = process.argv[1] || undefined;
    await startEmbeddedPostgres(dataDir ? { dataDir, log } : { log });
    console.log('started');
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary },
  });
  await once(child.stdout, 'data');
  return child;
}

describe('the embedded PostgreSQL', () => {
  it('keeps its data and password over a restart', async () => {
    const dataDir = path.join(base, 'data');
    const first = await start(dataDir);
    expect(first.throwaway).toBe(false);
    await query(first.ownerUrl, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    await first.stop();
    expect((await stat(path.join(dataDir, 'password'))).mode & 0o777).toBe(0o600);
    const second = await start(dataDir);
    expect(await query(second.ownerUrl, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    await second.stop();
    expect(await runningServer(path.join(dataDir, 'cluster'))).toBeNull();
  });

  it('creates the passwords later that a full disk prevented', async () => {
    const dataDir = path.join(base, 'data');
    const open = async () => {
      const { passwords, release } = await openDataDirectory(dataDir, null);
      await release();
      return passwords;
    };
    await mkdir(dataDir);
    await writeFile(path.join(dataDir, 'password'), '', { mode: 0o600 });
    const made = await open();
    expect(made.running).toMatch(/^[\w-]{32}$/);
    expect(await open()).toEqual(made);
  });

  it('reports a full disk when a program of PostgreSQL does', async () => {
    const bin = path.join(base, 'bin');
    await mkdir(bin, { mode: 0o755 });
    const script =
      '#!/bin/sh\necho "initdb: error: could not write: No space left on device" >&2\nexit 1\n';
    for (const name of ['initdb', 'pg_ctl', 'postgres']) {
      await writeFile(path.join(bin, name), script, { mode: 0o755 });
    }
    const begun = startEmbeddedPostgres({
      ...{ dataDir: path.join(base, 'data'), log: silentLog },
      installation: { bin, settings: [] },
    });
    const error = await begun.catch((cause: unknown) => cause);
    expect(explain(error)).toMatch(
      /^the disk is full; make room on it: could not create the embedded/,
    );
    expect(error).toBeInstanceOf(NotWritable);
  });

  it('listens on 127.0.0.1 only and asks for the password', async () => {
    const server = await start(path.join(base, 'data'));
    const settings = `SELECT current_setting('listen_addresses') AS addresses,
      current_setting('unix_socket_directories') AS sockets`;
    expect(await query(server.ownerUrl, settings)).toEqual([
      { addresses: '127.0.0.1', sockets: '' },
    ]);
    for (const url of [server.url, server.ownerUrl]) {
      const wrong = new URL(url);
      wrong.password = 'wrong';
      await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    }
    await server.stop();
  });

  it('has an owner, and a role with granted rights only', async () => {
    const server = await start(path.join(base, 'data'));
    const powers = `SELECT current_user::text AS me, rolsuper AS powerful FROM pg_roles
      WHERE rolname = current_user`;
    expect(await query(server.ownerUrl, powers)).toEqual([
      { me: 'shepherd_owner', powerful: true },
    ]);
    expect(await query(server.url, powers)).toEqual([{ me: server.role, powerful: false }]);
    await expect(query(server.url, 'CREATE TABLE mine ()')).rejects.toMatchObject({
      code: '42501',
    });
    await server.stop();
  });

  it('B5: does not use a cluster or passwords that another user may have placed', async () => {
    const dataDir = path.join(base, 'planted');
    await mkdir(path.join(dataDir, 'cluster'), { recursive: true });
    for (const name of ['initialised', 'password', 'owner-password']) {
      await writeFile(path.join(dataDir, name), 'known');
    }
    await chmod(dataDir, 0o777);
    await expect(openDataDirectory(dataDir, null)).rejects.toThrow('other users may write to');
    expect(complaintAboutDataDirectory(dataDir)).toMatch('other users may write to');
    await chmod(dataDir, 0o755);
    const mine = process.geteuid!();
    if (mine === 0) await chown(dataDir, 65_534, 65_534);
    vi.spyOn(process, 'geteuid').mockReturnValue(mine + 1000);
    await expect(openDataDirectory(dataDir, null)).rejects.toThrow('belongs to another user');
    expect(await readdir(dataDir)).not.toContain('owner');
    vi.restoreAllMocks();
    const empty = path.join(base, 'empty');
    await mkdir(empty);
    await chmod(empty, 0o777);
    await (await openDataDirectory(empty, null)).release();
    expect((await stat(empty)).mode & 0o777).toBe(0o711);
  });

  it('B5: keeps a password per role in files that only we can read', async () => {
    const dataDir = path.join(base, 'data');
    const server = await start(dataDir);
    const [running, owner] = [new URL(server.url), new URL(server.ownerUrl)];
    expect(running.password).not.toBe(owner.password);
    for (const [file, url] of Object.entries({ password: running, 'owner-password': owner })) {
      expect((await stat(path.join(dataDir, file))).mode & 0o777).toBe(0o600);
      expect(await readFile(path.join(dataDir, file), 'utf8')).toBe(url.password);
    }
    owner.password = running.password;
    await expect(query(owner.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    await server.stop();
  });

  it('B5: hides the daemon’s secrets from server and watchdog', async () => {
    process.env['CANARY_TOKEN'] = 'a-secret-of-the-daemon';
    const dataDir = path.join(base, 'data');
    const server = await start(dataDir);
    try {
      const postmaster = (await runningServer(path.join(dataDir, 'cluster')))!;
      const environments = await environmentsOf((pid, { parent, command }) => {
        const isServer = pid === postmaster || parent === postmaster;
        return isServer || (command.includes('watchdog') && command.includes(String(postmaster)));
      });
      // The server, its first child processes, and the watchdog.
      expect(environments.length).toBeGreaterThan(3);
      const names = environments.flatMap((each) => each.map((line) => line.split('=')[0]!));
      const allowed = ['PATH', 'TMPDIR', 'TZ', 'LC_ALL', 'PWD', 'SHLVL', '_'];
      // The server itself adds its own variables.
      expect([...new Set(names)].filter((name) => !/^(PG|LC_)/.test(name))).toEqual(
        expect.toSatisfy((found: string[]) => found.every((name) => allowed.includes(name))),
      );
      expect(environments.flat().join('\n')).not.toContain('a-secret-of-the-daemon');
    } finally {
      delete process.env['CANARY_TOKEN'];
      await server.stop();
    }
  });

  it('takes over from a killed process', async () => {
    const dataDir = path.join(base, 'data');
    const child = await startInChild(dataDir);
    const orphan = await runningServer(path.join(dataDir, 'cluster'));
    expect(orphan).not.toBeNull();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const server = await start(dataDir);
    expect(await runningServer(path.join(dataDir, 'cluster'))).not.toBe(orphan);
    expect(await isAlive(orphan!)).toBe(false);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('stops by itself when its process is killed', async () => {
    const dataDir = path.join(base, 'data');
    const child = await startInChild(dataDir);
    const pid = (await runningServer(path.join(dataDir, 'cluster')))!;
    child.kill('SIGKILL');
    await vi.waitUntil(async () => !(await isAlive(pid)), PATIENCE);
  });

  it('ignores a stale process number', async () => {
    const dataDir = path.join(base, 'data');
    await (await start(dataDir)).stop();
    const stale = `${process.pid}\n${path.join(dataDir, 'cluster')}\n0\n5432\n`;
    await writeFile(path.join(dataDir, 'cluster', 'postmaster.pid'), stale);
    const server = await start(dataDir);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('refuses a directory that is in use or holds something else', async () => {
    const dataDir = path.join(base, 'data');
    const server = await start(dataDir);
    const refusal = await start(dataDir).catch((error: unknown) => error);
    expect(codeOf(refusal)).toBe('usage');
    expect(String(refusal)).toContain(`in use by process ${process.pid}`);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
    const foreign = path.join(base, 'foreign');
    await mkdir(foreign);
    await writeFile(path.join(foreign, 'letter.txt'), 'dear');
    expect(codeOf(await start(foreign).catch((error: unknown) => error))).toBe('usage');
    expect(await readdir(foreign)).toEqual(['letter.txt']);
  });

  it('works below a directory that is closed to others', async () => {
    const closed = path.join(base, 'closed');
    await mkdir(closed, { mode: 0o700 });
    await chmod(closed, 0o700);
    const server = await start(path.join(closed, 'data'));
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('starts an interrupted initialisation again', async () => {
    const dataDir = path.join(base, 'data');
    await mkdir(path.join(dataDir, 'cluster'), { recursive: true });
    await writeFile(path.join(dataDir, 'cluster', 'PG_VERSION'), '18\n');
    const server = await start(dataDir);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('removes a throw-away directory', async () => {
    const server = await startEmbeddedPostgres({ log: silentLog });
    expect(server.throwaway).toBe(true);
    const sql = `SELECT pg_read_file('postmaster.pid') AS pid`;
    const [row] = (await query(server.ownerUrl, sql)) as { pid: string }[];
    const pid = Number.parseInt(row!.pid, 10);
    const setting = `SELECT current_setting('data_directory') AS at`;
    const [root] = (await query(server.ownerUrl, setting)) as { at: string }[];
    const cluster = await readlink(`/proc/${pid}/cwd`).catch(() => root!.at);
    expect((await stat(cluster)).isDirectory()).toBe(true);
    await server.stop();
    expect(await isAlive(pid)).toBe(false);
    await expect(stat(path.dirname(cluster))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('removes a throw-away directory when its process is killed', async () => {
    const child = await startInChild('', base);
    const [made] = await readdir(base);
    const pid = (await runningServer(path.join(base, made!, 'cluster')))!;
    child.kill('SIGKILL');
    await vi.waitUntil(async () => (await readdir(base)).length === 0, PATIENCE);
    expect(await isAlive(pid)).toBe(false);
  });
});
