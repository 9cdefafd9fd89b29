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
