import { execFile } from 'node:child_process';
import { mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import {
  Cancelled,
  Denied,
  type FleetError,
  RemoteFailure,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import { nameOf, MARK, markOf } from './pool-file.ts';

export type Files = ReturnType<typeof createFiles>;
export interface OwnFiles {
  readonly text: string | null;
  readonly loaded: string | null;
}
export interface Candidate {
  readonly owner: PoolRef;
  readonly text: string | null;
}

export interface FilesDeps {
  readonly poolsDir: string;
  readonly baseFiles: readonly string[];
  readonly program: string;
}

const CHECK_MS = 60_000;
const DEAD_MS = 10 * CHECK_MS;
const CANDIDATES = '.candidate-';

/**
 * The directory of generated files. Each pool has two: the one that HAProxy loads, and beside it what
 * HAProxy has loaded as far as is known (`.loaded`, which HAProxy does not look at). They differ while
 * a reload is under way, after a crash in the middle of one, and when somebody changed the first.
 */
export function createFiles({ poolsDir, baseFiles, program }: FilesDeps) {
  const pathOf = (owner: PoolRef) => join(poolsDir, `${nameOf(owner.suffix)}.cfg`);
  const loadedOf = (owner: PoolRef) => `${pathOf(owner)}.loaded`;

  async function requireOurs(owner: PoolRef): Promise<void> {
    const path = pathOf(owner);
    const text = await readText(path);
    if (text === null || isMarked(text, owner)) return;
    const [first = ''] = text.split('\n', 1);
    throw new RemoteFailure(
      MARK.test(first)
        ? `${path} is the file of another pool ("${first}"); it is left alone`
        : `${path} was not made by Shepherd, and is left alone: move it elsewhere`,
    );
  }

  /** Others check here too: only what is too old for any check was left by somebody who died. */
  async function removeDead(names: readonly string[], justMade: string): Promise<void> {
    const { mtimeMs: nowMs } = await stat(justMade);
    for (const name of names.filter((each) => each.startsWith(CANDIDATES))) {
      const path = join(poolsDir, name);
      const found = await stat(path).catch(ifGone);
      if (found && nowMs - found.mtimeMs > DEAD_MS)
        await rm(path, { recursive: true, force: true });
    }
  }

  async function write(path: string, text: string): Promise<void> {
    // A directory of its own, whose name nobody can know before: no link waits there to be followed.
    const dir = await mkdtemp(join(poolsDir, CANDIDATES));
    try {
      const temporary = join(dir, basename(path));
      const file = await open(temporary, 'wx', 0o644);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  return {
    /** Texts of the owner's files; null: there is none. Files of others count as none. */
    read: (owner: PoolRef): Promise<OwnFiles> =>
      told(async () => {
        const [text, loaded] = await Promise.all([
          readText(pathOf(owner)),
          readText(loadedOf(owner)),
        ]);
        const own = (found: string | null) => (found && isMarked(found, owner) ? found : null);
        return { text: own(text), loaded: own(loaded) };
      }),
    /** @throws {RemoteFailure} the owner's file is there, and is not its own. */
    requireOurs: (owner: PoolRef): Promise<void> => told(() => requireOurs(owner)),
    /**
     * Whether HAProxy could load everything if these files had these texts; null: no file.
     * @throws {RemoteFailure} it could not, or one of the files is not its owner's.
     */
    check: (candidates: readonly Candidate[], signal: AbortSignal): Promise<void> =>
      told(async () => {
        for (const { owner } of candidates) await requireOurs(owner);
        const names = await readdir(poolsDir);
        // A directory of its own, and not links, which could be followed to what is there by now.
        const dir = await mkdtemp(join(poolsDir, CANDIDATES));
        try {
          await removeDead(names, dir);
          const texts = new Map<string, string | null>();
          for (const name of names.filter(isLoaded)) {
            texts.set(name, await readText(join(poolsDir, name)));
          }
          for (const { owner, text } of candidates) texts.set(basename(pathOf(owner)), text);
          for (const [name, text] of texts) {
            if (text !== null) await writeFile(join(dir, name), text, { mode: 0o600 });
          }
          await runCheck(program, [...baseFiles, dir], dir, signal);
        } finally {
          await rm(dir, { recursive: true, force: true });
        }
      }),
    /** Puts a text in the place of the file, at once and whole. Only what was checked. */
    put: ({ owner, text }: Candidate): Promise<void> =>
      told(async () => {
        await requireOurs(owner);
        if (text === null) await rm(pathOf(owner), { force: true });
        else await write(pathOf(owner), text);
      }),
    /** Remembers what HAProxy has loaded; null: nothing. */
    remember: (owner: PoolRef, loaded: string | null): Promise<void> =>
      told(async () => {
        if (loaded === null) await rm(loadedOf(owner), { force: true });
        else await write(loadedOf(owner), loaded);
      }),
  };
}

const isMarked = (text: string, owner: PoolRef): boolean =>
  text.split('\n', 1)[0] === markOf(owner);
/** Of a directory HAProxy loads these, in the order of their names. */
const isLoaded = (name: string): boolean => name.endsWith('.cfg') && !name.startsWith('.');

const readText = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(ifGone);

function ifGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Says of the system's errors what they mean here. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined || path === undefined) throw error;
    throw translated(code, path, error);
  }
}

function translated(code: string, path: string, cause: unknown): FleetError {
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    return new Denied(`${path} may not be read and written by this user`, { cause });
  }
  if (code === 'ENOENT') return new RemoteFailure(`${path} is not there: make it`, { cause });
  return new Unreachable(`${path} cannot be used (${code})`, { cause });
}

/** Where distributions put the program, though few users have these in their path. */
const SYSTEM_PATHS = ['/usr/sbin', '/usr/local/sbin'];

/** Exit status of a check that found no mistake, and nothing to listen at. */
const NO_LISTENER = 2;

function runCheck(
  program: string,
  files: readonly string[],
  hidden: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['-c', ...files.flatMap((file) => ['-f', file])];
  // The daemon's environment has secrets, which a file may use in what HAProxy says of it.
  const env = { PATH: [process.env['PATH'] ?? '', ...SYSTEM_PATHS].join(delimiter) };
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, signal, timeout: CHECK_MS }, (error, stdout, stderr) => {
      // A master waits patiently for a configuration with something to listen at.
      const isIdle = error?.code === NO_LISTENER && /will not start \(no listener\)/.test(stdout);
      if (error === null || isIdle) resolve();
      else if (signal.aborted) reject(new Cancelled('given up', { cause: error }));
      else if (error.killed) reject(new TimedOut(`${program} -c did not end`, { cause: error }));
      else if (typeof error.code === 'string') {
        const hint = 'give its path as program';
        reject(new Unreachable(`${program} cannot be started: ${hint}`, { cause: error }));
      } else {
        const said = `${stdout}\n${stderr}`.replaceAll(`${hidden}/`, '');
        // The error of the process says all of this once more, and is left out.
        reject(new RemoteFailure(`HAProxy refuses it: ${alertsIn(said)}`));
      }
    });
  });
}

/** What is wrong, without warnings and without what is said of every mistake. */
function alertsIn(text: string): string {
  const alerts = text.split('\n').flatMap((line) => {
    const [, alert] = /^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*)$/.exec(line) ?? [];
    return alert === undefined || /^(Fatal errors|Error\(s\)) found/.test(alert) ? [] : [alert];
  });
  return alerts.slice(0, 3).join('; ') || 'it does not say why';
}
