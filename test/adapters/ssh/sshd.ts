import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import ssh2 from 'ssh2';
import { encodeOpensshKey } from '../../../src/adapters/ssh/key-file.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { bootIdVariable, killAll, processesByMachine } from '../../../emulators/hosts/processes.ts';
import { rawKey } from './keys.ts';

const SSHD = '/usr/sbin/sshd';
const SFTP_SERVERS = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server'];
/** Compiled into Debian's sshd, which does not start as root without it. */
const PRIVILEGE_SEPARATION = '/run/sshd';

export interface SshdOptions {
  /** Lines of `authorized_keys`. */
  readonly authorizedKeys: readonly string[];
  /**
   * External: the separate program of the distributions. Without SFTP the server cannot receive
   * files.
   */
  readonly sftp?: 'external' | 'absent';
  /** OpenSSH PEM. Default: a new key. */
  readonly hostKey?: string;
  /** Largest file that may be written through it, in bytes. Larger writes fail. */
  readonly fileBytesMax?: number;
  /** Where its users find programs. Default: as on a usual system. */
  readonly path?: string;
  /** The `sudo` to use. Default: the system's. */
  readonly sudo?: string;
  /** Number of ports (1). */
  readonly ports?: number;
  /** Lines of `sshd_config`. They precede ours, so they take effect. */
  readonly settings?: readonly string[];
}

/** An OpenSSH sshd, started for a test. */
export interface Sshd {
  readonly target: { readonly host: string; readonly port: number; readonly username: string };
  /** All its ports. That of `target` comes first. */
  readonly ports: readonly number[];
  /** Id of the listening process. */
  readonly pid: number;
  /** Base64 of the wire blob. */
  readonly hostKey: string;
  /** Home of its users, empty at first. Removed with its contents at the end. */
  readonly home: string;
  /** The log so far. */
  readonly log: readonly string[];
  /** Processes of logged-in users, and their leftovers. */
  pids(): readonly number[];
  /** Ends it and every process started through it. */
  stop(): Promise<void>;
}

/**
 * Starts OpenSSH's sshd on a loopback port: never as the system's service, and with its own host
 * key, users' keys and home. @throws {Error} it is not installed, or does not start.
 */
export async function startSshd(options: SshdOptions): Promise<Sshd> {
  assertInstalled();
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-sshd-'));
  const home = join(dir, 'home');
  await mkdir(home, { mode: 0o700 });
  if (userInfo().uid === 0) await mkdir(PRIVILEGE_SEPARATION, { recursive: true, mode: 0o755 });
  const hostKey = options.hostKey ?? newHostKey();
  const log: string[] = [];
  const started = await startOnFreePort(dir, { ...options, hostKey }, log).catch(
    async (error: unknown) => {
      await rm(dir, { recursive: true, force: true });
      throw error;
    },
  );
  const mark = markOf(dir);
  const pids = () => processesByMachine().get(mark) ?? [];
  return {
    target: { host: '127.0.0.1', port: started.ports[0]!, username: userInfo().username },
    ports: started.ports,
    pid: started.child.pid!,
    hostKey: publicHalf(hostKey),
    home,
    log,
    pids,
    async stop() {
      await end(started.child);
      await killAll(pids);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function assertInstalled(): void {
  if (existsSync(SSHD)) return;
  throw new Error(
    `${SSHD} is missing: these tests want OpenSSH's own server and client; ` +
      'install them with "apt-get install openssh-server openssh-client"',
  );
}

/** A new host key, as `sshd` reads it. */
export function newHostKey(): string {
  const raw = rawKey();
  return encodeOpensshKey(raw.subarray(0, 32), raw.subarray(32));
}

function publicHalf(pem: string): string {
  const key = ssh2.utils.parseKey(pem);
  if (key instanceof Error) throw key;
  return key.getPublicSSH().toString('base64');
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Value of the variable in the environment of everything that runs through this sshd. */
const markOf = (dir: string) => join(dir, 'boot_id');

const portsTaken = new Set<number>();
const ATTEMPTS_MAX = 5;

async function startOnFreePort(
  dir: string,
  options: SshdOptions & { readonly hostKey: string },
  log: string[],
) {
  for (let attempt = 1; ; attempt += 1) {
    const ports: number[] = [];
    for (let more = options.ports ?? 1; more > 0; more -= 1) {
      ports.push(await takeFreePort(portsTaken));
    }
    await writeFiles(dir, ports, options);
    const child = run([SSHD, '-D', '-e', '-f', join(dir, 'sshd_config')], options.fileBytesMax);
    if (await listens(child, ports.length, log)) return { child, ports };
    await end(child);
    if (attempt === ATTEMPTS_MAX || !log.some((line) => line.includes('Address already in use'))) {
      throw new Error(`sshd does not start: ${log.join('; ')}`);
    }
  }
}

async function writeFiles(
  dir: string,
  ports: readonly number[],
  options: SshdOptions & { readonly hostKey: string },
): Promise<void> {
  const home = join(dir, 'home');
  const keys = join(dir, 'authorized_keys');
  await writeFile(join(dir, 'host_key'), options.hostKey, { mode: 0o600 });
  await writeFile(keys, options.authorizedKeys.map((line) => `${line}\n`).join(''));
  await writeFile(markOf(dir), '11111111-2222-4333-8444-555555555555\n');
  const bin = join(dir, 'bin');
  await mkdir(bin, { recursive: true });
  if (options.sudo !== undefined) {
    await writeFile(join(bin, 'sudo'), options.sudo, { mode: 0o755 });
  }
  const environment = {
    [bootIdVariable]: markOf(dir),
    HOME: home,
    PATH: options.path ?? [bin, dirname(process.execPath), systemPath].join(':'),
  };
  const lines = [
    ...(options.settings ?? []),
    ...ports.map((port) => `ListenAddress 127.0.0.1:${port}`),
    `HostKey ${join(dir, 'host_key')}`,
    `AuthorizedKeysFile ${keys}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'UseDNS no',
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'MaxStartups 200',
    'LogLevel VERBOSE',
    `SetEnv ${Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
    ...(options.sftp === 'absent' ? [] : [`Subsystem sftp ${sftpServer()} -d ${home}`]),
    ...(knowsPenalties() ? ['PerSourcePenalties no'] : []),
  ];
  await writeFile(join(dir, 'sshd_config'), `${lines.join('\n')}\n`);
}

/** A separate process, so that it can be told from sshd and stopped. */
const sftpServer = () => SFTP_SERVERS.find((path) => existsSync(path)) ?? 'internal-sftp';

/** From 9.8 on a source is locked out for a while after failed logins. */
function knowsPenalties(): boolean {
  const { stderr } = spawnSync(SSHD, ['-V'], { encoding: 'utf8' });
  const [, major = 0, minor = 0] = /OpenSSH_(\d+)\.(\d+)/.exec(stderr) ?? [];
  return Number(major) > 9 || (Number(major) === 9 && Number(minor) >= 8);
}

/** The limit makes writes fail, like a quota, instead of killing the writer. */
function run(argv: readonly string[], fileBytesMax?: number): ChildProcess {
  const limited = `trap "" XFSZ; ulimit -f ${Math.floor((fileBytesMax ?? 0) / 512)}; exec "$@"`;
  const [program, ...args] =
    fileBytesMax === undefined ? argv : ['/bin/sh', '-c', limited, 'sh', ...argv];
  return spawn(program!, args, { stdio: ['ignore', 'ignore', 'pipe'], env: {} });
}

/** Whether it listens on this many ports. Also false when it has ended. */
function listens(child: ChildProcess, ports: number, log: string[]): Promise<boolean> {
  let left = ports;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve(false));
    createInterface(child.stderr!).on('line', (line) => {
      log.push(line);
      if (line.startsWith('Server listening on') && (left -= 1) === 0) resolve(true);
      if (line.startsWith('Bind to port')) resolve(false);
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
