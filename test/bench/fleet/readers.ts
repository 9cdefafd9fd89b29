import { once } from 'node:events';
import { ask, startChild } from './children.ts';

export interface ReadersRequest {
  readonly consoleUrl: string;
  /** Pages that are open at once. */
  readonly readers: number;
}

/** Opens pages of a console. Once they are open: what closes them. */
export async function openReaders(request: ReadersRequest): Promise<() => Promise<void>> {
  if (request.readers === 0) return () => Promise.resolve();
  const child = startChild('readers-child.ts');
  await ask(child, request);
  return async () => {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  };
}
