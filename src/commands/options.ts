import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../settings/duration.ts';
import { imageFault } from '../adapters/bmdb/install-image.ts';
import type { DrainMode, InstallImage } from '../domain/verbs.ts';
import { UsageError } from '../domain/errors.ts';
import { TRAIT_NAMES } from '../domain/traits.ts';

export const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
};

export const listenAddress = (text: string) => {
  const [, host, port] = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535) {
    return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) };
  }
  throw new InvalidArgumentError('Give a loopback address and a port, such as 127.0.0.1:0.');
};

const INSPECT_PORT = 4244;
export const inspectOption = () =>
  new Option(
    '--inspect [port]',
    "show actors: to admins in the console, and on this loopback port to Stately's inspector",
  )
    .argParser(wholeNumber(0, 65_535))
    .preset(INSPECT_PORT);

/** Which configuration a command reads: `--config`, or `SHEPHERD_CONFIG`. */
export const configured = (command: Command): Command =>
  command.addOption(
    new Option('--config <file>', 'configuration, YAML')
      .env('SHEPHERD_CONFIG')
      .makeOptionMandatory(),
  );

/** The options that choose machines by what their provider tells of them. */
export const TRAIT_OPTIONS = TRAIT_NAMES.map((name) => `--${name}`).join(', ');

/** A duration such as 30s or 2h, as milliseconds. @throws {InvalidArgumentError} */
export const durationOf = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs !== null) return durationMs;
  throw new InvalidArgumentError('Give a duration such as 250ms, 30s, 15m or 2h.');
};

/** As {@link durationOf}, and not none. @throws {InvalidArgumentError} */
export const spanOf = (text: string): number => {
  const ms = durationOf(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('Give a duration such as 30m or 2h.');
};

/** Words with commas between, of all times that the option is given. */
export const wordsOf = (text: string, before: readonly string[] = []): string[] => {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError('Give names with single commas between.');
  return [...before, ...words];
};

/** @throws {InvalidArgumentError} */
export const countOf = (text: string): number => {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number.');
};

/** At least one. @throws {InvalidArgumentError} */
export const someOf = (text: string): number => {
  const count = countOf(text);
  if (count > 0) return count;
  throw new InvalidArgumentError('Give a whole number from 1 on.');
};

/** Options of commands that put a driver to the test. */
export const testing = (command: Command, limit: { readonly text: string; readonly ms: number }) =>
  command
    .option('--only <ids>', 'only these steps, and what they build on; commas between', wordsOf, [])
    .addOption(
      new Option('--timeout <duration>', 'of all steps together')
        .argParser(spanOf)
        .default(limit.ms, limit.text),
    )
    .addOption(
      new Option('--format <format>', 'of the report')
        .choices(['text', 'json', 'junit'])
        .default('text'),
    );

/** How long from now, or an instant. */
export type When = { readonly forMs: number } | { readonly atMs: number };

const INSTANT = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Says what `whenOf` takes. */
export const WHEN_HELP =
  'after a duration (30m, 2h), or at a date (2025-12-01, midnight in UTC) or an instant with its zone ' +
  '(2025-12-01T10:00:00Z, 2025-12-01T12:00+02:00)';

const CENTURY_MS = 36_525 * 86_400_000;

/** `2h`, or an instant with its zone; a day begins in UTC. @throws {InvalidArgumentError} */
export const whenOf = (text: string): When => {
  const forMs = parseDuration(text, CENTURY_MS);
  if (forMs !== null && forMs > 0) return { forMs };
  const atMs = INSTANT.test(text) ? Date.parse(text.replace(' ', 'T')) : Number.NaN;
  if (!Number.isNaN(atMs)) return { atMs };
  throw new InvalidArgumentError(
    'Give a duration, such as 2h, or a moment with its zone: 2025-12-01T10:00:00Z.',
  );
};

/**
 * The moment that is meant, epoch ms; null: none is.
 * @throws {UsageError} it is past.
 */
export function untilMsOf(when: When | undefined, nowMs: number): number | null {
  if (when === undefined) return null;
  if ('forMs' in when) return Math.round(nowMs + when.forMs);
  if (when.atMs > nowMs) return when.atMs;
  throw new UsageError(`${new Date(when.atMs).toISOString()}, when it is to end, is past already`);
}

/** How a machine is to leave its pools, as the command line has it. */
export interface DrainFlags {
  /** False: nobody waits for its load balancers. */
  readonly drain: boolean;
  readonly forceDrain: boolean;
}

/** @throws {UsageError} both at once. */
export function drainOf({ drain, forceDrain }: DrainFlags): DrainMode | null {
  if (drain) return forceDrain ? 'force' : null;
  if (forceDrain) throw new UsageError('either --no-drain or --force-drain, not both');
  return 'skip';
}

/** The image of `install` as the command line has it. */
export interface ImageFlags {
  readonly imageUrl: string;
  readonly sha256: string;
  readonly compression: InstallImage['compression'];
  readonly rootDevice: InstallImage['rootDevice'];
}

/** `name=sda`, `serial=…` or `wwn=…`. @throws {InvalidArgumentError} */
export const rootDeviceOf = (text: string): InstallImage['rootDevice'] => {
  const [, by, value] = /^(name|serial|wwn)=(\S.*)$/.exec(text) ?? [];
  if (by === 'name') return { name: value! };
  if (by === 'serial') return { serial: value! };
  if (by === 'wwn') return { wwn: value! };
  throw new InvalidArgumentError('Give name=sda, serial=… or wwn=….');
};

/** @throws {UsageError} that cannot be installed; it says why, not what: an address may tell. */
export function imageOf({ imageUrl, sha256, compression, rootDevice }: ImageFlags): InstallImage {
  const image = { url: imageUrl, sha256: sha256.toLowerCase(), compression, rootDevice };
  const fault = imageFault(image);
  if (fault === null) return image;
  throw new UsageError(`that cannot be installed: ${fault}`);
}
