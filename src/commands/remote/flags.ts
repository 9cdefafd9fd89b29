import { Option, type Command } from 'commander';
import { countOf, wordsOf } from '../options.ts';
import type { DoorFlags } from './contexts.ts';
import type { Session, Told } from './session.ts';

/** Options of the commands that go through a door. */

export const FORMATS = ['table', 'wide', 'json', 'ndjson', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
export const COLORS = ['auto', 'always', 'never'] as const;
export type Color = (typeof COLORS)[number];

export interface OutputFlags {
  readonly output: Format;
  readonly json: boolean;
  readonly color: Color;
}
export interface CommonFlags extends DoorFlags, OutputFlags {}
export interface ListFlags extends CommonFlags {
  readonly columns?: readonly string[];
  readonly sort?: string;
  readonly headers: boolean;
  readonly limit?: number;
}

/** Which console, and how its answer is written. */
export const remote = (command: Command): Command =>
  command
    .addOption(
      new Option('--url <url>', 'of the console (else SHEPHERD_URL, else the context)').conflicts(
        'context',
      ),
    )
    .option('--context <name>', 'one that "shepherd login" made')
    .option('--allow-insecure-http', 'a token may go in clear to another machine', false)
    .addOption(
      new Option('-o, --output <format>', 'how the answer is written')
        .choices(FORMATS)
        .default('table'),
    )
    .option('--json', 'the same as -o json', false)
    .addOption(
      new Option('--color <when>', 'NO_COLOR, FORCE_COLOR do too').choices(COLORS).default('auto'),
    );

/** Of commands that tell of several things. */
export const listing = (command: Command): Command =>
  remote(command)
    .option('--columns <names>', 'only these; commas between', wordsOf)
    .option('--sort <column>', 'by this; with - before it the other way round')
    .option('--no-headers', 'without the names of the columns')
    .option('--limit <n>', 'at most so many', countOf);

export const formatOf = ({ output, json }: OutputFlags): Format => (json ? 'json' : output);

/** Runs a task at the console that the flags mean. */
export type Through = (
  flags: CommonFlags,
  task: (session: Session) => Promise<Told>,
) => Promise<void>;

/** What a console needs is loaded when a command runs. */
export const byFlags: Through = async (flags, task) => {
  const { throughDoor } = await import('./session.ts');
  await throughDoor(flags, task);
};

/** What a command does, given its flags and then its arguments. */
type Task<Flags, Args extends readonly unknown[]> = (
  session: Session,
  flags: Flags,
  ...args: Args
) => Promise<Told>;

/** For `action`: runs a task, which is loaded then. */
export const acting =
  (through: Through) =>
  <Flags, Args extends readonly unknown[]>(load: () => Promise<Task<Flags, Args>>) =>
  (...given: readonly unknown[]): Promise<void> => {
    // Behind the arguments commander gives the flags, and the command itself.
    const flags = given.at(-2) as CommonFlags & Flags;
    const args = given.slice(0, -2) as unknown as Args;
    return through(flags, async (session) => (await load())(session, flags, ...args));
  };
