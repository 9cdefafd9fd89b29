import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Starts a file of this folder as a child process, which ends with this process. */
export function startChild(file: string, execArgv: readonly string[] = []): ChildProcess {
  const child = fork(path.join(import.meta.dirname, file), { execArgv: [...execArgv] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  return child;
}

/** Ends the process, whatever it does. */
export const endChild = (child: ChildProcess): void => void child.kill('SIGKILL');

/** @throws {Error} the process ends before it answers. */
export async function ask<Result>(child: ChildProcess, request: object | string): Promise<Result> {
  const over = new AbortController();
  try {
    const answer = once(child, 'message', { signal: over.signal });
    const ended = once(child, 'exit', { signal: over.signal }).then(([code]) => {
      throw new Error(`${path.basename(child.spawnargs.at(-1)!)} ended with ${String(code)}`);
    });
    child.send(request);
    const [told] = (await Promise.race([answer, ended])) as [Result];
    ended.catch(() => undefined);
    return told;
  } finally {
    over.abort();
  }
}
