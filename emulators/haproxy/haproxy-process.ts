import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../hosts/processes.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

/** Usual directories of distributions, which few users have in their path. */
const USUAL_PATHS = ['/usr/sbin', '/usr/local/sbin'];

/** Full path of the installed HAProxy; null: not installed. */
export function findHaproxy(env: NodeJS.ProcessEnv = process.env): string | null {
  const directories = [...(env['PATH'] ?? '').split(delimiter).filter(Boolean), ...USUAL_PATHS];
  const paths = directories.map((directory) => join(directory, 'haproxy'));
  return paths.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface HaproxyOptions {
  /** Directory for all files, which then survives the end; default: a temporary directory. */
  readonly dir?: string;
  /** Called when it ends unexpectedly. @param words its last log lines. */
  readonly onDeath?: (words: string) => void;
  /** Lines of the operator's own configuration, after the necessary ones. */
  readonly base?: readonly string[];
}

/**
 * A separate HAProxy, set up for Shepherd like the system's: master and workers, the operator's
 * file and a directory of generated files, all in one directory. However this process ends, HAProxy
 * ends too: by `stop`, `abandon`, or a watchdog.
 */
export interface Haproxy {
  readonly program: string;
  readonly dir: string;
  readonly masterSocket: string;
  /** The operator's own file. */
  readonly baseFile: string;
  /** Directory of the generated files; empty at first. */
  readonly poolsDir: string;
  /** Its log so far. */
  readonly log: readonly string[];
  /** Process id of the present master. */
  pid(): number;
  /** Stops it as the system does, and restarts it with the present files. */
  restart(): Promise<void>;
  /** Stops it without removing anything. */
  halt(): Promise<void>;
  /** Starts it after `halt`. */
  start(): Promise<void>;
  /** Stops it, and removes its directory unless the caller gave it. */
  stop(): Promise<void>;
  /** Kills it without waiting. */
  abandon(): void;
}

const START_PATIENCE_MS = 30_000;
const END_PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 25;
const LOG_LINES_MAX = 2_000;

/** Starts it without privileges. @throws {Error} it is not installed, or does not start. */
export async function startHaproxy(options: HaproxyOptions = {}): Promise<Haproxy> {
  const { base = [], onDeath } = options;
  const program = findHaproxy();
  if (program === null) throw new Error('haproxy is not installed: apt-get install haproxy');
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'shepherd-haproxy-')));
  const baseFile = join(dir, 'base.cfg');
  const poolsDir = join(dir, 'pools');
  const sockets = await socketsIn(dir);
  const { masterSocket } = sockets;
  const removed = [...sockets.removed, ...(options.dir === undefined ? [dir] : [])];
  const log: string[] = [];
  let child: ChildProcess | null = null;
  let watchdog: Watchdog | null = null;
  /** The child whose end is expected, or reported by throwing. */
  let expected: ChildProcess | null = null;
  const start = async () => {
    const args = ['-W', '-S', masterSocket, '-f', baseFile, '-f', poolsDir];
    // In its own process group, so that Ctrl-C at a terminal does not reach it.
    const started = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: dir,
      detached: true,
    });
    child = started;
    expected = started;
    for (const stream of [started.stdout, started.stderr]) {
      createInterface(stream).on('line', (line) => {
        log.push(line);
        if (log.length > LOG_LINES_MAX) log.shift();
      });
    }
    const watching = startWatchdog(started.pid, removed);
    watchdog = watching;
    started.once('exit', () => {
      watching.dismiss();
      if (expected !== started) onDeath?.(lastWords(log));
    });
    await up(started, masterSocket, log);
    expected = null;
  };
  const halt = async () => {
    expected = child;
    if (child !== null) await end(child);
    watchdog?.dismiss();
  };
  const clean = () =>
    Promise.all(removed.map((path) => rm(path, { recursive: true, force: true })));
  try {
    await mkdir(poolsDir, { recursive: true, mode: 0o700 });
    await writeFile(baseFile, [...BASE, ...base, ''].join('\n'));
    await start();
  } catch (error) {
    await halt();
    await clean();
    throw error;
  }
  return {
    ...{ program, dir, masterSocket, baseFile, poolsDir, log },
    pid: () => child!.pid!,
    start,
    halt,
    async restart() {
      await halt();
      await start();
    },
    async stop() {
      await halt();
      await clean();
    },
    abandon() {
      expected = child;
      if (child?.pid !== undefined) signalProcess(child.pid, 'SIGKILL');
    },
  };
}

/** A socket path has at most 107 bytes, and HAProxy adds some temporarily. */
const SOCKET_PATH_MAX = 90;

/** Its socket's directory: its own directory, unless that path is too long. */
async function socketsIn(dir: string) {
  const masterSocket = join(dir, 'master.sock');
  if (Buffer.byteLength(masterSocket) <= SOCKET_PATH_MAX) {
    return { masterSocket, removed: [masterSocket] };
  }
  const short = await mkdtemp(join(tmpdir(), 'shepherd-haproxy-'));
  return { masterSocket: join(short, 'master.sock'), removed: [short] };
}

const lastWords = (log: readonly string[]): string => log.slice(-5).join('; ');

/** Without this limit an old worker would live as long as its clients keep connections. */
const BASE = ['global', '  maxconn 2000', '  hard-stop-after 10m'];

/** Waits until the master answers and has a worker. @throws {Error} it ended first. */
async function up(child: ChildProcess, socket: string, log: readonly string[]): Promise<void> {
  const failures: Error[] = [];
  child.once('error', (error) => failures.push(error));
  const untilMs = performance.now() + START_PATIENCE_MS;
  while (performance.now() < untilMs) {
    if (failures.length > 0) throw failures[0]!;
    if (hasEnded(child)) break;
    if (/^\d+\s+worker\s/m.test(await ask(socket, 'show proc'))) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`haproxy does not start: ${lastWords(log)}`);
}

/** The master's answer to a command; empty: no answer. */
export function ask(socket: string, command: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const connection = connect(socket);
    connection.setEncoding('utf8');
    connection.on('data', (text: string) => (answer += text));
    connection.on('error', () => resolve(''));
    connection.on('close', () => resolve(answer));
    // It answers once our side ends.
    connection.end(`${command}\n`);
  });
}

const hasEnded = ({ exitCode, signalCode, pid }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null || pid === undefined;

/** Its workers end with it. */
async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const late = new AbortController();
  const kill = sleep(END_PATIENCE_MS, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await gone;
  late.abort();
  await kill;
}
