import { execFile, spawn } from 'node:child_process';
import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { platform } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DISK_FULL, NotWritable, RemoteFailure, Unreachable } from '../../../domain/errors.ts';
import type { Log } from '../../log/port.ts';
import { isAlive, markInitialised, openDataDirectory, runningServer } from './data-directory.ts';
import type { DataDirectory } from './data-directory.ts';
import { chooseAccount, findBinaries, programsIn } from './postgres-binaries.ts';
import type { Account, PostgresBinaries } from './postgres-binaries.ts';
import { ensureRoles, OWNER_ROLE, RUNNING_ROLE } from './roles.ts';

const run = promisify(execFile);
const DATABASE = 'postgres';
const PORT_ATTEMPTS = 5;

/** An embedded PostgreSQL server that listens on 127.0.0.1 only. */
export interface EmbeddedPostgres {
  /** URL for daemons, with the running role, which has only the rights that `migrate` granted. */
  readonly url: string;
  /** URL for `migrate`, with the role that owns everything. */
  readonly ownerUrl: string;
  /** Name of the running role, as `migrate` needs it. */
  readonly role: string;
  /** True if the directory was created for this run; `stop` removes it. */
  readonly throwaway: boolean;
  /** Stops the server and waits until it has ended. May be repeated. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir?: string;
  readonly log: Log;
  readonly installation?: Installation;
}

/**
 * Another PostgreSQL instead of the bundled one, with its default settings except for the listening
 * address and `settings`.
 */
export interface Installation {
  /** Directory of `initdb` and `pg_ctl`. */
  readonly bin: string;
  /** For example `jit_above_cost=0`. */
  readonly settings: readonly string[];
}

/**
 * Starts a server on `dataDir`, which is created if missing, or on a throw-away directory if
 * absent. First stops a server that a killed process left behind. A watchdog stops the server if
 * this process is killed.
 * @throws {UsageError} another living process uses the directory.
 * @throws {Unreachable} the server did not start; the message quotes the server. `NotWritable`: the
 *   disk is full.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { installation } = options;
  const account = await chooseAccount();
  const binaries = installation ? programsIn(installation.bin) : await findBinaries(account);
  const throwaway = options.dataDir === undefined;
  const discarded = (root: string) => [
    ...(binaries.copy ? [binaries.copy] : []),
    ...(throwaway ? [root] : []),
  ];
  const directory = await openDataDirectory(options.dataDir, account).catch(async (error) => {
    await removeAll(discarded(''));
    throw error;
  });
  const server = { account, binaries, directory, throwaway, installation, log: options.log };
  const clean = async () => {
    await directory.release();
    await removeAll(discarded(directory.root));
  };
  let dismissWatchdog = (): void => undefined;
  try {
    await stopServer(server);
    if (!directory.initialised) await initialise(server);
    const port = await startServer(server);
    dismissWatchdog = await startWatchdog(server, discarded(directory.root));
    await ensureRoles((role, password) => urlFor(port, role, password), directory.passwords);
    return handle(server, port, async () => {
      await stopServer(server);
      dismissWatchdog();
      await clean();
    });
  } catch (error) {
    await stopServer(server).catch((late: unknown) => {
      options.log.warn({ err: late }, 'the embedded database was not stopped');
    });
    dismissWatchdog();
    await clean();
    throw error;
  }
}

interface Server {
  readonly account: Account;
  readonly binaries: PostgresBinaries;
  readonly directory: DataDirectory;
  readonly throwaway: boolean;
  readonly installation: Installation | undefined;
  readonly log: Log;
}

function handle(server: Server, port: number, end: () => Promise<void>): EmbeddedPostgres {
  let ending: Promise<void> | null = null;
  const { running, owner } = server.directory.passwords;
  return {
    url: urlFor(port, RUNNING_ROLE, running),
    ownerUrl: urlFor(port, OWNER_ROLE, owner),
    role: RUNNING_ROLE,
    throwaway: server.throwaway,
    stop: () => (ending ??= end()),
  };
}

const urlFor = (port: number, role: string, password: string) =>
  `postgresql://${role}:${password}@127.0.0.1:${port}/${DATABASE}`;

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const each of paths) {
    if (each !== '') await rm(each, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * The server's account may be unable to reach the cluster by its path (below root's home). The
 * working directory always works, because it is set before the account changes.
 */
const clusterName = (server: Server) =>
  platform() === 'linux' ? '/proc/self/cwd' : server.directory.cluster;

const spawnOptions = (server: Server) => ({
  cwd: server.directory.cluster,
  ...server.account,
  env: environment(),
});

/**
 * Other processes of the same account can read a process's environment in /proc, and ours holds the
 * daemon's secrets. So the server and the watchdog get only what a program needs to be found and
 * run.
 */
const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    ['PATH', 'TMPDIR', 'TZ', 'SystemRoot']
      .map((name) => [name, process.env[name]])
      .filter(([, value]) => value !== undefined),
  ),
  LC_ALL: 'C',
});

async function initialise(server: Server): Promise<void> {
  const { root, passwords } = server.directory;
  const file = path.join(root, 'initdb-password');
  try {
    await writeFile(file, passwords.owner, { mode: 0o600 });
    if (server.account) await chown(file, server.account.uid, server.account.gid);
    const args = ['-U', OWNER_ROLE, '-A', 'scram-sha-256', '--pwfile=../initdb-password'];
    const locale = ['--encoding=UTF8', `--locale=${server.installation ? 'C.UTF-8' : 'C'}`];
    const sync = server.throwaway ? ['--no-sync'] : [];
    await run(
      server.binaries.initdb,
      ['-D', clusterName(server), ...args, ...locale, ...sync],
      spawnOptions(server),
    );
    await markInitialised(root);
  } catch (error) {
    throw failure(`could not create the embedded database in ${root}`, String(error), error);
  } finally {
    await rm(file, { force: true });
  }
}

/** @param said output of PostgreSQL's programs, which report a full disk only in words. */
const failure = (what: string, said: string, cause: unknown): Unreachable =>
  said.includes('No space left on device')
    ? new NotWritable(`${DISK_FULL}: ${what}`, { cause })
    : new Unreachable(what, { cause });

async function startServer(server: Server): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      await control(server, ['start', '-l', 'server.log', '-t', '60', '-o', flags(server, port)]);
      return port;
    } catch (error) {
      const said = await lastWords(server);
      if (attempt < PORT_ATTEMPTS && /address already in use/i.test(said)) continue;
      throw failure(`the embedded database did not start: ${said}`, said, error);
    }
  }
}

function flags(server: Server, port: number): string {
  const { installation, throwaway } = server;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    ...(installation?.settings ?? [
      'max_connections=200',
      ...(throwaway ? ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'] : []),
    ]),
  ];
  return [`-p ${port}`, ...settings.map((each) => `-c ${each}`)].join(' ');
}

async function stopServer(server: Server): Promise<void> {
  const { cluster } = server.directory;
  const pid = await runningServer(cluster);
  if (pid === null) {
    await rm(path.join(cluster, 'postmaster.pid'), { force: true });
    return;
  }
  try {
    await control(server, ['stop', '-m', 'fast', '-t', '20']);
  } catch (error) {
    if ((await runningServer(cluster)) !== null) {
      server.log.warn({ err: error }, 'the embedded database had to be killed');
      await control(server, ['stop', '-m', 'immediate', '-t', '20']);
    }
  }
  // The server deletes its pid file a moment before it ends.
  for (let tries = 0; tries < 200 && (await isAlive(pid)); tries++) await setTimeout(25);
}

/** `pg_ctl` detaches the server from our terminal, so that Ctrl-C does not end it before us. */
const control = (server: Server, args: string[]) =>
  run(server.binaries.pgCtl, ['-D', clusterName(server), '-s', '-w', ...args], {
    ...spawnOptions(server),
  });

async function lastWords(server: Server): Promise<string> {
  const file = path.join(server.directory.cluster, 'server.log');
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-3).join(' | ') || 'it wrote no log';
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === 'object' && address) resolve(address.port);
        else reject(new RemoteFailure('no free port on 127.0.0.1'));
      });
    });
  });
}

/**
 * Starts a shell that waits for the end of our pipe, which also comes when this process is killed.
 * The shell then stops the server and removes throw-away files.
 * @returns a function that dismisses the shell.
 */
async function startWatchdog(server: Server, discarded: readonly string[]): Promise<() => void> {
  const pid = await runningServer(server.directory.cluster);
  if (pid === null) throw new Unreachable('the embedded database ended right after its start');
  const script =
    'read -r _; p=$1; f=$2; shift 2; kill -INT "$p"; n=0; ' +
    'while [ -e "$f" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done; ' +
    'if [ $# -gt 0 ]; then sleep 0.2; rm -rf -- "$@"; fi';
  const pidFile = path.join(server.directory.cluster, 'postmaster.pid');
  const child = spawn('sh', ['-c', script, 'watchdog', String(pid), pidFile, ...discarded], {
    cwd: '/',
    env: environment(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', (error) => server.log.warn({ err: error }, 'the database has no watchdog'));
  // The shell is dismissed while its input is open, so a broken pipe is expected.
  child.stdin.on('error', () => undefined);
  child.unref();
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
  return () => {
    child.kill('SIGKILL');
    child.stdin.destroy();
  };
}
