import { realpathSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** How this program lies on the machine, and how another copy of it is started. */
export interface Program {
  /** The file that was uploaded. */
  readonly path: string;
  /** What to execute, with which arguments. */
  readonly command: readonly [file: string, ...args: string[]];
}

/**
 * Either a script, which its runtime executes, or one executable that has the runtime in it.
 * @throws {Error} the program's own file cannot be found.
 */
export function thisProgram(): Program {
  const { execPath, argv } = process;
  if (isSingleExecutable()) return { path: realpathSync(execPath), command: [execPath] };
  const path = realpathSync(argv[1]!);
  return { path, command: [execPath, path] };
}

/** Runtimes that cannot be one do not have the module. */
function isSingleExecutable(): boolean {
  const sea = process.getBuiltinModule('node:sea') as { isSea(): boolean } | undefined;
  return sea?.isSea() ?? false;
}

const BYTES_MAX = 2_048;
const LINES_MAX = 10;
const AT_EASE = / heartbeats are accepted$/;
const AS_ASKED = / ended: stopped$/;

/**
 * What an earlier agent wrote to its log after all was well with it for the last time, on one line;
 * null: nothing that anybody would want to know, or nothing that can be read.
 */
export function lastWords(path: string): string | null {
  const lines = tailOf(path)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const since = lines.findLastIndex((line) => AT_EASE.test(line)) + 1;
  const words = lines.slice(since).filter((line) => !AS_ASKED.test(line));
  return words.length === 0 ? null : words.slice(-LINES_MAX).join(' | ');
}

/** Whole lines only. Not of what only looks like a file: to read that could take for ever. */
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
    // It is only for people: a takeover goes on without.
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** One line to the log file, which is what standard error of the agent is. */
export const log = (message: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${message}\n`);
};
