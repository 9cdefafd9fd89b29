import { connect } from 'node:net';
import {
  Cancelled,
  Denied,
  Malformed,
  NotListening,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import { type Clock, type Random, sleep } from '../../clock/port.ts';
import { createRetryWaits } from '../../driver-kit/terms.ts';

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
