import { Option, type Command } from 'commander';
import { countOf, durationOf, TRAIT_OPTIONS, wordsOf } from '../options.ts';
import { TRAIT_NAMES, TRAITS, type TraitFilter } from '../../domain/traits.ts';
import type { AskFlags as Ask } from './filing.ts';
import { remote, type CommonFlags } from './flags.ts';

/** Options of the commands that ask for something. */

export interface AskFlags extends CommonFlags, Ask {}
export interface VerbFlags extends AskFlags, TraitFilter {
  readonly slots?: readonly string[];
  readonly provider?: string;
  readonly state?: readonly string[];
  readonly all: boolean;
  readonly expectCount?: number;
  readonly dryRun: boolean;
  readonly yes?: boolean;
  readonly exact: boolean;
}

/**
 * @param waits how long it waits by itself, in words.
 * @param reason where none is given; one must be given when absent.
 */
export const asking = (command: Command, waits: string, reason?: string): Command =>
  remote(command)
    .addOption(
      new Option('--reason <text>', 'why, for the history')
        .default(reason)
        .makeOptionMandatory(reason === undefined),
    )
    .option('--key <key>', 'asking again with the same key is asking once; a fresh one is printed')
    .option(
      '--wait <duration>',
      `until it is settled, at most so long (default: ${waits})`,
      durationOf,
    )
    .option(
      '--valid-for <duration>',
      'refused if it is not carried out by then (default: 1h)',
      durationOf,
    );

/** An option for each trait. @param describe what it chooses, given how its trait says it. */
export function choosing(command: Command, describe: (chosen: string) => string): Command {
  for (const name of TRAIT_NAMES) command.option(`--${name} <name>`, describe(TRAITS[name].chosen));
  return command;
}

export const selecting = (command: Command, waits: string, reason?: string): Command =>
  choosing(
    asking(command, waits, reason)
      .option('--slots <names>', 'these machines; commas between', wordsOf)
      .option('--provider <name>', 'all machines of this provider …'),
    (chosen) => `… ${chosen} …`,
  )
    .option('--state <states>', '… in these states: Running, Quarantined/needsHuman', wordsOf)
    .option('--all', 'all machines that there are', false)
    .option('--expect-count <n>', 'how many machines these must be', countOf)
    .option('--dry-run', 'only tell which machines are meant', false)
    .option('--exact', 'whole names only, no beginnings', false)
    .addHelpText('after', SELECTING_HELP);

/** Whether options say which machines are meant, and no name does. */
export const choosesByOptions = (flags: VerbFlags): boolean =>
  flags.all ||
  [flags.slots, flags.provider, flags.state, ...TRAIT_NAMES.map((name) => flags[name])].some(
    (each) => each !== undefined,
  );

const SELECTING_HELP = `
Which machine: its slot (<provider>/<slot id>), its id, its provider's id, its address, or the beginning
of an id, of four characters or more, that no other has. Several: by --slots, or by --provider,
${TRAIT_OPTIONS} and --state, or --all; then --expect-count must say how many they are. Several are filed
together or not at all, each under the key <key>/<slot>.

A daemon carries it out; what became of it is in "shepherd machine show".

Exit codes: 0 done, or filed where nothing waits for it; 1 refused; 2 wrong usage, nothing was done;
3 filed, but not settled within --wait; 4 not signed in or not allowed; 5 no console answers.`;
