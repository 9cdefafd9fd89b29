import { userInfo } from 'node:os';
import { Option, type Command } from 'commander';
import { countOf, wordsOf } from '../machine/options.ts';
import type { DoorFlags } from './open-door.ts';
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
    .option('--url <url>', 'of the console (else SHEPHERD_URL, else the context)')
    .option('--context <name>', 'one that "shepherd login" made')
    .option('--allow-insecure-http', 'a token may go in clear to another machine', false)
    .option('--config <file>', 'EMERGENCY: past the console, by the database of this configuration')
    .option('--database-url <url>', 'with --config, for another role; as database.url')
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

/** An account may have no name, in a container for one. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? 'unknown';
  }
}

/** Runs a command through the door that its flags mean. */
export type Through = (
  flags: CommonFlags & { readonly by?: string },
  task: (session: Session) => Promise<Told>,
) => Promise<void>;

/** What a door needs is loaded when a command runs. */
export const byFlags: Through = async (flags, task) => {
  const { throughDoor } = await import('./session.ts');
  await throughDoor(flags, task);
};
