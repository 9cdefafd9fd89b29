import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../settings/duration.ts';
import { imageFault } from '../adapters/bmdb/install-image.ts';
import type { DrainMode, InstallImage } from '../domain/verbs.ts';
import { UsageError } from '../domain/errors.ts';

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
    "Show statecharts at work: to admins in the console, and to Stately's inspector on this loopback port",
  )
    .argParser(wholeNumber(0, 65_535))
    .preset(INSPECT_PORT);

/** Describes `--config`. */
export const CONFIG = 'Configuration file of the daemon, YAML';

/** Adds `--config`, the configuration that a command reads; or `SHEPHERD_CONFIG`. */
export const configured = (command: Command): Command =>
  command.addOption(
    new Option('--config <file>', CONFIG).env('SHEPHERD_CONFIG').makeOptionMandatory(),
  );

/** A duration such as 30s or 2h, as milliseconds. @throws {InvalidArgumentError} */
export const durationOf = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs !== null) return durationMs;
  throw new InvalidArgumentError('Give a duration such as 250ms, 30s, 15m or 2h.');
};

/** Reads a duration of more than zero, in milliseconds. @throws {InvalidArgumentError} */
export const spanOf = (text: string): number => {
  const ms = durationOf(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('Give a duration such as 30m or 2h.');
};

/** Reads words that are separated by commas. An option that is given again adds to them. */
export const wordsOf = (text: string, before: readonly string[] = []): string[] => {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError('Separate names by single commas.');
  return [...before, ...words];
};

/** @throws {InvalidArgumentError} */
export const countOf = (text: string): number => {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number.');
};

/** Reads a count of at least one. @throws {InvalidArgumentError} */
export const someOf = (text: string): number => {
  const count = countOf(text);
  if (count > 0) return count;
  throw new InvalidArgumentError('Give a whole number of at least 1.');
};

/** Adds the options of commands that test a driver. */
export const testing = (command: Command, limit: { readonly text: string; readonly ms: number }) =>
  command
    .option(
      '--only <ids>',
      'Run only these steps and the steps that they need, separated by commas',
      wordsOf,
      [],
    )
    .addOption(
      new Option('--timeout <duration>', 'Limit for all steps together')
        .argParser(spanOf)
        .default(limit.ms, limit.text),
    )
    .addOption(
      new Option('--format <format>', 'Format of the report')
        .choices(['text', 'json', 'junit'])
        .default('text'),
    );

/** A duration from now, or an instant. */
export type When = { readonly forMs: number } | { readonly atMs: number };

const INSTANT = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Describes what `whenOf` reads. */
export const WHEN_HELP =
  'a duration (30m, 2h), a date (2025-12-01, midnight UTC) or an instant with its time zone ' +
  '(2025-12-01T12:00+02:00)';

const CENTURY_MS = 36_525 * 86_400_000;

/** Reads `2h`, a date in UTC, or an instant with its time zone. @throws {InvalidArgumentError} */
export const whenOf = (text: string): When => {
  const forMs = parseDuration(text, CENTURY_MS);
  if (forMs !== null && forMs > 0) return { forMs };
  const atMs = INSTANT.test(text) ? Date.parse(text.replace(' ', 'T')) : Number.NaN;
  if (!Number.isNaN(atMs)) return { atMs };
  throw new InvalidArgumentError(
    'Give a duration such as 2h, or an instant with its time zone, such as 2025-12-01T10:00:00Z.',
  );
};

/**
 * Converts an end to epoch milliseconds; null when no end is given.
 * @throws {UsageError} the end is in the past.
 */
export function untilMsOf(when: When | undefined, nowMs: number): number | null {
  if (when === undefined) return null;
  if ('forMs' in when) return Math.round(nowMs + when.forMs);
  if (when.atMs > nowMs) return when.atMs;
  throw new UsageError(`${new Date(when.atMs).toISOString()} is in the past; give a later end`);
}

/** Converts a begin to epoch milliseconds; null: at once, also when it is in the past. */
export function fromMsOf(when: When | undefined, nowMs: number): number | null {
  if (when === undefined) return null;
  if ('forMs' in when) return Math.round(nowMs + when.forMs);
  return when.atMs > nowMs ? when.atMs : null;
}

/** The flags that say how a machine leaves its pools. */
export interface DrainFlags {
  /** False: do not wait for its load balancers. */
  readonly drain: boolean;
  readonly forceDrain: boolean;
}

/** @throws {UsageError} both flags are given. */
export function drainOf({ drain, forceDrain }: DrainFlags): DrainMode | null {
  if (drain) return forceDrain ? 'force' : null;
  if (forceDrain)
    throw new UsageError('--no-drain and --force-drain exclude each other; give one of them');
  return 'skip';
}

/** The flags of `install` that describe the image. */
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

/** @throws {UsageError} the image is not valid. The message leaves the URL out, which may hold a secret. */
export function imageOf({ imageUrl, sha256, compression, rootDevice }: ImageFlags): InstallImage {
  const image = { url: imageUrl, sha256: sha256.toLowerCase(), compression, rootDevice };
  const fault = imageFault(image);
  if (fault === null) return image;
  throw new UsageError(`the image cannot be installed: ${fault}`);
}
