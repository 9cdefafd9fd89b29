import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Clock } from '../clock/port.ts';
import { errorFields } from './error-fields.ts';
import { readableFields } from './readable-fields.ts';
import type { LogLevel } from './levels.ts';
import { createQuietLog, type QuietLog } from './quiet-log.ts';

export interface LogOptions {
  readonly level: LogLevel;
  /** `auto`: pretty on a terminal, else JSON. `journal`: JSON after the severity, as journald reads it. */
  readonly format: 'auto' | 'json' | 'pretty' | 'journal';
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
  const destination: DestinationStream = format === 'journal' ? toJournal(write) : { write };
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

/** Severities of syslog(3), as sd-daemon(3) has them before a line. */
const SEVERITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** pino tells a stream that asks for it the level of the line that comes next. */
function toJournal(write: (line: string) => void): DestinationStream {
  const stream = {
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string) {
      const label = pino.levels.labels[stream.lastLevel] as LogLevel;
      write(`<${SEVERITIES[label]}>${line}`);
    },
  };
  return stream;
}

/** A log that can be told at run time what it writes, and counts what comes again and again. */
export const createDaemonLog = (options: LogOptions, clock: Clock): QuietLog =>
  createQuietLog(createPinoLog({ ...options, level: 'debug' }), options.level, clock);
