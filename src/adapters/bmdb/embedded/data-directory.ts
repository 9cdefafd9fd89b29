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

/** What the two roles log in with; each is in a file of its own. */
export interface Passwords {
  /** Of the role that daemons use. */
  readonly running: string;
  /** Of the role that owns everything. */
  readonly owner: string;
}

/** Where the embedded database keeps everything: `cluster/`, the two passwords, `owner`. */
export interface DataDirectory {
  readonly root: string;
  /** PostgreSQL's own directory; belongs to the account it runs under. */
  readonly cluster: string;
  readonly passwords: Passwords;
  /** False: `initdb` must still be run. */
  readonly initialised: boolean;
  release(): Promise<void>;
}

/**
 * Takes the directory for this process, creating it and its passwords (mode 0600) when missing.
 * A directory left by a killed process is taken over.
 * @throws {UsageError} a living process uses it, it holds something else, or another user may have
 *   put there what it holds: the programs that PostgreSQL runs among it.
 * @throws {NotWritable} its disk is full.
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
    throw new NotWritable(`the data directory ${root} cannot be written`, { cause: error });
  }
}

async function openAt(root: string, account: Account): Promise<DataDirectory> {
  await mkdir(root, { recursive: true });
  await refuseForeign(root);
  const owner = path.join(root, 'owner');
  await takeOwnership(root, owner);
  try {
    // The account must be able to pass through, though not to look around.
    await chmod(root, 0o711);
    const cluster = path.join(root, 'cluster');
    const initialised = await isInitialised(root);
    // Nothing was ever stored in a cluster whose making was interrupted.
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

/** Written last: until then an interrupted making of the cluster is begun anew. */
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
  return `the data directory ${root} holds something else (${foreign}); name an empty or a new one`;
}

/**
 * Why no data can be kept there, as far as a look tells; null: it can. Makes nothing. A process that
 * uses it now is no reason: it may be the one whose configuration is looked at.
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
    // It was made while the disk was full, so it got no password.
    await unlink(file);
    return await readOrMakePassword(file);
  }
}

/**
 * Writes this process into the file `owner`; one left by a process that is gone is taken over.
 * @throws {UsageError} the process in it lives.
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

/** Tells a process from a later one with the same number; empty where the system cannot say. */
const startTimeOf = async (pid: number) => (await statOf(pid))[19] ?? '';

/** Whether the process runs. One that ended and was not yet waited for by its parent does not. */
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
 * Number of the server that runs on this cluster, or null. A number in `postmaster.pid` alone says
 * little: after a crash or in another container it may be somebody else's.
 */
export async function runningServer(cluster: string): Promise<number | null> {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!Number.isInteger(pid) || !(await isAlive(pid))) return null;
  // A server's working directory is its cluster; without /proc its own file has to be believed.
  const at = await readlink(`/proc/${pid}/cwd`).catch(() => null);
  if (at === null) return (await stat('/proc/self').catch(() => null)) ? null : pid;
  return path.resolve(at) === path.resolve(cluster) ? pid : null;
}
