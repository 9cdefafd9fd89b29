import { spawn, type ChildProcess } from 'node:child_process';
import type { Log } from '../log/port.ts';
import { noServiceManager, type ServiceManager } from './port.ts';

/**
 * One notification per line, with its assignments separated by tabs. Node has no Unix datagram
 * sockets, so the program that comes with systemd sends them and waits for each. Signals to the
 * process group, such as Ctrl-C, do not end the shell: it ends with its input.
 */
const TELLER = `
trap '' HUP INT TERM
set -f
tab=$(printf '\\t')
while IFS= read -r line; do
  IFS=$tab
  systemd-notify -- $line || exit
done
`;

interface SystemdOptions {
  /** systemd's variables are removed from it. */
  readonly env: Record<string, string | undefined>;
  readonly pid: number;
  readonly log: Log;
}

/** systemd, if it started this process and listens; otherwise no service manager. */
export function createServiceManager({ env, pid, log }: SystemdOptions): ServiceManager {
  const { notifySocket, watchdogMs, sockets } = takeSystemdEnvironment(env, pid);
  if (notifySocket === null) return { ...noServiceManager, sockets };
  const teller = createTeller(notifySocket, log);
  const { tell } = teller;
  return {
    isThere: true,
    watchdogMs,
    sockets,
    ready: (status) => tell('READY=1', statusOf(status)),
    status: (text) => tell(statusOf(text)),
    alive: () => tell('WATCHDOG=1'),
    // CLOCK_MONOTONIC, by which systemd matches the answer to this reload.
    reloading: () => tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => tell('STOPPING=1', statusOf('stopping')),
    extend: (forMs) => tell(`EXTEND_TIMEOUT_USEC=${Math.ceil(forMs * 1000)}`),
    close: teller.close,
  };
}

/** A notification consists of lines, so the status must be one line. */
const statusOf = (text: string): string => `STATUS=${text.replaceAll(/\s+/g, ' ').trim()}`;

function createTeller(notifySocket: string, log: Log) {
  let child: ChildProcess | null = null;
  let isClosed = false;
  let hasFailed = false;
  const failed = (cause: string) => {
    child = null;
    if (!hasFailed && !isClosed) log.error({ cause }, 'systemd cannot be notified');
    hasFailed = true;
  };
  const start = (): ChildProcess => {
    const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: notifySocket };
    const started = spawn('/bin/sh', ['-c', TELLER], { env, stdio: ['pipe', 'ignore', 'pipe'] });
    let said = '';
    started.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-500)));
    started.on('error', (error) => failed(error.message));
    // The shell may end during a write; `exit` reports that.
    started.stdin.on('error', () => undefined);
    started.on('exit', (code, signal) => {
      if (!isClosed) failed(said.trim() || `systemd-notify ended with ${signal ?? code}`);
    });
    // The shell must not keep the daemon alive.
    started.unref();
    for (const stream of [started.stdin, started.stderr]) {
      (stream as unknown as { unref(): void }).unref();
    }
    return started;
  };
  return {
    tell(...assignments: readonly string[]): void {
      if (isClosed) return;
      child ??= start();
      child.stdin!.write(`${assignments.join('\t')}\n`);
    },
    async close(): Promise<void> {
      isClosed = true;
      const last = child;
      if (!last || last.exitCode !== null || last.signalCode !== null) return;
      await new Promise<void>((resolve) => {
        for (const end of ['exit', 'error']) last.once(end, () => resolve());
        last.ref();
        last.stdin!.end();
      });
    },
  };
}

/** systemd's variables; see sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3). */
export interface SystemdEnvironment {
  /** Address of the datagram socket for notifications; null if nobody listens. */
  readonly notifySocket: string | null;
  readonly watchdogMs: number | null;
  readonly sockets: ReadonlyMap<string, number>;
}

/** The first passed descriptor. */
const LISTEN_FDS_START = 3;

type Environment = Record<string, string | undefined>;

/**
 * Reads the variables for this process, and removes them from the environment. Otherwise child
 * processes, such as an embedded PostgreSQL, would notify systemd in our name.
 */
export function takeSystemdEnvironment(env: Environment, pid: number): SystemdEnvironment {
  const take = (name: string) => {
    const value = env[name];
    delete env[name];
    return value ?? '';
  };
  /** If a pid beside the variable is not ours, it is for another process. */
  const isOurs = (told: string, isNeeded: boolean) => (told === '' ? !isNeeded : told === `${pid}`);
  const [notifySocket, watchdogUs, watchdogPid] = [
    take('NOTIFY_SOCKET'),
    take('WATCHDOG_USEC'),
    take('WATCHDOG_PID'),
  ];
  const [count, names, listenPid] = [
    take('LISTEN_FDS'),
    take('LISTEN_FDNAMES'),
    take('LISTEN_PID'),
  ];
  const watches = isOurs(watchdogPid, false) && /^[1-9]\d*$/.test(watchdogUs);
  return {
    notifySocket: notifySocket === '' ? null : notifySocket,
    watchdogMs: watches ? Number(watchdogUs) / 1000 : null,
    sockets: isOurs(listenPid, true) ? socketsOf(Number(count), names.split(':')) : new Map(),
  };
}

/** The first of several sockets with the same name counts. */
function socketsOf(count: number, names: readonly string[]): ReadonlyMap<string, number> {
  const sockets = new Map<string, number>();
  for (let at = 0; at < count; at += 1) {
    const name = names[at] || 'unknown';
    if (!sockets.has(name)) sockets.set(name, LISTEN_FDS_START + at);
  }
  return sockets;
}
