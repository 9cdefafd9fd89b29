import type { LogLevel } from './quiet-log.ts';

/**
 * Structured log: a constant message and fields. Field names are fixed: `machine`, `slot`,
 * `provider`, `session`, `process`, `attempt`, `err`. pino's Logger satisfies it.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: { component: string }): Log;
}

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

/**
 * Logs what a loop finds each time: a new finding as information, a repeated one for debugging
 * only.
 * @param about subject of the finding, such as a provider's name.
 */
export type TellNews = (about: string, fields: object, message: string, unseen?: object) => void;

/** `unseen` fields are logged but not compared, for example a duration. */
export function createNews(log: Pick<Log, 'info' | 'debug'>): TellNews {
  const last = new Map<string, string>();
  return (about, fields, message, unseen = {}) => {
    const key = `${about}\0${message}`;
    const found = JSON.stringify(fields);
    const isNews = last.get(key) !== found;
    last.set(key, found);
    log[isNews ? 'info' : 'debug']({ ...fields, ...unseen }, message);
  };
}

/** A line of the log, with its secrets redacted. */
export interface LogRecord {
  /** Counts the lines. Numbers of a later process are larger. */
  readonly number: number;
  readonly atMs: number;
  readonly level: LogLevel;
  /** Null: the daemon as a whole. */
  readonly component: string | null;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LogQuery {
  /** Only records with a larger number, and the first ones of these. 0: the latest records. */
  readonly after: number;
  /** Only records of this severity or a higher one. */
  readonly level: LogLevel;
  readonly sinceMs: number;
  /** Only records that name this slot or this machine; null: all. */
  readonly about: { readonly slot: string; readonly machineId: string | null } | null;
  readonly limit: number;
}

export interface LogPage {
  /** Records that match, oldest first. */
  readonly records: readonly LogRecord[];
  /** The number after which the next page begins. */
  readonly newest: number;
  /** Lines after `after` that are no longer kept, whether they match or not. */
  readonly lost: number;
}

/** Reads the latest lines of a daemon's log. */
export interface LogReader {
  read(query: LogQuery): LogPage;
}
