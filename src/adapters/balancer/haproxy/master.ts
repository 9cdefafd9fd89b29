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

/** Processes of an HAProxy with master and workers, as its master reports them. */
export interface Processes {
  /** Number of configuration loads, or attempts, since its start. */
  readonly reloads: number;
  /** Attempts since the last success. */
  readonly failed: number;
  /** The worker that accepts connections. */
  readonly worker: number;
  /** Workers from before a reload that still have connections. */
  readonly old: readonly number[];
}

export type Master = ReturnType<typeof createMaster>;

const RELOAD_MS = 60_000;
const LOOK_EVERY_MS = 25;
/** Well below `tune.bufsize`, which is at least 16 KiB everywhere. */
const LINE_LENGTH_MAX = 4_000;

/**
 * The master's socket (`haproxy -W -S <socket>`). It reaches workers by pid. An admin socket is not
 * enough. During a reload it leads to either the old or the new worker, and never to workers that
 * only finish their connections.
 *
 * Rejects with `Unreachable`, `Denied`, `TimedOut`, `Cancelled`, and with `Malformed` if another
 * program answers.
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
      throw new Denied(`the socket ${socket} does not permit "${command}"`);
    }
    // A table ends with an empty line; any other answer ends with a line end.
    const isTable = /^(?:1\n)?# /.test(answer);
    if (answer.endsWith(isTable ? '\n\n' : '\n')) return answer.trimEnd();
    throw new Unreachable(`the answer from ${socket} to "${command}" was cut off`);
  }

  return {
    processes,
    /** Returns a worker's answer; null if the worker has ended. */
    tell: (worker: number, command: string, signal: AbortSignal): Promise<string | null> =>
      patiently(signal, () => tellNow(worker, command, signal)),
    /** Sends many commands to a worker, and ignores the answers. */
    async tellAll(worker: number, commands: readonly string[], signal: AbortSignal): Promise<void> {
      for (const text of joined(commands.map((command) => `@!${worker} ${command}`))) {
        await patiently(signal, () => ask(text, signal));
      }
    },
    /** Reloads the configuration. Returns the reason of a failure; null on success. */
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
        // If our request was not heard but somebody else's reload happened, that is as good.
        if (now !== null && now.reloads === before.reloads) {
          said ??= await ask('reload', signal).catch(unlessLoading);
        }
        if (clock.monotonic() > endsAt) {
          throw new TimedOut(`HAProxy at ${socket} did not report whether its reload succeeded`);
        }
        await pause(clock, LOOK_EVERY_MS, signal);
        now = await processesNow(signal).catch(unlessLoading);
      }
    },
  };
}

/** The master accepts several commands in one line, which must fit into its buffer. */
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

/** During a load it answers nothing, or does not listen. */
function unlessLoading(error: unknown): null {
  if (error instanceof Unreachable || error instanceof Malformed) return null;
  throw error;
}

/** Newer versions answer `Success=0` with their log; 2.6 gives no reason. */
function reasonIn(said: string): string {
  const lines = said.split('\n').filter((line) => /\[ALERT\]/.test(line));
  return lines.length > 0 ? lines.join('; ') : 'see its log';
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
  if (said === '') return new Unreachable(`no answer at ${socket}: HAProxy is starting`);
  const hint = 'give the socket of the master (haproxy -W -S <socket>), not of a worker';
  return new Malformed(`${socket} answered unexpectedly with "${said}": ${hint}`);
}

const ANSWER_MS = 15_000;
const ANSWER_LENGTH_MAX = 64 * 1024 * 1024;
/** During a reload nobody listens on its socket; after a longer silence, HAProxy does not run. */
const SILENCE_MS = 5_000;
const AGAIN = { initialMs: 50, maximumMs: 500 };

/**
 * Repeats an attempt while nobody listens or the answer breaks off, until the silence has lasted
 * some seconds. After that each call makes one attempt, until one is answered.
 */
export type RetryPolicy = <T>(signal: AbortSignal, attempt: () => Promise<T>) => Promise<T>;

export function createPatience(clock: Clock, random: Random): RetryPolicy {
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
    throw new Cancelled('cancelled while waiting for HAProxy', { cause });
  });
}

/**
 * Sends one command to a socket, and returns the whole answer.
 * @throws {FleetError} `NotListening`, `Unreachable`, `Denied`, `TimedOut`, `Cancelled`,
 *   `Malformed`.
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
      if (answer.length > ANSWER_LENGTH_MAX)
        fail(new Malformed(`the answer from ${path} does not end`));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => fail(translated(path, error)));
    socket.on('end', () => end(() => resolve(answer)));
    // It answers until we close our side.
    socket.end(`${command}\n`);
  });
}

function translated(path: string, cause: NodeJS.ErrnoException): Error {
  switch (cause.code) {
    case 'EACCES':
    case 'EPERM':
      return new Denied(`this user may not use the socket ${path}`, { cause });
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new NotListening(
        `no HAProxy listens at ${path}: it is not running, or has another -S`,
        { cause },
      );
    default:
      return new Unreachable(`the connection to ${path} broke`, { cause });
  }
}
