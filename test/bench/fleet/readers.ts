import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface ReadersRequest {
  readonly consoleUrl: string;
  /** Pages that are open at once. */
  readonly readers: number;
}

const CHILD = path.join(import.meta.dirname, 'readers-child.ts');

/** Opens pages of a console. Once they are open: what closes them. */
export async function openReaders(request: ReadersRequest): Promise<() => Promise<void>> {
  if (request.readers === 0) return () => Promise.resolve();
  const child = fork(CHILD);
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.send(request);
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the readers' process ended with ${String(code)}`);
    }),
  ]);
  return async () => {
    process.off('exit', end);
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  };
}
