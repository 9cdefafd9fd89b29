import { InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../settings/duration.ts';

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

export const durationMs = (text: string) => {
  const parsedMs = parseDuration(text);
  if (parsedMs !== null) return parsedMs;
  throw new InvalidArgumentError('Give a duration such as 250ms, 2s or 1m.');
};

const INSPECT_PORT = 4244;
export const inspectOption = () =>
  new Option(
    '--inspect [port]',
    "show actors: to admins in the console, and on this loopback port to Stately's inspector",
  )
    .argParser(wholeNumber(0, 65_535))
    .preset(INSPECT_PORT);
