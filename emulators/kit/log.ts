/** An emulator's log, structurally pino's. */
export interface EmulatorLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const nothing = () => undefined;
/** A log that discards everything. */
export const silentLog: EmulatorLog = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};
