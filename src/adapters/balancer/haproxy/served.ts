import { canonicalAddress } from '../../../domain/balancing/addresses.ts';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';
import { emptyFile, type End, type PoolFile } from './pool-file.ts';
import type { RunTime } from './tables.ts';

/**
 * What the running program serves of a pool, written as the pool's file would have it; null: nothing.
 * Where the file is lost, its first change then writes all of it, so that no reload drops what is served.
 * HAProxy does not say how a backend is checked, so each is checked by connecting until it is updated.
 * @throws {RemoteFailure} HAProxy does not tell enough of it.
 */
export function servedFile(owner: PoolRef, running: RunTime): PoolFile | null {
  const { pool } = owner;
  const file = emptyFile();
  for (const [name, servers] of running.backends) {
    if (!isOf(owner, name)) continue;
    const listed = [...servers].map(([server, { address, number, mode }]) => {
      if (canonicalAddress(address) === null) throw untold(pool, `server ${name}/${server}`);
      return [server, { address, number, mode }] as const;
    });
    file.backends.set(name, { check: { by: 'tcp' }, servers: new Map(listed) });
  }
  for (const [name, binds] of running.frontends) {
    if (!isOf(owner, name)) continue;
    // The frontend and the backend of a port have the same name, and HAProxy does not say which one it has.
    if (!file.backends.has(name)) throw untold(pool, `frontend ${name}`);
    const listed = [...binds].map(([bind, end]): [string, End] => {
      if (end === null) throw untold(pool, `bind ${name}/${bind}`);
      return [bind, end];
    });
    file.frontends.set(name, { backend: name, binds: new Map(listed) });
  }
  return file.backends.size > 0 ? file : null;
}

/** Whether a frontend or a backend of this name is the pool's. */
export const isOf = ({ suffix }: PoolRef, name: string): boolean =>
  name.slice(name.indexOf('.') + 1) === suffix;

const untold = (pool: string, what: string): RemoteFailure =>
  new RemoteFailure(
    `HAProxy serves pool ${pool}, its files are gone, and of ${what} HAProxy does not tell enough to ` +
      'write them anew: put the files back; or reload HAProxy without them',
  );
