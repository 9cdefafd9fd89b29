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
  /** `auto`: pretty on a terminal, else JSON. `journal`: JSON after the severity, for journald. */
  readonly format: 'auto' | 'json' | 'pretty' | 'journal';
  /**
   * Where lines go, one write per line; standard error if absent. A line counts as lost if `done`
   * gets an error.
   */
  readonly write?: (line: string, done: (error?: Error | null) => void) => void;
  readonly isTerminal: boolean;
  /** Keeps the lines, too. */
  readonly ring?: LogRing;
}

/** Secret fields, at the top or one level deep. */
const SECRET = ['token', 'password', 'privateKey', 'userdata', 'customdata', 'root_password'];

/** The daemon's log: JSON lines, or lines for people. Errors include their causes. */
export function createPinoLog(options: LogOptions): Logger {
  const { level, format, isTerminal, ring } = options;
  const write = countingLost(
    options.write ?? ((line, done) => void process.stderr.write(line, done)),
    (lost, error) =>
      logger.warn(
        { lost, cause: explain(error) },
        'log lines were lost; the log is writable again',
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
 * Drops lines that cannot be written, for example while a disk is full. When a line is written
 * again, `tell` gets the number of lost lines and the cause.
 */
function countingLost(
  write: NonNullable<LogOptions['write']>,
  tell: (lost: number, error: Error) => void,
): (line: string) => void {
  let lost = 0;
  /** Reported by the next line; lost again if that line is. */
  let telling = 0;
  let last = new Error();
  return (line) => {
    const count = telling || 1;
    telling = 0;
    // The previous line may have been cut.
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

/** Severities of syslog(3), as sd-daemon(3) puts them before a line. */
const SEVERITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** pino sets the level of the next line on a stream that asks for it. */
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
  // No process writes 1 000 lines per millisecond, so a later process begins with a larger number.
  const recent = createLogRing(clock.now() * 1_000);
  const inner = createPinoLog({ ...options, level: 'debug', ring: recent });
  return { ...createQuietLog(inner, options.level, clock), recent };
}

export interface DaemonLog extends QuietLog {
  /** The latest lines. */
  readonly recent: LogRing;
}

/** An error as the log shows it. */
interface ErrorFields {
  readonly type: string;
  /** Includes the messages of its causes. */
  readonly message: string;
  /** For example `ECONNREFUSED`, or a FleetError's code. */
  readonly code?: string | number;
  /** Includes the stacks of its causes. */
  readonly stack?: string;
  /** For an AggregateError. */
  readonly errors?: readonly ErrorFields[];
}

const ERRORS_MAX = 8;
const STACK_MAX = 8_000;

/**
 * Fields of an error for the log: its texts and those of its causes. Other properties are left out:
 * libraries put requests there, with headers, bodies and secrets.
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

/** Characters of all texts of one line together; later texts are cut to `LEAST`. */
const ROOM = 16_000;
/** Length of a text after the room is used up. */
const LEAST = 100;
const ITEMS_MAX = 50;
const DEPTH_MAX = 5;

/**
 * Makes fields safe for people and terminals. Machines and providers supply much of what is logged:
 * it is cut, and invisible characters and terminal commands are escaped. Errors stay for the log's
 * own serializer, and objects with `toJSON` for JSON.
 */
function readableFields(fields: Record<string, unknown>): Record<string, unknown> {
  const room = { left: ROOM };
  const shown = mapped(fields, (value) => readable(value, room, 1));
  const entries = Object.entries(shown);
  if (!entries.some(([name]) => LINE_KEYS.has(name))) return shown;
  return Object.fromEntries(
    entries.map(([name, value]) => [LINE_KEYS.has(name) ? `${name}_` : name, value]),
  );
}

/** Keys that pino writes itself. A field with the same name would be a second key of the line, and win. */
const LINE_KEYS: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

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
