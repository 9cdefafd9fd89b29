import { realpathSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The program's file on the machine, and how to start another copy. */
export interface Program {
  /** The uploaded file. */
  readonly path: string;
  /** The executable and its arguments. */
  readonly command: readonly [file: string, ...args: string[]];
}

/**
 * Either a script with its runtime, or one executable that contains the runtime.
 * @throws {Error} the program's own file cannot be found.
 */
export function thisProgram(): Program {
  const { execPath, argv } = process;
  if (isSingleExecutable()) return { path: realpathSync(execPath), command: [execPath] };
  const path = realpathSync(argv[1]!);
  return { path, command: [execPath, path] };
}

/** Old runtimes lack this module. */
function isSingleExecutable(): boolean {
  const sea = process.getBuiltinModule('node:sea') as { isSea(): boolean } | undefined;
  return sea?.isSea() ?? false;
}

const BYTES_MAX = 2_048;
const LINES_MAX = 10;
const AT_EASE = / heartbeats are accepted$/;
const AS_ASKED = / ended: stopped$/;

/**
 * An earlier agent's log after its last success, on one line; null: nothing relevant or readable.
 */
export function lastWords(path: string): string | null {
  const lines = tailOf(path)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const since = lines.findLastIndex((line) => AT_EASE.test(line)) + 1;
  const words = lines.slice(since).filter((line) => !AS_ASKED.test(line));
  return words.length === 0 ? null : words.slice(-LINES_MAX).join(' | ');
}

/** Whole lines of a regular file only: reading other files could take forever. */
function tailOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const found = fstatSync(file);
    if (!found.isFile()) return '';
    const start = Math.max(0, found.size - BYTES_MAX);
    const bytes = Buffer.alloc(BYTES_MAX);
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, BYTES_MAX, start));
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } catch {
    // Only for people: the agent start continues without it.
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Writes one line to the log file, which is the agent's standard error. */
export const log = (message: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${message}\n`);
};
