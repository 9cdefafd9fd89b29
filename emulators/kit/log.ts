/** What an emulator tells of itself; structurally the log of pino. */
export interface EmulatorLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const nothing = () => undefined;
/** For whoever wants to hear nothing. */
export const silentLog: EmulatorLog = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};
