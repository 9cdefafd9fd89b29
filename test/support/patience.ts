/**
 * How long a test waits for an expected event (milliseconds): a busy computer is slow, not wrong.
 * To show that an event comes soon, a test names an event that would otherwise come first. `npm run
 * mutate` knows that nothing will come, and sets a shorter time.
 */
export const PATIENCE = {
  timeout: 1_000 * Number(process.env['SHEPHERD_TEST_PATIENCE_SECONDS'] ?? 240),
};
/** Time limit of a test (milliseconds), with room for several such waits. */
export const TEST_LIMIT_MS = 900_000;
