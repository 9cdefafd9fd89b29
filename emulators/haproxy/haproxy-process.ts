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

/** Where distributions put it, though few users have these in their path. */
const USUAL_PATHS = ['/usr/sbin', '/usr/local/sbin'];

/** Full path of the installed HAProxy; null: there is none. */
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
  /** Where everything of it is kept, also when it has ended; absent: a directory that is removed then. */
  readonly dir?: string;
  /** It ended, and nobody had asked for that. @param words what it logged last. */
  readonly onDeath?: (words: string) => void;
  /** Lines of the operator's own configuration, after those without which it would not work. */
  readonly base?: readonly string[];
}

/**
 * An HAProxy of its own, as the system's would be set up for Shepherd: master and workers, a file of
 * the operator's, and a directory of generated ones, all in one directory. However this process ends,
 * HAProxy ends: by `stop`, by `abandon`, or by a watchdog.
 */
export interface Haproxy {
  readonly program: string;
  readonly dir: string;
  readonly masterSocket: string;
  /** The operator's own file. */
  readonly baseFile: string;
  /** Of the generated files; empty at first. */
  readonly poolsDir: string;
  /** What it logged so far. */
  readonly log: readonly string[];
  /** Of the master, as it runs now. */
  pid(): number;
  /** Ends it as the system does, and starts it again with the files as they are then. */
  restart(): Promise<void>;
  /** Ends it without removing anything, and without starting it again. */
  halt(): Promise<void>;
  /** Starts it after `halt`. */
  start(): Promise<void>;
  /** Ends it, and removes its directory unless that was given. */
  stop(): Promise<void>;
  /** Kills it without waiting, for an end in the same instant. */
  abandon(): void;
}

const START_PATIENCE_MS = 30_000;
const END_PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 25;
const LOG_LINES_MAX = 2_000;

/** Starts it without any privilege. @throws {Error} it is not installed, or does not start. */
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
  /** The one whose death is asked for, or is told by throwing. */
  let expected: ChildProcess | null = null;
  const start = async () => {
    const args = ['-W', '-S', masterSocket, '-f', baseFile, '-f', poolsDir];
    // In a process group of its own: Ctrl-C at a terminal is not for it.
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

/** A path of a socket has at most 107 bytes, and HAProxy adds some for a moment. */
const SOCKET_PATH_MAX = 90;

/** Where its socket is: in its directory, unless that has too long a name. */
async function socketsIn(dir: string) {
  const masterSocket = join(dir, 'master.sock');
  if (Buffer.byteLength(masterSocket) <= SOCKET_PATH_MAX) {
    return { masterSocket, removed: [masterSocket] };
  }
  const short = await mkdtemp(join(tmpdir(), 'shepherd-haproxy-'));
  return { masterSocket: join(short, 'master.sock'), removed: [short] };
}

const lastWords = (log: readonly string[]): string => log.slice(-5).join('; ');

/** Without an answer within that time an old worker would live for as long as a client likes. */
const BASE = ['global', '  maxconn 2000', '  hard-stop-after 10m'];

/** Waits until the master answers and has a worker. @throws {Error} it ended instead. */
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

/** What its master says to a command; empty: nobody answers. */
export function ask(socket: string, command: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const connection = connect(socket);
    connection.setEncoding('utf8');
    connection.on('data', (text: string) => (answer += text));
    connection.on('error', () => resolve(''));
    connection.on('close', () => resolve(answer));
    // It answers until we have nothing more to say.
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
