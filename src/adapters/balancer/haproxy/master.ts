import {
  Denied,
  Malformed,
  TimedOut,
  Unreachable,
  Cancelled,
  NotListening,
} from '../../../domain/errors.ts';
import { type Clock, type Random, sleep } from '../../clock/port.ts';
import { connect } from 'node:net';
import { createRetryWaits } from '../../driver-kit/terms.ts';

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

export type Master = ReturnType<typeof createMaster>;

const RELOAD_MS = 60_000;
const LOOK_EVERY_MS = 25;
/** Well below `tune.bufsize`, which nobody has below 16 KiB. */
const LINE_LENGTH_MAX = 4_000;

/**
 * The socket of the master (`haproxy -W -S <socket>`). Workers are reached through it by their pid, and
 * not by an admin socket of their own: during a reload that one leads now to the old worker and now to
 * the new one, and workers that only finish what they have are not reached by it at all.
 *
 * Rejects with `Unreachable`, `Denied`, `TimedOut`, `Cancelled`, and with `Malformed` where somebody
 * else answers.
 */
export function createMaster(socket: string, clock: Clock, random: Random) {
  const patiently = createPatience(clock, random);
  const ask = (command: string, signal: AbortSignal) => exchange(socket, command, clock, signal);
  const processesNow = async (signal: AbortSignal) => {
    const answer = await ask('show proc', signal);
    const known = readProcesses(answer);
    if (known === null) throw strange(socket, answer);
    return known;
  };
  const processes = (signal: AbortSignal) => patiently(signal, () => processesNow(signal));

  async function tellNow(worker: number, command: string, signal: AbortSignal) {
    const answer = await ask(`@!${worker} ${command}`, signal);
    if (answer.startsWith("Can't find the target PID")) return null;
    if (/^Permission denied/m.test(answer)) {
      throw new Denied(`the socket ${socket} does not let us say "${command}"`);
    }
    // A table ends with an empty line; what else is answered ends with a line.
    const isTable = /^(?:1\n)?# /.test(answer);
    if (answer.endsWith(isTable ? '\n\n' : '\n')) return answer.trimEnd();
    throw new Unreachable(`the answer from ${socket} to "${command}" ended in the middle`);
  }

  return {
    processes,
    /** Answers the text that a worker answers; null: it is no more. */
    tell: (worker: number, command: string, signal: AbortSignal): Promise<string | null> =>
      patiently(signal, () => tellNow(worker, command, signal)),
    /** Says many things to a worker; what it answers is not looked at. */
    async tellAll(worker: number, commands: readonly string[], signal: AbortSignal): Promise<void> {
      for (const text of joined(commands.map((command) => `@!${worker} ${command}`))) {
        await patiently(signal, () => ask(text, signal));
      }
    },
    /** Has the configuration loaded anew. Answers why that failed; null: it did not. */
    async reload(signal: AbortSignal): Promise<string | null> {
      const before = await processes(signal);
      const endsAt = clock.monotonic() + RELOAD_MS;
      let said: string | null = null;
      let now: Processes | null = before;
      for (;;) {
        if (now !== null && now.reloads !== before.reloads) {
          if (now.failed > 0) return reasonIn(said ?? '');
          if (now.worker !== before.worker) return null;
        }
        // Who was not heard may have come while somebody else had it loaded, which is as good.
        if (now !== null && now.reloads === before.reloads) {
          said ??= await ask('reload', signal).catch(unlessLoading);
        }
        if (clock.monotonic() > endsAt) {
          throw new TimedOut(`HAProxy at ${socket} did not say whether its reload succeeded`);
        }
        await pause(clock, LOOK_EVERY_MS, signal);
        now = await processesNow(signal).catch(unlessLoading);
      }
    },
  };
}

/** The master takes several commands as one line, which has to fit into its buffer. */
function joined(commands: readonly string[]): string[] {
  const lines: string[] = [];
  for (const command of commands) {
    const last = lines.at(-1);
    const line = last === undefined ? command : `${last}; ${command}`;
    if (last !== undefined && line.length <= LINE_LENGTH_MAX) lines[lines.length - 1] = line;
    else lines.push(command);
  }
  return lines;
}

/** While it loads, it answers nothing or does not listen. */
function unlessLoading(error: unknown): null {
  if (error instanceof Unreachable || error instanceof Malformed) return null;
  throw error;
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

const ANSWER_MS = 15_000;
const ANSWER_LENGTH_MAX = 64 * 1024 * 1024;
/** While HAProxy is loaded anew nobody listens at its socket; who is silent for longer does not run. */
const SILENCE_MS = 5_000;
const AGAIN = { initialMs: 50, maximumMs: 500 };

/**
 * Answers what an attempt answers, and makes another while nobody listens or the answer breaks off,
 * until there was silence for some seconds. Then each attempt is the only one, until one is answered.
 */
export type Patience = <T>(signal: AbortSignal, attempt: () => Promise<T>) => Promise<T>;

export function createPatience(clock: Clock, random: Random): Patience {
  let silentSinceMs: number | null = null;
  return async (signal, attempt) => {
    const nextWaitMs = createRetryWaits(AGAIN, random);
    for (;;) {
      try {
        const answer = await attempt();
        silentSinceMs = null;
        return answer;
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        silentSinceMs ??= clock.monotonic();
        if (clock.monotonic() - silentSinceMs >= SILENCE_MS) throw error;
      }
      await pause(clock, nextWaitMs(), signal);
    }
  };
}

/** Waits. @throws {Cancelled} */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, delayMs, signal).catch((cause: unknown) => {
    throw new Cancelled('given up while HAProxy was waited for', { cause });
  });
}

/**
 * Says one command to a socket, and answers all that is answered.
 * @throws {FleetError} `NotListening`, `Unreachable`, `Denied`, `TimedOut`, `Cancelled`, `Malformed`.
 */
export function exchange(
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
