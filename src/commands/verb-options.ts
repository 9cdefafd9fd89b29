import { Option, type Command } from 'commander';
import { UsageError } from '../domain/errors.ts';
import { described, detailsOf, type Detail, type MachineVerb } from '../domain/verbs.ts';
import {
  drainOf,
  imageOf,
  rootDeviceOf,
  untilMsOf,
  WHEN_HELP,
  whenOf,
  type DrainFlags,
  type ImageFlags,
  type When,
} from './options.ts';
import { choosesByOptions, type VerbFlags } from './remote/ask-flags.ts';

/** The details of verbs as options of commands, by their kinds. */

const optionName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Adds an option for each detail of the verb, and `--yes` where something may be lost. */
export function addDetails(command: Command, verb: MachineVerb): Command {
  for (const [name, detail] of detailsOf(verb)) addDetail(command, optionName(name), detail);
  const isAgreed = 'ask for it, and do not only tell';
  if (described(verb).care === 'destroying') command.option('--yes', isAgreed, false);
  for (const [name, detail] of detailsOf(verb)) {
    if (detail.kind !== 'flag' || detail.lost === undefined) continue;
    command.option('--yes', `${isAgreed}; of --${optionName(name)}`, false);
  }
  return command;
}

/** The detail that is said in words after the machine; undefined: the verb has none. */
function textOf(verb: MachineVerb) {
  for (const [name, detail] of detailsOf(verb)) {
    if (detail.kind === 'text' && detail.words) return { name, words: detail.words };
  }
  return undefined;
}

function addDetail(command: Command, name: string, detail: Detail): void {
  const { kind, cli } = detail;
  if (kind === 'drain') {
    command
      .option('--no-drain', 'do not wait until its load balancers let it go: connections are cut')
      .option(
        '--force-drain',
        'take it out of its pools though too few members stay active',
        false,
      );
  }
  if (cli === undefined) return;
  switch (kind) {
    case 'flag':
      command.option(`--${name}`, cli, false);
      break;
    case 'choice':
      command.addOption(
        new Option(`--${name} <${name}>`, cli).choices(detail.of).makeOptionMandatory(),
      );
      break;
    case 'text':
      if (detail.words) command.argument(`[${detail.words.name}...]`, cli);
      break;
    case 'end':
      command.option('--until <when>', `${cli}: ${WHEN_HELP}`, whenOf);
      break;
    case 'image':
      command
        .requiredOption('--image-url <url>', 'where the image is')
        .requiredOption('--sha256 <digits>', 'of the image as it lies on the disk, hexadecimal')
        .requiredOption('--root-device <disk>', 'name=sda, serial=… or wwn=…', rootDeviceOf)
        .addOption(
          new Option('--compression <kind>', 'of the image at the URL')
            .choices(['none', 'gzip', 'zstd', 'xz'])
            .default('none'),
        );
      break;
    default:
      command.requiredOption(`--${name} <${name}>`, cli);
  }
}

type Flags = VerbFlags & { readonly until?: When };

/**
 * What an action of a verb's command gets: the machine that is named, and the flags with the words.
 * Where options choose the machines, the first word is not the name of one.
 * @throws {UsageError} the verb needs words, and there are none.
 */
export function targetAndFlags(verb: MachineVerb, given: readonly unknown[]) {
  const [name, ...rest] = given as [string | undefined, ...unknown[]];
  const text = textOf(verb);
  if (text === undefined) return { name, ...(rest[0] as Flags) };
  const [words, flags] = rest as [readonly string[], Flags];
  const isChosen = choosesByOptions(flags);
  const said = isChosen && name !== undefined ? [name, ...words] : words;
  if (said.length === 0) throw new UsageError(`say what: ${text.words.name}`);
  return { name: isChosen ? undefined : name, ...flags, [text.name]: said.join(text.words.joint) };
}

/** The flags of a verb, as the API takes them. @throws {UsageError} they make no sense. */
export const bodyOf = (verb: MachineVerb, flags: object, nowMs: number) => ({
  verb,
  ...Object.fromEntries(
    detailsOf(verb).map(([name, { kind }]) => [name, valueOf(name, kind, flags, nowMs)]),
  ),
});

function valueOf(name: string, kind: Detail['kind'], flags: object, nowMs: number): unknown {
  if (kind === 'drain') return drainOf(flags as DrainFlags);
  if (kind === 'image') return imageOf(flags as ImageFlags);
  if (kind === 'end') return untilMsOf((flags as { readonly until?: When }).until, nowMs);
  return (flags as Readonly<Record<string, unknown>>)[name];
}
