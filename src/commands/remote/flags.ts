import { Option, type Command } from 'commander';
import { GENERAL, inGroup } from '../help.ts';
import { countOf, wordsOf } from '../options.ts';
import type { TransportFlags } from './contexts.ts';
import type { Session, CommandOutput } from './session.ts';

/** Options of the commands that ask a console. */

export const FORMATS = ['table', 'wide', 'json', 'ndjson', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
export const COLORS = ['auto', 'always', 'never'] as const;
export type Color = (typeof COLORS)[number];

export interface OutputFlags {
  readonly output: Format;
  readonly json: boolean;
  readonly color: Color;
}
export interface CommonFlags extends TransportFlags, OutputFlags {}
export interface ListFlags extends CommonFlags {
  readonly columns?: readonly string[];
  readonly sort?: string;
  readonly headers: boolean;
  readonly limit?: number;
}

/** Adds the options that say which console is asked. */
export const connecting = (command: Command): Command =>
  inGroup(GENERAL, command, (general) =>
    general
      .addOption(
        new Option(
          '--url <url>',
          'Address of the console. Default: SHEPHERD_URL, else the context in use',
        ).conflicts('context'),
      )
      .option('--context <name>', 'Use this context instead of the one in use')
      .option(
        '--allow-insecure-http',
        'Send the token over plain HTTP, also to another machine',
        false,
      ),
  );

/** Adds the options that say which console is asked, and how its answer is written. */
export const remote = (command: Command): Command =>
  formatted(connecting(command))
    .addOption(jsonOption())
    .addOption(
      new Option('--color <when>', 'Use colours. NO_COLOR and FORCE_COLOR work, too')
        .choices(COLORS)
        .default('auto')
        .helpGroup(GENERAL),
    );

/** Adds `--output`. */
export const formatted = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'Format of the output')
      .choices(FORMATS)
      .default('table')
      .helpGroup(GENERAL),
  );

/** `--json`, for commands with and without `--output`. */
export const jsonOption = (): Option =>
  new Option('--json', 'Print JSON. The same as -o json').default(false).helpGroup(GENERAL);

/** Adds the options that say how a list is printed. */
export const listing = (command: Command): Command =>
  command
    .option('--columns <names>', 'Print only these columns, separated by commas', wordsOf)
    .option('--sort <column>', 'Sort by this column. "-" before the name reverses the order')
    .option('--no-headers', 'Do not print the names of the columns')
    .option('--limit <n>', 'Print at most this many', countOf);

export const formatOf = ({ output, json }: OutputFlags): Format => (json ? 'json' : output);

/** Runs a task at the console that the flags mean. */
export type Through = (
  flags: CommonFlags,
  task: (session: Session) => Promise<CommandOutput>,
) => Promise<void>;

/** What a console needs is loaded when a command runs. */
export const byFlags: Through = async (flags, task) => {
  const { throughTransport } = await import('./session.ts');
  await throughTransport(flags, task);
};

/** What a command does, given its flags and then its arguments. */
type Task<Flags, Args extends readonly unknown[]> = (
  session: Session,
  flags: Flags,
  ...args: Args
) => Promise<CommandOutput>;

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
