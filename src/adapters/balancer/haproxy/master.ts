import { connect } from 'node:net';
import {
  Cancelled,
  Denied,
  Malformed,
  NotListening,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import { type Clock, sleep } from '../../clock/port.ts';

/** The processes of an HAProxy that runs as master and workers, as its master knows them. */
export interface Processes {
  /** Times that it loaded its configuration anew, or tried to, since it was started. */
  readonly reloads: number;
  /** Tries since the last success. */
  readonly failed: number;
  /** The worker that takes connections. */
  readonly worker: number;
  /** Workers of before a reload, that still have connections. */
  readonly old: readonly number[];
}

/**
 * The socket of the master (`haproxy -W -S <socket>`). Workers are reached through it by their pid, and
 * not by an admin socket of their own: during a reload that one leads now to the old worker and now to
 * the new one, and workers that only finish what they have are not reached by it at all.
 *
 * Rejects with `Unreachable`, `Denied`, `TimedOut`, `Cancelled`, and with `Malformed` where somebody
 * else answers.
 */
export interface Master {
  processes(signal: AbortSignal): Promise<Processes>;
  /** Answers the text that a worker answers; null: it is no more. */
  tell(worker: number, command: string, signal: AbortSignal): Promise<string | null>;
  /** Has the configuration loaded anew. Answers why that failed; null: it did not. */
  reload(signal: AbortSignal): Promise<string | null>;
}

const ANSWER_MS = 15_000;
const RELOAD_MS = 60_000;
const LOOK_EVERY_MS = 25;
const ANSWER_LENGTH_MAX = 64 * 1024 * 1024;

export function createMaster(socket: string, clock: Clock): Master {
  const ask = (command: string, signal: AbortSignal) => exchange(socket, command, clock, signal);
  const processes = async (signal: AbortSignal) => {
    const answer = await ask('show proc', signal);
    const known = readProcesses(answer);
    if (known === null) throw strange(socket, answer);
    return known;
  };
  return {
    processes,
    async tell(worker, command, signal) {
      const answer = await ask(`@!${worker} ${command}`, signal);
      if (answer.startsWith("Can't find the target PID")) return null;
      if (/^Permission denied/m.test(answer)) {
        throw new Denied(`the socket ${socket} does not let us say "${command}"`);
      }
      // A table ends with an empty line; what else is answered ends with a line.
      const isTable = /^(?:1\n)?# /.test(answer);
      if (answer.endsWith(isTable ? '\n\n' : '\n')) return answer.trimEnd();
      throw new Unreachable(`the answer from ${socket} to "${command}" ended in the middle`);
    },
    async reload(signal) {
      const before = await processes(signal);
      const said = await ask('reload', signal);
      const endsAt = clock.monotonic() + RELOAD_MS;
      for (;;) {
        const now = await processes(signal).catch((error: unknown) => {
          // While it loads, it answers nothing or does not listen.
          if (error instanceof Unreachable || error instanceof Malformed) return null;
          throw error;
        });
        if (now !== null && now.reloads !== before.reloads) {
          if (now.failed > 0) return reasonIn(said);
          if (now.worker !== before.worker) return null;
        }
        if (clock.monotonic() > endsAt) {
          throw new TimedOut(`HAProxy at ${socket} did not say whether its reload succeeded`);
        }
        await pause(clock, LOOK_EVERY_MS, signal);
      }
    },
  };
}

/** Waits. @throws {Cancelled} */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, delayMs, signal).catch((cause: unknown) => {
    throw new Cancelled('given up while HAProxy was waited for', { cause });
  });
}

/** Newer ones say what was wrong, as `Success=0` and what they logged; 2.6 says nothing. */
function reasonIn(said: string): string {
  const lines = said.split('\n').filter((line) => /\[ALERT\]/.test(line));
  return lines.length > 0 ? lines.join('; ') : 'its own log says why';
}

function readProcesses(answer: string): Processes | null {
  const [, reloads, failed = '0'] =
    /^\d+\s+master\s+(\d+)(?: \[failed: (\d+)\])?/m.exec(answer) ?? [];
  const [, rest = ''] = answer.split(/^# workers$/m);
  const [current = '', old = ''] = rest.split(/^# old workers$/m);
  const [worker] = pidsIn(current);
  if (reloads === undefined || worker === undefined) return null;
  return { reloads: Number(reloads), failed: Number(failed), worker, old: pidsIn(old) };
}

const pidsIn = (text: string): number[] =>
  [...text.matchAll(/^(\d+)\s+worker\s/gm)].map(([, pid]) => Number(pid));

function strange(socket: string, answer: string): Error {
  const said = answer.trim().split('\n', 1)[0]!.slice(0, 80);
  if (said === '') return new Unreachable(`nothing was answered at ${socket}: HAProxy is starting`);
  const hint = 'give the socket of the master (haproxy -W -S <socket>), not one of a worker';
  return new Malformed(`${socket} is not what was expected, it says "${said}": ${hint}`);
}

function exchange(
  path: string,
  command: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Cancelled(`not said to HAProxy: "${command}"`, { cause: signal.reason }));
      return;
    }
    let answer = '';
    const socket = connect(path);
    const end = (settle: () => void) => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      settle();
    };
    const fail = (error: Error) => end(() => reject(error));
    const onAbort = () =>
      fail(new Cancelled(`given up: "${command}" to HAProxy`, { cause: signal.reason }));
    const timer = clock.setTimeout(
      () => fail(new TimedOut(`no answer from ${path} to "${command}"`)),
      ANSWER_MS,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
      if (answer.length > ANSWER_LENGTH_MAX) fail(new Malformed(`endless answer from ${path}`));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => fail(translated(path, error)));
    socket.on('end', () => end(() => resolve(answer)));
    // It answers until we have nothing more to say.
    socket.end(`${command}\n`);
  });
}

function translated(path: string, cause: NodeJS.ErrnoException): Error {
  switch (cause.code) {
    case 'EACCES':
    case 'EPERM':
      return new Denied(`the socket ${path} may not be used by this user`, { cause });
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new NotListening(
        `no HAProxy listens at ${path}: it does not run, or with another -S`,
        { cause },
      );
    default:
      return new Unreachable(`the connection to ${path} broke`, { cause });
  }
}
