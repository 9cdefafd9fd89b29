/** One line to the log file, which is what standard error of the agent is. */
export const log = (message: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${message}\n`);
};
