import type { Log } from '../../src/adapters/log/port.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that only records. */
export interface RecordingLog extends Log {
  readonly lines: readonly LogLine[];
  /** How often a message was logged. */
  count(message: string): number;
  /** Drops all lines so far. */
  forget(): void;
}

export function recordingLog(): RecordingLog {
  const lines: LogLine[] = [];
  const record = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: fields as LogLine['fields'] });
  const log: RecordingLog = {
    lines,
    count: (message) => lines.filter((line) => line.message === message).length,
    forget: () => void lines.splice(0),
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    child: () => log,
  };
  return log;
}
