/**
 * How long a test waits for what has to come (milliseconds): a busy machine is slow, not wrong. What
 * must come soon is shown by something that would come first otherwise, not by a shorter wait. Whoever
 * knows that nothing will come, as `npm run mutate` does, asks for less.
 */
export const PATIENCE = {
  timeout: 1_000 * Number(process.env['SHEPHERD_TEST_PATIENCE_SECONDS'] ?? 240),
};
/** How long a test may take (milliseconds), several such waits in it. */
export const TEST_LIMIT_MS = 900_000;
