import type { ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parse } from 'shell-quote';
import { containedPath } from './paths.ts';

/** What a shell would have said and answered. */
export class CommandRefused extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A command that is played inside the simulator: gets all of stdin, answers when it ended. */
export type Play = (stdin: Buffer) => Promise<Played>;

/** What a command wrote and how it ended. */
export interface Played {
  readonly stdout?: Uint8Array | string;
  readonly stderr?: string;
  readonly exitCode: number;
}

export interface CommandContext {
  readonly root: string;
  /** Commands that are played by others; undefined: this one is not. */
  play(argv: readonly string[]): Play | undefined;
  /** Runs a program that was uploaded. @throws {CommandRefused} */
  run(program: string, args: readonly string[]): Promise<ChildProcess | Play>;
}

/**
 * Carries out a command line: one program with its arguments. Machines have `cat`, `true`, and what
 * was uploaded to them. Paths count inside the root.
 * @throws {CommandRefused} shell syntax, no such program, or the power is off.
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
  throw new CommandRefused(`sh: ${program}: not found`, 127);
}

/** Whoever logs in may do all that root may, so `sudo -n` changes nothing. */
const withoutElevation = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'sudo' && argv[1] === '-n' ? argv.slice(2) : argv;

/** @throws {CommandRefused} shell syntax. */
const wordsOf = (line: string): string[] =>
  parse(line).map((entry) => {
    if (typeof entry === 'string') return entry;
    if ('pattern' in entry) return entry.pattern;
    throw new CommandRefused(`sh: syntax not played here: ${line}`, 2);
  });

/** Without a process, because one for each command would make many machines heavy. */
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
 * The real file of a program that was put on the machine.
 * @throws {CommandRefused} there is none, or it may not be executed.
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
