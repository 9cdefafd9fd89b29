import type { LogQuery, LogReader, LogRecord } from './port.ts';
import { LOG_LEVELS, type LogLevel } from './quiet-log.ts';

export interface LogRing extends LogReader {
  /** Takes a line of JSON. */
  write(line: string): void;
}

/** Limits of the ring: one line may have tens of thousands of characters. */
const LINES_MAX = 4_000;
const CHARACTERS_MAX = 4_000_000;

/** Keeps the latest lines of a log in memory, as the log writes them. */
export function createLogRing(linesMax = LINES_MAX, charactersMax = CHARACTERS_MAX): LogRing {
  const lines: string[] = [];
  let characters = 0;
  let newest = 0;
  return {
    write(line: string): void {
      lines.push(line);
      newest += 1;
      characters += line.length;
      while (lines.length > linesMax || characters > charactersMax) {
        characters -= lines.shift()!.length;
      }
    },
    newest: (): number => newest,
    read({ after, level, sinceMs, about, limit }: LogQuery): LogRecord[] {
      const first = newest - lines.length + 1;
      const isWanted = (record: LogRecord) =>
        LOG_LEVELS.indexOf(record.level) <= LOG_LEVELS.indexOf(level) &&
        record.atMs >= sinceMs &&
        (about === null || isAbout(record.fields, about));
      return lines
        .slice(Math.max(0, after - first + 1))
        .map((line, at) => recordOf(line, Math.max(first, after + 1) + at))
        .filter(isWanted)
        .slice(-limit);
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
