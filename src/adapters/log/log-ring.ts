import type { LogPage, LogQuery, LogReader, LogRecord } from './port.ts';
import { LOG_LEVELS, type LogLevel } from './quiet-log.ts';

export interface LogRing extends LogReader {
  /** Takes a line of JSON. */
  write(line: string): void;
}

/** Limits of the ring: one line may have tens of thousands of characters. */
const LINES_MAX = 4_000;
const CHARACTERS_MAX = 4_000_000;

/**
 * Keeps the latest lines of a log in memory, as the log writes them.
 * @param start the number before the first line. A later process begins with a larger number, so that a reader
 * of the earlier process continues at the first line.
 */
export function createLogRing(
  start = 0,
  linesMax = LINES_MAX,
  charactersMax = CHARACTERS_MAX,
): LogRing {
  const lines: string[] = [];
  let characters = 0;
  let newest = start;
  return {
    write(line: string): void {
      lines.push(line);
      newest += 1;
      characters += line.length;
      while (lines.length > linesMax || characters > charactersMax) {
        characters -= lines.shift()!.length;
      }
    },
    read({ after, level, sinceMs, about, limit }: LogQuery): LogPage {
      const dropped = newest - lines.length;
      // A larger number comes from another daemon, or from a time before the clock was set back.
      const from = after > newest ? dropped : Math.max(after, start);
      const shown = Math.max(from, dropped);
      const found = lines
        .slice(shown - dropped)
        .map((line, at) => recordOf(line, shown + 1 + at))
        .filter(
          (record) =>
            LOG_LEVELS.indexOf(record.level) <= LOG_LEVELS.indexOf(level) &&
            record.atMs >= sinceMs &&
            (about === null || isAbout(record.fields, about)),
        );
      if (after === 0) return { records: found.slice(-limit), newest, lost: 0 };
      const records = found.slice(0, limit);
      const last = found.length > limit ? records.at(-1)!.number : newest;
      return { records, newest: last, lost: shown - from };
    },
  };
}

function recordOf(line: string, number: number): LogRecord {
  const { level, time, component, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  return {
    ...{ number, atMs: Date.parse(time as string), level: level as LogLevel },
    ...{ component: (component as string | undefined) ?? null, message: msg as string, fields },
  };
}

const isAbout = (
  { slot, machine }: LogRecord['fields'],
  about: NonNullable<LogQuery['about']>,
): boolean => slot === about.slot || (machine !== undefined && machine === about.machineId);
