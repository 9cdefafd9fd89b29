import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import { errorFields } from './error-fields.ts';
import { readableFields } from './readable-fields.ts';

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** `auto`: pretty on a terminal, JSON otherwise. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Where lines go, one write per line; standard error if absent. */
  readonly write?: (line: string) => void;
  readonly isTerminal: boolean;
}

/** Fields that are secrets wherever they turn up, one level deep too. */
const SECRET = ['token', 'password', 'privateKey', 'userdata', 'customdata', 'root_password'];

/** The daemon's log: JSON lines, or lines for people. Errors are shown with their causes. */
export function createPinoLog(options: LogOptions): Logger {
  const { level, format, isTerminal } = options;
  const write = options.write ?? ((line) => void process.stderr.write(line));
  const destination: DestinationStream = { write };
  const isPretty = format === 'pretty' || (format === 'auto' && isTerminal);
  const stream = isPretty
    ? pretty({
        colorize: isTerminal,
        translateTime: 'SYS:HH:MM:ss.l',
        ignore: 'pid,hostname,component',
        singleLine: true,
        messageFormat: '{if component}{component}: {end}{msg}',
        destination: toWritable(write),
      })
    : destination;
  return pino(
    {
      level,
      base: null,
      redact: { paths: SECRET.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
      serializers: { err: errorFields },
      formatters: { level: (label) => ({ level: label }), log: readableFields },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    stream,
  );
}

const toWritable = (write: (line: string) => void): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      write(chunk.toString());
      done();
    },
  });
