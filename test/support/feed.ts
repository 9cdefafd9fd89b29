import type { Writable } from 'node:stream';

/**
 * Gives a process its input, and ends it. A process may end before it has read: that is told by how it
 * ended, which the caller looks at, and not by its pipe.
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
