import { Option, type Command } from 'commander';
import { UsageError } from '../domain/errors.ts';
import { described, detailsOf, type Detail, type MachineVerb } from '../domain/verbs.ts';
import {
  drainOf,
  fromMsOf,
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

/** Turns the details of verbs into options of commands, by the kind of each detail. */

const optionName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Adds an option for each detail of the verb, and `--yes` if the verb may destroy data. */
export function addDetails(command: Command, verb: MachineVerb): Command {
  for (const [name, detail] of detailsOf(verb)) addDetail(command, optionName(name), detail);
  const isAgreed = 'Really do it. Without this the command only shows what would happen';
  if (described(verb).care === 'destroying') command.option('--yes', isAgreed, false);
  for (const [name, detail] of detailsOf(verb)) {
    if (detail.kind !== 'flag' || detail.lost === undefined || detail.cli === undefined) continue;
    command.option('--yes', `With --${optionName(name)}: ${isAgreed}`, false);
  }
  return command;
}

/** The detail that the words after the machine name give; undefined: the verb has none. */
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
      .option('--no-drain', 'Do not wait for its load balancers. Open connections are cut')
      .option(
        '--force-drain',
        'Take it out of its pools even if too few members stay active',
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
    case 'start':
      command.option('--from <when>', `${cli}: ${WHEN_HELP}`, whenOf);
      break;
    case 'end':
      command.option('--until <when>', `${cli}: ${WHEN_HELP}`, whenOf);
      break;
    case 'image':
      command
        .requiredOption('--image-url <url>', 'Address of the image')
        .requiredOption('--sha256 <digits>', 'SHA-256 of the uncompressed image, hexadecimal')
        .requiredOption(
          '--root-device <disk>',
          'Disk to write: name=sda, serial=SERIAL or wwn=WWN',
          rootDeviceOf,
        )
        .addOption(
          new Option('--compression <kind>', 'Compression of the image at the URL')
            .choices(['none', 'gzip', 'zstd', 'xz'])
            .default('none'),
        );
      break;
    default:
      command.requiredOption(`--${name} <${name}>`, cli);
  }
}

type Flags = VerbFlags & { readonly from?: When; readonly until?: When };

/**
 * Splits what commander passes to the action of a verb: the named machine, and the flags with the words.
 * If options choose the machines, then the first word is no machine name but part of the text.
 * @throws {UsageError} the verb needs words, and none are given.
 */
export function targetAndFlags(verb: MachineVerb, given: readonly unknown[]) {
  const [name, ...rest] = given as [string | undefined, ...unknown[]];
  const text = textOf(verb);
  if (text === undefined) return { name, ...(rest[0] as Flags) };
  const [words, flags] = rest as [readonly string[], Flags];
  const isChosen = choosesByOptions(flags);
  const said = isChosen && name !== undefined ? [name, ...words] : words;
  if (said.length === 0)
    throw new UsageError(`<${text.words.name}> is missing; give it after the machine`);
  return { name: isChosen ? undefined : name, ...flags, [text.name]: said.join(text.words.joint) };
}

/** Converts the flags of a verb to the body of an API request. @throws {UsageError} the flags contradict each other. */
export const bodyOf = (verb: MachineVerb, flags: object, nowMs: number) => ({
  verb,
  ...Object.fromEntries(
    detailsOf(verb).map(([name, { kind }]) => [name, valueOf(name, kind, flags, nowMs)]),
  ),
});

function valueOf(name: string, kind: Detail['kind'], flags: object, nowMs: number): unknown {
  if (kind === 'drain') return drainOf(flags as DrainFlags);
  if (kind === 'image') return imageOf(flags as ImageFlags);
  if (kind === 'start') return fromMsOf((flags as { readonly from?: When }).from, nowMs);
  if (kind === 'end') return untilMsOf((flags as { readonly until?: When }).until, nowMs);
  return (flags as Readonly<Record<string, unknown>>)[name];
}
