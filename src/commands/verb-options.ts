import { Option, type Command } from 'commander';
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
