import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDiskFull, NotWritable, UsageError } from '../../../domain/errors.ts';
import { complaintAboutKeepingIn, complaintAboutStrangers } from '../../../settings/file-checks.ts';
import type { Account } from './postgres-binaries.ts';

/** Passwords of the two roles; each is kept in its own file. */
export interface Passwords {
  /** Password of the role that daemons use. */
  readonly running: string;
  /** Password of the role that owns the schema. */
  readonly owner: string;
}

/** Where the embedded database keeps its data: `cluster/`, the two passwords, `owner`. */
export interface DataDirectory {
  readonly root: string;
  /** PostgreSQL's data directory; belongs to the account that PostgreSQL runs under. */
  readonly cluster: string;
  readonly passwords: Passwords;
  /** False if `initdb` must still run. */
  readonly initialised: boolean;
  release(): Promise<void>;
}

/**
 * Takes the directory for this process. Creates the directory and its passwords (mode 0600) if
 * missing. Takes over the directory of a killed process.
 * @throws {UsageError} a living process uses the directory, it holds other files, or another user
 *   may have put files there, such as the programs that PostgreSQL runs.
 * @throws {NotWritable} the disk is full.
 */
export async function openDataDirectory(
  wanted: string | undefined,
  account: Account,
): Promise<DataDirectory> {
  const root = path.resolve(wanted ?? (await mkdtemp(path.join(tmpdir(), 'shepherd-'))));
  try {
    return await openAt(root, account);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new NotWritable(`the data directory ${root} is not writable`, { cause: error });
  }
}

async function openAt(root: string, account: Account): Promise<DataDirectory> {
  await mkdir(root, { recursive: true });
  await refuseForeign(root);
  const owner = path.join(root, 'owner');
  await takeOwnership(root, owner);
  try {
    // The account must be able to enter the directory, but not to list it.
    await chmod(root, 0o711);
    const cluster = path.join(root, 'cluster');
    const initialised = await isInitialised(root);
    // A cluster whose creation was interrupted never held data.
    if (!initialised) await rm(cluster, { recursive: true, force: true });
    await mkdir(cluster, { recursive: true, mode: 0o700 });
    if (account) await chown(cluster, account.uid, account.gid);
    return {
      root,
      cluster,
      passwords: {
        running: await readOrMakePassword(path.join(root, 'password')),
        owner: await readOrMakePassword(path.join(root, 'owner-password')),
      },
      initialised,
      release: () => rm(owner, { force: true }),
    };
  } catch (error) {
    await rm(owner, { force: true });
    throw error;
  }
}

/** Written last: an interrupted creation of the cluster starts over. */
export const markInitialised = (root: string): Promise<void> =>
  writeFile(path.join(root, 'initialised'), '');

const isInitialised = async (root: string) => (await readdir(root)).includes('initialised');

const OURS = new Set(
  ['cluster', 'initialised', 'initdb-password', 'owner'].concat('owner-password', 'password'),
);
async function refuseForeign(root: string): Promise<void> {
  const complaint = complaintAboutStrangers(root) ?? foreignTo(root, await readdir(root));
  if (complaint !== null) throw new UsageError(complaint);
}

function foreignTo(root: string, names: readonly string[]): string | null {
  const foreign = names.find((name) => !OURS.has(name));
  if (foreign === undefined) return null;
  return `the data directory ${root} contains other files (${foreign}); give an empty or new one`;
}

/**
 * Returns why data cannot be kept there, as far as a check without writing can tell; null if it
 * can. A directory in use is no fault: the user may be the daemon whose configuration is being
 * checked.
 */
export function complaintAboutDataDirectory(wanted: string): string | null {
  const root = path.resolve(wanted);
  const complaint = complaintAboutKeepingIn(root);
  if (complaint !== null || !existsSync(root)) return complaint;
  return complaintAboutStrangers(root) ?? foreignTo(root, readdirSync(root));
}

async function readOrMakePassword(file: string): Promise<string> {
  const made = randomBytes(24).toString('base64url');
  try {
    await writeFile(file, made, { flag: 'wx', mode: 0o600 });
    return made;
  } catch (error) {
    if (!isExisting(error)) throw error;
    const kept = await readFile(file, 'utf8');
    if (kept !== '') return kept;
    // The file was created while the disk was full, so it is empty.
    await unlink(file);
    return await readOrMakePassword(file);
  }
}

/**
 * Writes this process into the file `owner`, also over a process that has ended.
 * @throws {UsageError} the process in the file is alive.
 */
export async function takeOwnership(root: string, owner: string): Promise<void> {
  const mine = `${process.pid} ${await startTimeOf(process.pid)}`;
  try {
    await writeFile(owner, mine, { flag: 'wx' });
  } catch (error) {
    if (!isExisting(error)) throw error;
    const theirs = await readFile(owner, 'utf8');
    const pid = Number.parseInt(theirs, 10);
    if ((await isAlive(pid)) && theirs === `${pid} ${await startTimeOf(pid)}`) {
      throw new UsageError(`the data directory ${root} is in use by process ${pid}`);
    }
    await unlink(owner);
    await takeOwnership(root, owner);
  }
}

const isExisting = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';

/** Distinguishes processes with the same number; empty where the system has no /proc. */
const startTimeOf = async (pid: number) => (await statOf(pid))[19] ?? '';

/** Whether the process runs. A zombie (whose parent has not waited for it) does not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    const denied = error instanceof Error && 'code' in error && error.code === 'EPERM';
    if (!denied) return false;
  }
  const [state] = await statOf(pid);
  return state !== 'Z' && state !== 'X';
}

/** Fields of the process's status from the third (the state) on; empty without /proc. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The command's name, the second field, may contain blanks and ends with the last parenthesis.
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/**
 * Process number of the server that runs on this cluster, or null. The number in `postmaster.pid`
 * alone proves little: after a crash, or in another container, it may be another process.
 */
export async function runningServer(cluster: string): Promise<number | null> {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!Number.isInteger(pid) || !(await isAlive(pid))) return null;
  // A server's working directory is its cluster. Without /proc, its pid file has to be believed.
  const at = await readlink(`/proc/${pid}/cwd`).catch(() => null);
  if (at === null) return (await stat('/proc/self').catch(() => null)) ? null : pid;
  return path.resolve(at) === path.resolve(cluster) ? pid : null;
}
