import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { parse } from 'shell-quote';
import { containedPath, homeDirectory, insidePath, outsidePath } from './paths.ts';
import { startProcess } from './processes.ts';

/** Programs of the real system that a machine offers, next to what was uploaded to it. */
const tools = new Set([
  'cat',
  'chmod',
  'echo',
  'false',
  'mkdir',
  'mv',
  'rm',
  'sha256sum',
  'stat',
  'true',
]);

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
  readonly env: Readonly<Record<string, string>>;
  /** False from the moment that power goes away: nothing may be started any more. */
  powered(): boolean;
  /** Commands that are not run as processes; undefined: this one is. */
  play(argv: readonly string[]): Play | undefined;
  /** An uploaded program is about to run. */
  onProgram(path: string): void;
}

/** One simple command: its words, and the file that takes its output. */
interface CommandLine {
  readonly argv: readonly string[];
  readonly output: string | undefined;
}

/**
 * Carries out a command line: one program, played or as a process. Paths count inside the root.
 * @throws {CommandRefused} syntax we do not play, no such program, or the power is off.
 */
export async function startLine(
  line: string,
  context: CommandContext,
): Promise<ChildProcess | Play> {
  const { argv: said, output } = parseLine(line);
  const argv = withoutElevation(said);
  const play = output === undefined ? context.play(argv) : undefined;
  return play ?? startCommand({ argv, output }, context);
}

/** Whoever logs in may do all that root may, so `sudo -n` changes nothing. */
const withoutElevation = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'sudo' && argv[1] === '-n' ? argv.slice(2) : argv;

/** In a process group of its own. */
async function startCommand(
  { argv, output }: CommandLine,
  context: CommandContext,
): Promise<ChildProcess> {
  const { file, args } = await resolveProgram(argv, context);
  const out = output === undefined ? undefined : await openOutput(context.root, output);
  try {
    if (!context.powered()) throw new CommandRefused('sh: power is off', 137);
    return startProcess(file, args, {
      cwd: outsidePath(context.root, homeDirectory),
      env: context.env,
      detached: true,
      stdio: ['pipe', out ?? 'pipe', 'pipe'],
    });
  } finally {
    if (out !== undefined) closeSync(out);
  }
}

/**
 * One program with arguments and at most one `> file`, no other shell syntax.
 * @throws {CommandRefused} syntax we do not play.
 */
function parseLine(line: string): CommandLine {
  const words: string[] = [];
  let redirectAt: number | undefined;
  for (const entry of parse(line)) {
    if (typeof entry === 'string') words.push(entry);
    else if ('pattern' in entry) words.push(entry.pattern);
    else if ('op' in entry && entry.op === '>' && redirectAt === undefined) {
      redirectAt = words.length;
    } else throw new CommandRefused(`sh: syntax not played here: ${line}`, 2);
  }
  if (redirectAt === undefined) return { argv: words, output: undefined };
  if (words.length !== redirectAt + 1) throw new CommandRefused('sh: bad redirection', 2);
  return { argv: words.slice(0, redirectAt), output: words[redirectAt] };
}

async function resolveProgram(
  [program = '', ...args]: readonly string[],
  { root, onProgram }: CommandContext,
) {
  if (program.includes('/')) {
    const file = await uploadedProgram(program, root);
    onProgram(program);
    return { file, args };
  }
  if (!tools.has(program)) throw new CommandRefused(`sh: ${program}: not found`, 127);
  if (program === 'echo') return { file: program, args };
  return { file: program, args: await Promise.all(args.map((arg) => toolArgument(arg, root))) };
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

/** Arguments that name a path are moved into the root; what could smuggle one out is refused. */
async function toolArgument(arg: string, root: string): Promise<string> {
  if (arg.startsWith('-')) {
    if (arg.includes('/')) throw new CommandRefused(`sh: ${arg}: not played here`, 2);
    return arg;
  }
  const refused = () => {
    throw new CommandRefused(`sh: ${arg}: Permission denied`, 1);
  };
  const outside = await containedPath(root, arg).catch(refused);
  const isPath = arg.startsWith('/') || arg.split('/').includes('..');
  return isPath ? outside : arg;
}

async function openOutput(root: string, path: string): Promise<number> {
  try {
    return openSync(await containedPath(root, path), 'w', 0o644);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandRefused(`sh: cannot create ${insidePath(path)}: ${code}`, 2);
  }
}
