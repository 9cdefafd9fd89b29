import { Option, type Command } from 'commander';
import { CHOOSING, inGroup, REQUEST } from '../help.ts';
import { countOf, durationOf, wordsOf } from '../options.ts';
import { TRAIT_NAMES, TRAITS, type TraitFilter } from '../../domain/traits.ts';
import type { AskFlags as Ask } from './submit.ts';
import { remote, type CommonFlags } from './flags.ts';

/** Options of the commands that send a request to the daemons. */

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
 * Adds the options of a request.
 * @param waits how long the command waits by default, in words.
 * @param reason the default reason; absent: a reason must be given.
 */
export const asking = (command: Command, waits: string, reason?: string): Command =>
  inGroup(REQUEST, remote(command), (request) =>
    request
      .addOption(
        new Option('--reason <text>', 'Why you ask for this. The history shows it')
          .default(reason)
          .makeOptionMandatory(reason === undefined),
      )
      .option(
        '--wait <duration>',
        `Wait at most this long until the request is done (default: ${waits})`,
        durationOf,
      )
      .option(
        '--valid-for <duration>',
        'Refuse the request if no daemon can carry it out within this time (default: 1h)',
        durationOf,
      )
      .option(
        '--key <key>',
        'Idempotency key. A repeated command with the same key asks only once. Default: a new key',
      ),
  );

/** Adds an option for each trait. @param describe makes its description from the text of the trait. */
export function choosing(command: Command, describe: (chosen: string) => string): Command {
  for (const name of TRAIT_NAMES) command.option(`--${name} <name>`, describe(TRAITS[name].chosen));
  return command;
}

/** Adds the options of a request about machines. */
export const selecting = (command: Command, waits: string, reason?: string): Command =>
  inGroup(CHOOSING, asking(command, waits, reason), (several) =>
    choosing(
      several
        .option('--slots <names>', 'These machines, separated by commas', wordsOf)
        .option('--provider <name>', 'All machines of this provider'),
      (chosen) => `Only machines ${chosen}`,
    )
      .option('--state <states>', 'Only machines in these states, separated by commas', wordsOf)
      .option('--all', 'All machines of the fleet', false)
      .option('--expect-count <n>', 'Refuse unless exactly this many machines are chosen', countOf)
      .option('--dry-run', 'Show what would happen and ask for nothing', false)
      .option('--exact', EXACT, false),
  );

/** Describes `--exact`. */
export const EXACT = 'Accept only whole names, not the beginning of an ID';

/** Describes an argument that names a machine. */
export const MACHINE =
  'Slot, slot ID, machine ID, device ID, address or host name. Four characters of an ID are enough if unique';

/** Whether options say which machines are meant, and no name does. */
export const choosesByOptions = (flags: VerbFlags): boolean =>
  flags.all ||
  [flags.slots, flags.provider, flags.state, ...TRAIT_NAMES.map((name) => flags[name])].some(
    (each) => each !== undefined,
  );
