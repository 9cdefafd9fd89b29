import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Clock } from '../clock/port.ts';

export interface ProgramRun {
  /** An absolute path, or the name of a program of the system. */
  readonly file: string;
  readonly args: readonly string[];
  /** In addition to `PATH` and the locale. */
  readonly env: Readonly<Record<string, string>>;
  /** Written to its standard input; default: nothing. */
  readonly input?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface ProgramResult {
  /** Null: a signal of somebody else ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Why a program has no result. Only after `not-started` it certainly did nothing. */
export class ProgramFailure extends Error {
  readonly reason: 'not-started' | 'timeout' | 'oversize' | 'aborted';
  constructor(reason: ProgramFailure['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

const DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const OUTPUT_MAX_BYTES = 64 * 1024;

/** Path of a program that this user may execute; null: there is none. */
export const findProgram = (file: string, directories = DIRECTORIES): string | null =>
  (isAbsolute(file) ? [file] : directories.map((directory) => join(directory, file))).find(
    isExecutable,
  ) ?? null;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Runs a program without a shell. Whatever ends the run early also kills the processes that the
 * program started.
 * @throws {ProgramFailure}
 */
export function runProgram(
  { file, args, env, input = '', timeoutMs, signal }: ProgramRun,
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
): Promise<ProgramResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  if (signal.aborted) return Promise.reject(new ProgramFailure('aborted', `${file} was not run`));
  const child = spawn(file, [...args], {
    env: { PATH: DIRECTORIES.join(':'), LC_ALL: 'C', ...env },
    // A process group of its own, which can be killed as a whole.
    detached: true,
    stdio: 'pipe',
  });
  const output = { stdout: '', stderr: '' };
  function fail(reason: ProgramFailure['reason'], message: string, cause?: Error) {
    end();
    if (child.pid !== undefined) {
      killGroup(child.pid);
      for (const stream of child.stdio) stream?.destroy();
    }
    reject(new ProgramFailure(reason, `${file} ${message}`, { cause }));
  }
  function end() {
    clock.clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
  const onAbort = () => fail('aborted', 'was ended early');
  const timer = clock.setTimeout(
    () => fail('timeout', `took longer than ${timeoutMs} ms`),
    timeoutMs,
  );
  signal.addEventListener('abort', onAbort, { once: true });
  child.on('error', (cause) => fail('not-started', 'cannot be started', cause));
  // Its `error` follows; without free file descriptors it has no streams.
  if (child.pid === undefined) return promise;
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      if (output[name].length > OUTPUT_MAX_BYTES) fail('oversize', 'writes too much');
    });
  }
  // A program that ends without reading its input is judged by its result.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  child.on('close', (exitCode) => {
    end();
    resolve({ exitCode, ...output });
  });
  return promise;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has already ended, or runs as another user, by sudo.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ESRCH', 'EPERM'].includes(code)) throw error;
  }
}
