import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Clock } from '../clock/port.ts';
import { explain } from '../../domain/errors.ts';
import { errorFields } from './error-fields.ts';
import { readableFields } from './readable-fields.ts';
import type { LogLevel } from './levels.ts';
import { createQuietLog, type QuietLog } from './quiet-log.ts';

export interface LogOptions {
  readonly level: LogLevel;
  /** `auto`: pretty on a terminal, else JSON. `journal`: JSON after the severity, as journald reads it. */
  readonly format: 'auto' | 'json' | 'pretty' | 'journal';
  /**
   * Where lines go, one write per line; standard error if absent. Lines that `done` is told an error
   * of are counted as lost.
   */
  readonly write?: (line: string, done: (error?: Error | null) => void) => void;
  readonly isTerminal: boolean;
}

/** Fields that are secrets wherever they turn up, one level deep too. */
const SECRET = ['token', 'password', 'privateKey', 'userdata', 'customdata', 'root_password'];

/** The daemon's log: JSON lines, or lines for people. Errors are shown with their causes. */
export function createPinoLog(options: LogOptions): Logger {
  const { level, format, isTerminal } = options;
  const write = countingLost(
    options.write ?? ((line, done) => void process.stderr.write(line, done)),
    (lost, error) =>
      logger.warn(
        { lost, cause: explain(error) },
        'lines of the log were lost; it can be written again',
      ),
  );
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
  const logger = pino(
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
  return logger;
}

/**
 * Lines that cannot be written, as while a disk is full, are given up: the daemon has better to do
 * than to keep them. `tell` is told how many they were, and why, when one is written again.
 */
function countingLost(
  write: NonNullable<LogOptions['write']>,
  tell: (lost: number, error: Error) => void,
): (line: string) => void {
  let lost = 0;
  /** Told by the next line, and lost again if that is. */
  let telling = 0;
  let last = new Error();
  return (line) => {
    const count = telling || 1;
    telling = 0;
    // The last line that found room may have been cut.
    write(lost > 0 ? `\n${line}` : line, (error) => {
      if (error) {
        lost += count;
        last = error;
      } else if (lost > 0) {
        telling = lost;
        lost = 0;
        tell(telling, last);
      }
    });
  };
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
