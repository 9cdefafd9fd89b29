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
 * The directory of generated files. Each pool has two: the file that HAProxy loads, and a copy of
 * what it has loaded as far as known (`.loaded`, which HAProxy ignores). They differ during a
 * reload, after a crash in the middle of one, and if somebody changed the first.
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
        ? `${path} belongs to another pool ("${first}") and is left alone`
        : `${path} was not written by Shepherd and is left alone; move it elsewhere`,
    );
  }

  /** Other processes check here, too, so only directories too old for a check are removed. */
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
    // A new directory with an unpredictable name, so that nobody can place a link there.
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
    /** Texts of the owner's files; null if missing. Other owners' files count as missing. */
    read: (owner: PoolRef): Promise<OwnFiles> =>
      told(async () => {
        const [text, loaded] = await Promise.all([
          readText(pathOf(owner)),
          readText(loadedOf(owner)),
        ]);
        const own = (found: string | null) => (found && isMarked(found, owner) ? found : null);
        return { text: own(text), loaded: own(loaded) };
      }),
    /** @throws {RemoteFailure} the file exists, and belongs to another owner. */
    requireOurs: (owner: PoolRef): Promise<void> => told(() => requireOurs(owner)),
    /**
     * Checks whether HAProxy could load everything with these texts; null: no file.
     * @throws {RemoteFailure} it could not, or a file belongs to another owner.
     */
    check: (candidates: readonly Candidate[], signal: AbortSignal): Promise<void> =>
      told(async () => {
        for (const { owner } of candidates) await requireOurs(owner);
        const names = await readdir(poolsDir);
        // A copy, not links, whose targets may change meanwhile.
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
    /** Replaces the file atomically. Only with a checked text. */
    put: ({ owner, text }: Candidate): Promise<void> =>
      told(async () => {
        await requireOurs(owner);
        if (text === null) await rm(pathOf(owner), { force: true });
        else await write(pathOf(owner), text);
      }),
    /** Records what HAProxy has loaded; null: nothing. */
    remember: (owner: PoolRef, loaded: string | null): Promise<void> =>
      told(async () => {
        if (loaded === null) await rm(loadedOf(owner), { force: true });
        else await write(loadedOf(owner), loaded);
      }),
  };
}

const isMarked = (text: string, owner: PoolRef): boolean =>
  text.split('\n', 1)[0] === markOf(owner);
/** HAProxy loads these files of a directory, in the order of their names. */
const isLoaded = (name: string): boolean => name.endsWith('.cfg') && !name.startsWith('.');

const readText = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(ifGone);

function ifGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Translates system errors. */
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
    return new Denied(`this user may not read and write ${path}`, { cause });
  }
  if (code === 'ENOENT') return new RemoteFailure(`${path} does not exist; create it`, { cause });
  return new Unreachable(`${path} is unusable (${code})`, { cause });
}

/** Where distributions install the program, though few users have these in their path. */
const SYSTEM_PATHS = ['/usr/sbin', '/usr/local/sbin'];

/** Exit status of a check without errors, but without any listener. */
const NO_LISTENER = 2;

function runCheck(
  program: string,
  files: readonly string[],
  hidden: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['-c', ...files.flatMap((file) => ['-f', file])];
  // The daemon's environment has secrets, which a file could make HAProxy print.
  const env = { PATH: [process.env['PATH'] ?? '', ...SYSTEM_PATHS].join(delimiter) };
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, signal, timeout: CHECK_MS }, (error, stdout, stderr) => {
      // A master waits for a configuration with a listener.
      const isIdle = error?.code === NO_LISTENER && /will not start \(no listener\)/.test(stdout);
      if (error === null || isIdle) resolve();
      else if (signal.aborted) reject(new Cancelled('given up', { cause: error }));
      else if (error.killed) reject(new TimedOut(`${program} -c did not finish`, { cause: error }));
      else if (typeof error.code === 'string') {
        const hint = 'give its path in the setting program';
        reject(new Unreachable(`${program} cannot be started: ${hint}`, { cause: error }));
      } else {
        const said = `${stdout}\n${stderr}`.replaceAll(`${hidden}/`, '');
        // The process's own error repeats all of this, so it is left out.
        reject(new RemoteFailure(`HAProxy refuses it: ${alertsIn(said)}`));
      }
    });
  });
}

/** The errors, without warnings and without lines common to all errors. */
function alertsIn(text: string): string {
  const alerts = text.split('\n').flatMap((line) => {
    const [, alert] = /^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*)$/.exec(line) ?? [];
    return alert === undefined || /^(Fatal errors|Error\(s\)) found/.test(alert) ? [] : [alert];
  });
  return alerts.slice(0, 3).join('; ') || 'it gives no reason';
}
