import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { UsageError } from '../../src/domain/errors.ts';

/**
 * The files of a simulator's directory decide who may log in to simulated machines, and which
 * programs run there as the simulator's user. So nobody else may write to the directory.
 */

/** Creates a missing directory for this user alone. @throws {UsageError} another user may own it. */
export function makeOwnDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  refuseStrangers(path, statSync(path), 0o022);
}

/** The same, and nobody else may read it, even if it existed before. */
export function makePrivateDirectory(path: string): void {
  makeOwnDirectory(path);
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/**
 * Content of a file that nobody else may have read or written; undefined: it does not exist.
 * @throws {UsageError} somebody else may have, or it is no regular file.
 */
export function readOwnFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new UsageError(`${path} is not a regular file; name another one`);
    refuseStrangers(path, found, 0o077);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function refuseStrangers(path: string, { uid, mode }: Stats, forbidden: number): void {
  if (process.getuid && uid !== process.getuid()) {
    throw new UsageError(`${path} belongs to another user (uid ${uid}); name a path of your own`);
  }
  if ((mode & forbidden) === 0) return;
  const what = (mode & forbidden & 0o022) === 0 ? 'read' : 'change';
  throw new UsageError(`others may ${what} ${path}; run chmod go-rwx ${path}`);
}
