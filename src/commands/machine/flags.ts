import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { forTraits, TRAIT_NAMES, TRAITS, type TraitFilter } from '../../domain/traits.ts';
import { configured } from '../config-option.ts';
import { sayPaged } from '../pager.ts';
import type { AskOptions, Means, Told } from './command.ts';
import { countOf, durationOf, TRAIT_OPTIONS, wordsOf } from './options.ts';
import type { Selector } from './selection.ts';

/** What every command about machines takes. */
export interface ReadFlags {
  readonly config: string;
  readonly url?: string;
  readonly json: boolean;
}
/** What every request takes. */
export interface AskFlags extends ReadFlags {
  readonly reason: string;
  readonly by: string;
  readonly key?: string;
  readonly wait?: number;
  readonly validFor?: number;
}
/** What every request about machines takes. */
export interface VerbFlags extends AskFlags, TraitFilter {
  readonly slots?: readonly string[];
  readonly provider?: string;
  readonly state?: readonly string[];
  readonly all: boolean;
  readonly expectCount?: number;
  readonly dryRun: boolean;
  readonly yes?: boolean;
}

/** An account may have no name, in a container for one. */
function whoAsks(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? 'unknown';
  }
}

export const reading = (command: Command): Command =>
  configured(command)
    .option('--url <url>', 'instead of database.url, in the same form: for another role')
    .option('--json', 'print one line of JSON', false);

/** Who, and why. */
export const because = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--by <name>', 'who asks', whoAsks());

/** @param waits how long it waits by itself, in words. */
export const asking = (command: Command, waits: string): Command =>
  because(reading(command))
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

export const selecting = (command: Command, waits: string): Command =>
  choosing(
    asking(command, waits)
      .option('--slots <slots>', 'these slots or machines; commas between', wordsOf)
      .option('--provider <name>', 'all machines of this provider …'),
    (chosen) => `… ${chosen} …`,
  )
    .option('--state <states>', '… in these states: Running, Quarantined/needsHuman', wordsOf)
    .option('--all', 'all machines that there are', false)
    .option('--expect-count <n>', 'how many machines these must be', countOf)
    .option('--dry-run', 'only tell which machines are meant', false)
    .addHelpText('after', SELECTING_HELP);

const SELECTING_HELP = `
Which machine: its id, or its slot, <provider>/<slot id>. Several: by --slots, or by --provider,
${TRAIT_OPTIONS} and --state, or --all; then --expect-count must say how many they are. Each request of
several has the key <key>/<slot>, so repeating what was half done finishes it.

A daemon carries it out; what became of it is in "shepherd machine show".

Exit codes: 0 done, or filed where nothing waits for it; 1 refused; 2 wrong usage, nothing was done;
3 filed, but not settled within --wait. Of several, the worst.`;

/** Which machines the flags mean. */
export const selectorOf = (name: string | undefined, flags: VerbFlags): Selector => ({
  name,
  slots: flags.slots,
  provider: flags.provider,
  ...forTraits((name) => flags[name]),
  states: flags.state,
  all: flags.all ? true : undefined,
});

/** How the flags ask. */
export const askOptionsOf = ({ reason, by, key, wait, validFor, json }: AskFlags): AskOptions => ({
  reason,
  by,
  key,
  json,
  waitMs: wait,
  validForMs: validFor,
});

/** The first interrupt ends the waiting; the second one ends the process. */
function untilInterrupt(): AbortSignal {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  return stopping.signal;
}

/** Runs a command about machines, says what it has to say, and sets the exit code. */
export async function tell(
  { config, url, json }: ReadFlags,
  task: (means: Means) => Promise<Told>,
): Promise<void> {
  const { withMeans } = await import('./command.ts');
  const options = { file: config, url, signal: untilInterrupt() };
  const { text, exitCode } = await withMeans(options, task);
  if (json) process.stdout.write(`${text}\n`);
  else await sayPaged(`${text}\n`);
  process.exitCode = exitCode;
}
