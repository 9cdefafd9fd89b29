import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Denied } from '../../../domain/errors.ts';
import { runningServer } from './data-directory.ts';
import { RUNNING_ROLE } from './roles.ts';

/** Index of the line in `postmaster.pid` that holds the port, from 0. */
const PORT_LINE = 3;

/**
 * URL, for the running role, of the embedded database that a daemon runs on this directory now.
 * @returns null if none runs.
 * @throws {Denied} the files belong to another user and cannot be read.
 */
export async function runningDatabaseUrl(dataDir: string): Promise<string | null> {
  const root = path.resolve(dataDir);
  const cluster = path.join(root, 'cluster');
  const [pidFile, password] = await Promise.all([
    readOwn(path.join(cluster, 'postmaster.pid')),
    readOwn(path.join(root, 'password')),
  ]);
  if (pidFile === null || password === null || (await runningServer(cluster)) === null) return null;
  const port = Number(pidFile.split('\n')[PORT_LINE]);
  if (!Number.isInteger(port) || port <= 0) return null;
  return `postgresql://${RUNNING_ROLE}:${password.trim()}@127.0.0.1:${port}/postgres`;
}

/** @returns null if there is no such file. */
async function readOwn(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return null;
    const problem = `${file} cannot be read; run this command as the daemon's user`;
    throw new Denied(problem, { cause: error });
  }
}
