import type { Writable } from 'node:stream';

/**
 * Writes a process's input and closes it. A process may end before it has read everything; the
 * caller sees that by the exit, not by the pipe.
 */
export function feed(
  { stdin }: { readonly stdin: Writable | null },
  input: Uint8Array | string,
): void {
  if (!stdin) throw new Error('the process was started without a pipe for its input');
  stdin.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  stdin.end(input);
}
