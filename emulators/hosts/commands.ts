import type { ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parse } from 'shell-quote';
import { containedPath } from './paths.ts';

/** A shell's error message and exit code. */
export class CommandRefused extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A command that the simulator plays: it receives all of stdin and returns at its end. */
export type Play = (stdin: Buffer) => Promise<Played>;

/** A command's output and exit code. */
export interface Played {
  readonly stdout?: Uint8Array | string;
  readonly stderr?: string;
  readonly exitCode: number;
}

export interface CommandContext {
  readonly root: string;
  /** Commands that others play; undefined: they do not play this one. */
  play(argv: readonly string[]): Play | undefined;
  /** Runs an uploaded program. @throws {CommandRefused} */
  run(program: string, args: readonly string[]): Promise<ChildProcess | Play>;
}

/**
 * Runs a command line: one program with its arguments. Machines have `cat`, `true` and uploaded
 * programs. Paths are relative to the root.
 * @throws {CommandRefused} shell syntax, an unknown program, or the power is off.
 */
export async function startLine(
  line: string,
  { root, play, run }: CommandContext,
): Promise<ChildProcess | Play> {
  const argv = withoutElevation(wordsOf(line));
  const [program = '', ...args] = argv;
  const played = play(argv);
  if (played) return played;
  if (program.includes('/')) return run(program, args);
  if (program === 'true') return async () => ({ exitCode: 0 });
  if (program === 'cat') return (stdin) => cat(args, stdin, root);
  const log = LOGS[program];
  if (log !== undefined) return async () => ({ exitCode: 0, stdout: log });
  throw new CommandRefused(`sh: ${program}: not found`, 127);
}

/** What the logs of simulated machines say. */
const LOGS: Readonly<Record<string, string | undefined>> = {
  journalctl: 'kernel: a simulated machine; nvme0n1: I/O timeout, reset controller\n',
  systemctl: '0 loaded units listed.\n',
  uptime: ' 12:00:00 up 3 days, 4:05, 0 users, load average: 0.10, 0.08, 0.05\n',
};

/** A login has root's rights, so `sudo -n` changes nothing. */
const withoutElevation = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'sudo' && argv[1] === '-n' ? argv.slice(2) : argv;

/** @throws {CommandRefused} shell syntax. */
const wordsOf = (line: string): string[] =>
  parse(line).map((entry) => {
    if (typeof entry === 'string') return entry;
    if ('pattern' in entry) return entry.pattern;
    throw new CommandRefused(`sh: syntax not played here: ${line}`, 2);
  });

/** Without a process, because a process per command would make many machines expensive. */
async function cat(paths: readonly string[], stdin: Buffer, root: string): Promise<Played> {
  if (paths.length === 0) return { stdout: stdin, exitCode: 0 };
  const contents: Buffer[] = [];
  for (const path of paths) {
    try {
      contents.push(await readFile(await containedPath(root, path)));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'ENOENT' ? 'No such file or directory' : 'Permission denied';
      return { stderr: `cat: ${path}: ${why}\n`, exitCode: 1 };
    }
  }
  return { stdout: Buffer.concat(contents), exitCode: 0 };
}

/**
 * The real file of an uploaded program.
 * @throws {CommandRefused} it does not exist, or is not executable.
 */
export async function uploadedProgram(program: string, root: string): Promise<string> {
  const refused = (why: string, exitCode: number) =>
    new CommandRefused(`sh: ${program}: ${why}`, exitCode);
  const file = await containedPath(root, program).catch(() => {
    throw refused('Permission denied', 126);
  });
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) throw refused('not found', 127);
  if (!found.isFile() || (found.mode & 0o111) === 0) throw refused('Permission denied', 126);
  return file;
}
