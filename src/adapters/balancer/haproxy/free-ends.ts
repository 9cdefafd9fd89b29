import { createServer } from 'node:net';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';
import type { End, PoolFile } from './pool-file.ts';
import { isOf } from './served.ts';
import type { RunTime } from './tables.ts';

const endsOf = ({ frontends }: PoolFile): End[] =>
  [...frontends.values()].flatMap(({ binds }) => [...binds.values()]);
const ALL = ['0.0.0.0', '::'];
/** Whoever listens at one hinders who tries the other: one address, or one that stands for all. */
const meets = (one: End, other: End): boolean =>
  one.number === other.number &&
  (one.address === other.address || [one, other].some(({ address }) => ALL.includes(address)));

/**
 * Where HAProxy is to listen and does not by now. What it does is asked of the running program, whoever
 * had it loaded: a trial would take its own listener for a stranger's, and refuse the pool for ever.
 */
export function newEnds(
  pools: readonly { readonly owner: PoolRef; readonly file: PoolFile }[],
  running: RunTime,
): End[] {
  const known = [...running.frontends].flatMap(([name, binds]) =>
    pools.some(({ owner }) => isOf(owner, name))
      ? [...binds.values()].filter((end) => end !== null)
      : [],
  );
  return pools
    .flatMap(({ file }) => endsOf(file))
    .filter((end) => !known.some((each) => meets(each, end)));
}

/**
 * HAProxy finds out in the midst of a reload that it cannot listen, and takes nobody in meanwhile. So
 * it is tried before, here: HAProxy runs on the same machine. A port that we may not use is left to it.
 */
export async function requireFree(ends: readonly End[]): Promise<void> {
  for (const { address, number } of ends) {
    await new Promise<void>((resolve, reject) => {
      const server = createServer();
      server.once('error', (cause: NodeJS.ErrnoException) => {
        const isTaken = cause.code === 'EADDRINUSE' || cause.code === 'EADDRNOTAVAIL';
        const why = `HAProxy cannot listen at ${address} port ${number} (${cause.code})`;
        if (isTaken) reject(new RemoteFailure(why, { cause }));
        else resolve();
      });
      server.listen({ host: address, port: number, exclusive: true }, () =>
        server.close(() => resolve()),
      );
    });
  }
}
