import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Clock } from '../clock/port.ts';
import { createLogRing, type LogRing } from './log-ring.ts';
import { explain, withDiskFull } from '../../domain/errors.ts';
import { type LogLevel, createQuietLog, type QuietLog } from './quiet-log.ts';
import { visibleText, TEXT_MAX } from '../../lib/texts.ts';

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
  /** Keeps the lines, too. */
  readonly ring?: LogRing;
}

/** Fields that are secrets wherever they turn up, one level deep too. */
const SECRET = ['token', 'password', 'privateKey', 'userdata', 'customdata', 'root_password'];

/** The daemon's log: JSON lines, or lines for people. Errors are shown with their causes. */
export function createPinoLog(options: LogOptions): Logger {
  const { level, format, isTerminal, ring } = options;
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
    ring === undefined
      ? stream
      : pino.multistream([
          { level, stream: ring },
          { level, stream },
        ]),
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

/** A log whose level can change at run time. It counts repeated lines, and keeps the latest lines. */
export function createDaemonLog(options: LogOptions, clock: Clock): DaemonLog {
  const recent = createLogRing();
  const inner = createPinoLog({ ...options, level: 'debug', ring: recent });
  return { ...createQuietLog(inner, options.level, clock), recent };
}

export interface DaemonLog extends QuietLog {
  /** The latest lines. */
  readonly recent: LogRing;
}

/** What a log shows of an error. */
interface ErrorFields {
  readonly type: string;
  /** With those of its causes. */
  readonly message: string;
  /** Such as `ECONNREFUSED`, or a FleetError's. */
  readonly code?: string | number;
  /** With those of its causes. */
  readonly stack?: string;
  /** Of an error that stands for several. */
  readonly errors?: readonly ErrorFields[];
}

const ERRORS_MAX = 8;
const STACK_MAX = 8_000;

/**
 * An error for a log line: its texts and those of its causes. Whatever else hangs on it stays out:
 * libraries leave there what they were asked with, headers and bodies with all secrets.
 */
function errorFields(value: unknown): ErrorFields | string {
  if (!(value instanceof Error))
    return typeof value === 'string' ? visibleText(value) : tell(value);
  const { type, message, stack } = pino.stdSerializers.err(value);
  const { code } = value as { readonly code?: unknown };
  return {
    type: visibleText(String(type)),
    message: visibleText(withDiskFull(value, String(message))),
    ...((typeof code === 'string' || typeof code === 'number') && {
      code: typeof code === 'string' ? visibleText(code) : code,
    }),
    ...(typeof stack === 'string' && { stack: visibleText(stack, STACK_MAX) }),
    ...(value instanceof AggregateError && { errors: partsOf(value) }),
  };
}

const tell = (value: unknown): string =>
  typeof value === 'object' && value !== null ? `no error: ${typeof value}` : String(value);

const partsOf = ({ errors }: AggregateError): ErrorFields[] =>
  errors.slice(0, ERRORS_MAX).map((part: unknown) => {
    const fields = errorFields(part);
    return typeof fields === 'string' ? { type: 'none', message: fields } : fields;
  });

/** Characters of all texts of one line together; what comes later in it is cut to `LEAST`. */
const ROOM = 16_000;
/** What is left of a text that comes when the room is used up. */
const LEAST = 100;
const ITEMS_MAX = 50;
const DEPTH_MAX = 5;

/**
 * The fields of a log line as people and terminals can take them. Machines and providers write much
 * of what is logged: it is cut, and what is invisible or commands a terminal is written out.
 * Errors are left to the log's own serializer, what knows how to show itself to JSON.
 */
function readableFields(fields: Record<string, unknown>): Record<string, unknown> {
  const room = { left: ROOM };
  return mapped(fields, (value) => readable(value, room, 1));
}

function readable(value: unknown, room: { left: number }, depth: number): unknown {
  if (typeof value === 'string') return fitting(value, room);
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (depth > DEPTH_MAX) return '(more)';
  const inner = (part: unknown) => readable(part, room, depth + 1);
  if (Array.isArray(value)) {
    const more = value.length - ITEMS_MAX;
    return [...value.slice(0, ITEMS_MAX).map(inner), ...(more > 0 ? [`and ${more} more`] : [])];
  }
  return isPlain(value) ? mapped(value, inner) : value;
}

function fitting(text: string, room: { left: number }): string {
  const shown = visibleText(text, Math.max(LEAST, Math.min(TEXT_MAX, room.left)));
  room.left -= shown.length;
  return shown;
}

function mapped(fields: object, change: (value: unknown) => unknown): Record<string, unknown> {
  const entries = Object.entries(fields);
  const kept = entries
    .slice(0, ITEMS_MAX)
    .map(([key, value]) => [visibleText(key, LEAST), change(value)]);
  const more = entries.length - ITEMS_MAX;
  return Object.fromEntries(more > 0 ? [...kept, ['…', `and ${more} more`]] : kept);
}

const isPlain = (value: object): boolean =>
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
